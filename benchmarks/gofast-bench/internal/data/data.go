// Package data opens what a command line names: tables, and folders, lists and patterns of pictures.
package data

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/gofast-org/gofast/gofast"
	"github.com/gofast-org/gofast/gofast/image"
	"github.com/gofast-org/gofast/gofast/source"
	"github.com/gofast-org/gofast/gofast/source/folder"
	"github.com/gofast-org/gofast/gofast/table/gather"
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
type Bad struct {
	lock    sync.Mutex
	reasons map[string]string
}

func (b *Bad) add(err error) error {
	b.lock.Lock()
	defer b.lock.Unlock()
	var known *gofast.Error
	if !errors.As(err, &known) {
		return err
	}
	if b.reasons == nil {
		b.reasons = map[string]string{}
	}
	b.reasons[known.Path] = known.Text
	return nil
}

// Reasons are the bad pictures by path.
func (b *Bad) Reasons() map[string]string {
	b.lock.Lock()
	defer b.lock.Unlock()
	return maps.Clone(b.reasons)
}

// Open opens the paths.
func Open(ctx context.Context, o Options) (*Source, error) {
	kind := o.As
	if kind == Auto {
		var err error
		if kind, err = kindOf(ctx, o.Paths); err != nil {
			return nil, err
		}
	}
	s := &Source{Kind: kind, Paths: o.Paths, Bad: &Bad{}}
	var err error
	if kind == Table {
		err = s.openTable(ctx, o)
	} else {
		err = s.openPictures(ctx, o)
	}
	if err != nil {
		return nil, err
	}
	if s.Len() == 0 {
		s.Close()
		return nil, gofast.NewError(gofast.ErrNotFound, "open", "there is nothing to measure: no "+map[string]string{Table: "rows", Pictures: "pictures"}[kind]).At(o.Paths[0])
	}
	return s, nil
}

func (s *Source) openTable(ctx context.Context, o Options) (err error) {
	if s.Paths, err = source.Expand(o.Paths); err != nil {
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

func (s *Source) openPictures(ctx context.Context, o Options) (err error) {
	s.Dataset, err = findPictures(ctx, o)
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

// findPictures finds out how the pictures lie: a folder of classes, a folder of pictures, or a list of files.
func findPictures(ctx context.Context, o Options) (*gofast.Dataset, error) {
	options, root := gofast.FolderOptions{Threads: o.Threads, Seed: o.Seed}, o.Paths[0]
	if info, err := os.Stat(root); len(o.Paths) == 1 && err == nil && info.IsDir() {
		options.Kind = folder.Classes
		entries, err := os.ReadDir(root)
		if err != nil {
			return nil, gofast.NewError(gofast.ErrRead, "open", "cannot list the folder").At(root).Because(err)
		}
		for _, e := range entries {
			if !e.IsDir() && isPicture(e.Name()) {
				options.Kind = folder.Tree
			}
		}
		return gofast.OpenFolder(ctx, root, o.Plan, options)
	}
	files, err := pictureFiles(ctx, o.Paths)
	if err != nil {
		return nil, err
	}
	return gofast.OpenFiles(ctx, files, o.Plan, options)
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
