// Package data opens what a command line names: tables, and folders, lists and patterns of pictures.
package data

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/gofast-org/gofast/gofast"
	"github.com/gofast-org/gofast/gofast/image"
	"github.com/gofast-org/gofast/gofast/inspect"
	"github.com/gofast-org/gofast/gofast/source/folder"
	"github.com/gofast-org/gofast/gofast/table/gather"
)

// The kinds of data.
const (
	Auto     = "auto" // the names of the files decide
	Pictures = "pictures"
	Table    = "table"
)

// Options say what to open.
type Options struct {
	Paths   []string
	As      string // Auto, Pictures or Table
	Threads int
	Seed    uint64
	// Of pictures.
	Plan  image.Plan
	Zeros bool // pictures that cannot be made are zeroes, and listed in Bad; else they are errors
	// Of tables.
	Label         string // "": none
	LabelRequired bool
	Header        *bool
}

// Source is what was opened. Close it.
type Source struct {
	*gofast.Dataset
	Kind  string   // Pictures or Table
	Paths []string // as given; of a table, all files
	Note  string   // what the user should know, or ""
	Bad   *Bad     // pictures that could not be made
}

// Bad collects the pictures that could not be made, and why.
type Bad struct{ reasons sync.Map }

func (b *Bad) add(err error) error {
	var known *gofast.Error
	if !errors.As(err, &known) {
		return err
	}
	b.reasons.Store(known.Path, known.Text)
	return nil
}

// Reasons are the bad pictures by path.
func (b *Bad) Reasons() map[string]string {
	made := map[string]string{}
	for path, reason := range b.reasons.Range {
		made[path.(string)] = reason.(string)
	}
	return made
}

func refused(kind error, path, says string) error {
	return gofast.NewError(kind, "open", says).At(path)
}

// Open opens the paths.
func Open(ctx context.Context, o Options) (s *Source, err error) {
	s = &Source{Kind: o.As, Paths: o.Paths, Bad: &Bad{}}
	if o.As == Auto {
		s.Kind = Pictures
		if allTables(o.Paths) {
			s.Kind = Table
		}
	}
	if s.Kind == Table {
		err = s.openTable(ctx, o)
	} else {
		err = s.openPictures(ctx, o)
	}
	if err != nil {
		return nil, err
	}
	if s.Len() == 0 {
		s.Close()
		return nil, refused(gofast.ErrNotFound, o.Paths[0], "there is nothing to measure: no "+map[string]string{Table: "rows", Pictures: "pictures"}[s.Kind])
	}
	return s, nil
}

// allTables says whether all paths are named as tables: files with a table's ending, and folders that hold such files, and
// neither pictures nor folders. A table beside these is their labels.
func allTables(paths []string) bool {
	for _, path := range paths {
		entries, isFolder := entriesOf(path)
		if isFolder && !slices.ContainsFunc(entries, func(e os.DirEntry) bool { return inspect.TableEnding(e.Name()) != "" }) ||
			!isFolder && inspect.TableEnding(path) == "" {
			return false
		}
		if slices.ContainsFunc(entries, func(e os.DirEntry) bool { return !e.Type().IsRegular() || isPicture(e.Name()) }) {
			return false
		}
	}
	return true
}

// entriesOf are a folder's. To look into a pipe would wait for a writer.
func entriesOf(path string) (entries []os.DirEntry, isFolder bool) {
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		return nil, false
	}
	entries, _ = os.ReadDir(path) // what cannot be listed is reported by what opens it
	return entries, true
}

func isPicture(name string) bool {
	return slices.Contains([]string{".jpg", ".jpeg", ".png", ".ppm", ".pgm", ".bmp", ".tif", ".tiff", ".webp"}, strings.ToLower(filepath.Ext(name)))
}

func (s *Source) openTable(ctx context.Context, o Options) (err error) {
	if s.Paths, err = expand(o.Paths); err != nil {
		return err
	}
	options := gofast.TableOptions{LabelOptional: !o.LabelRequired, Header: o.Header, Threads: o.Threads}
	if o.Label != "" {
		options.Label = []gofast.ColumnRef{{Name: o.Label}}
	}
	// As pictures: divided by 255.
	if s.Dataset, err = gofast.OpenTable(ctx, s.Paths, options, gather.Transform{Scale: gather.ScaleUnit}); err != nil {
		return err
	}
	if len(s.Table.Labels) == 0 && o.Label != "" {
		s.Note = fmt.Sprintf("no column is called %q: without labels; the features are %.6q (name one with --label, or say --label \"\")", o.Label, s.Table.Features)
	}
	return nil
}

