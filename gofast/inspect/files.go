package inspect

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/source/folder"
)

// files is a list of files. Close it.
type files struct {
	parts      []part
	count      int
	unreadable []folder.Name // folders that could not be listed
	circles    []Problem     // links that lead back to a folder that they lie in
}

// part is files that were named, or those of a folder.
type part struct {
	first, count int
	named        []string
	root         string // of a folder, with a slash behind it
	index        []byte // mapped; see package folder
	schema       folder.Schema
}

// list finds the files. What is given twice counts twice, except the same path again.
func list(ctx context.Context, paths []string, o *Options) (*files, error) {
	f := &files{unreadable: []folder.Name{}}
	if err := f.add(ctx, paths, o); err != nil {
		f.close()
		return nil, err
	}
	return f, nil
}

func (f *files) add(ctx context.Context, paths []string, o *Options) error {
	if len(paths) == 0 {
		return errs.New(errs.ErrConfig, "inspect", "no files, folders or patterns")
	}
	seen := map[string]bool{}
	for _, path := range paths {
		found := []string{path}
		if _, err := os.Lstat(path); err != nil {
			if found, _ = filepath.Glob(path); len(found) == 0 { // a bad pattern matches nothing
				return notThere(path, err)
			}
		}
		for _, path := range found {
			if clean := filepath.Clean(path); seen[clean] {
				continue
			} else {
				seen[clean] = true
			}
			if info, err := os.Stat(path); err == nil && info.IsDir() {
				if err := f.addFolder(ctx, path, o); err != nil {
					return err
				}
				continue
			}
			f.addFile(path)
		}
	}
	return nil
}

// notThere is the error of a path that matches nothing: it may be there, behind a folder that cannot be searched.
func notThere(path string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return errs.New(errs.ErrNotFound, "inspect", "no such file or folder, and none matches it as a pattern").At(path)
	}
	if at := (*fs.PathError)(nil); errors.As(err, &at) {
		err = at.Err
	}
	return errs.New(errs.ErrRead, "inspect", "cannot look at it").At(path).Because(err)
}

func (f *files) addFile(path string) {
	if n := len(f.parts); n == 0 || f.parts[n-1].index != nil {
		f.parts = append(f.parts, part{first: f.count})
	}
	last := &f.parts[len(f.parts)-1]
	last.named = append(last.named, path)
	last.count++
	f.count++
}

func (f *files) addFolder(ctx context.Context, path string, o *Options) error {
	fd, schema, err := folder.Build(ctx, folder.Options{Kind: folder.Tree, Root: folder.Name(path), Threads: o.Threads, Limits: o.Limits, LeaveCircles: true}, "")
	if err != nil {
		return err
	}
	index, err := unix.Mmap(fd, 0, int(schema.Size), unix.PROT_READ, unix.MAP_SHARED)
	unix.Close(fd)
	if err != nil {
		return errs.New(errs.ErrRead, "inspect", "cannot map the list of files").At(path).Because(err)
	}
	f.parts = append(f.parts, part{first: f.count, count: int(schema.Count), root: string(schema.Root), index: index, schema: schema})
	f.count += int(schema.Count)
	for _, name := range schema.Unreadable {
		f.unreadable = append(f.unreadable, schema.Root+name)
	}
	for _, name := range schema.Circles {
		f.circles = append(f.circles, problemOf(f.count, string(schema.Root+name), errCircle))
	}
	return nil
}

var errCircle = errs.New(errs.ErrUnsupported, "inspect",
	"a link of this path leads back to a folder that it lies in: torchvision's ImageFolder lists the same files again and again, 40 links deep. Remove the link")

func (f *files) close() {
	for _, p := range f.parts {
		if p.index != nil {
			_ = unix.Munmap(p.index) // cannot fail for a mapping of ours
		}
	}
	f.parts = nil
}

func (f *files) at(i int) (*part, string) {
	n, _ := slices.BinarySearchFunc(f.parts, i, func(p part, i int) int {
		if p.first+p.count <= i {
			return -1
		}
		return 1
	})
	p := &f.parts[n]
	if p.index == nil {
		return p, p.named[i-p.first]
	}
	at := binary.NativeEndian.Uint64(p.index[p.schema.PathOffsetsOffset+8*int64(i-p.first):])
	text := p.index[p.schema.PathsOffset+int64(at):]
	return p, string(text[:bytes.IndexByte(text, 0)])
}

// path is the path of a file.
func (f *files) path(i int) string {
	p, name := f.at(i)
	return p.root + name
}

// class is the folder in its folder that a file lies in, as torchvision's ImageFolder sees it: "" for
// a file that was named, or that lies in the folder itself. Of several folders, each has classes of its own.
func (f *files) class(i int) string {
	p, name := f.at(i)
	if p.index == nil {
		return ""
	}
	class, _, below := strings.Cut(name, "/")
	if !below {
		return ""
	}
	if len(f.parts) > 1 {
		return p.root + class
	}
	return class
}

// sizeOf is the size of a regular file, and 0 for all else.
func sizeOf(path string) int64 {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return 0
	}
	return info.Size()
}