// openPictures opens a folder of classes, a folder of pictures, or a list of files.
func (s *Source) openPictures(ctx context.Context, o Options) (err error) {
	options, root := gofast.FolderOptions{Threads: o.Threads, Seed: o.Seed}, o.Paths[0]
	if entries, isFolder := entriesOf(root); isFolder && len(o.Paths) == 1 {
		options.Kind = folder.Classes
		if slices.ContainsFunc(entries, func(e os.DirEntry) bool { return !e.IsDir() && isPicture(e.Name()) }) {
			options.Kind = folder.Tree
		}
		s.Dataset, err = gofast.OpenFolder(ctx, root, o.Plan, options)
	} else {
		var files []string
		if files, err = expand(o.Paths); err == nil {
			s.Dataset, err = gofast.OpenFiles(ctx, files, o.Plan, options)
		}
	}
	if err != nil {
		return err
	}
	if o.Zeros {
		s.OnError = s.Bad.add
	}
	if len(s.Unreadable) > 0 {
		s.Note = "left out, because they cannot be listed: " + strings.Join(s.Unreadable, ", ")
	}
	return nil
}

// expand makes files of paths: files; patterns, sorted; folders, of which those of a table are taken, but neither hidden ones
// nor Spark's markers; and @FILE, a list with a path a line, which counts from the list's folder.
func expand(paths []string) (files []string, err error) {
	for _, path := range paths {
		if list, named := strings.CutPrefix(path, "@"); named {
			found, err := listed(list)
			if err != nil {
				return nil, err
			}
			files = append(files, found...)
			continue
		}
		found := []string{path}
		if info, err := os.Stat(path); err != nil {
			found, _ = filepath.Glob(path) // a bad pattern matches nothing
		} else if info.IsDir() {
			found, _ = filepath.Glob(filepath.Join(escaped.Replace(path), "[^._]*"))
			found = slices.DeleteFunc(found, func(name string) bool { return inspect.TableEnding(name) == "" })
		}
		found = slices.DeleteFunc(found, func(name string) bool {
			info, err := os.Stat(name)
			return err != nil || !info.Mode().IsRegular()
		})
		if len(found) == 0 {
			return nil, refused(gofast.ErrNotFound, path, "no such file, pattern of files or folder of tables (a folder of pictures stands alone)")
		}
		files = append(files, found...)
	}
	return files, nil
}

// escaped keeps the characters of a folder's name from being a pattern.
var escaped = strings.NewReplacer("*", "\\*", "?", "\\?", "[", "\\[", "\\", "\\\\")

func listed(list string) (files []string, err error) {
	text, err := os.ReadFile(list)
	if err != nil {
		return nil, gofast.NewError(gofast.ErrNotFound, "open", "the list of files cannot be read").At(list).Because(err)
	}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" && !filepath.IsAbs(line) {
			line = filepath.Join(filepath.Dir(list), line)
		}
		if line != "" {
			files = append(files, line)
		}
	}
	return files, nil
}

// Files are how many files there are, and their paths.
func (s *Source) Files() (int64, func(int64) string) {
	if s.Kind == Table {
		return int64(len(s.Paths)), func(i int64) string { return s.Paths[i] }
	}
	return s.Len(), s.Path
}

// Digest stands for the files by name, folder and size, and says how many bytes they have.
// It is the same for a copy elsewhere.
func (s *Source) Digest(ctx context.Context) (digest string, bytes int64, err error) {
	n, path := s.Files()
	sum := sha256.New()
	for i := range n {
		if err := ctx.Err(); err != nil {
			return "", 0, err
		}
		name, size := path(i), int64(-1)
		if info, err := os.Stat(name); err == nil {
			size = info.Size()
			bytes += size
		}
		fmt.Fprintf(sum, "%s\x00%s\x00%d\n", filepath.Base(filepath.Dir(name)), filepath.Base(name), size)
	}
	return hex.EncodeToString(sum.Sum(nil))[:16], bytes, nil
}
