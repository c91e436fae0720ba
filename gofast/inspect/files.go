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

	"golang.org/x/sys/unix"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/internal/limits"
	"github.com/gofast-org/gofast/gofast/internal/pool"
	"github.com/gofast-org/gofast/gofast/source/folder"
)

// files is a list of files.
type files struct {
	list       []string
	unreadable []folder.Name // folders that could not be listed
	circles    []Problem     // links that lead back to a folder that they lie in
	budget     *limits.Budget
}

// list finds the files. What is given twice counts twice, except the same path again.
func list(ctx context.Context, paths []string, o *Options) (*files, error) {
	if len(paths) == 0 {
		return nil, errs.New(errs.ErrConfig, "inspect", "no files, folders or patterns")
	}
	f, seen := &files{unreadable: []folder.Name{}, budget: limits.NewBudget(o.Limits.WithDefaults().Memory)}, map[string]bool{}
	for _, path := range paths {
		found := []string{path}
		if _, err := os.Lstat(path); err != nil {
			if found, _ = filepath.Glob(path); len(found) == 0 { // a bad pattern matches nothing
				return nil, notThere(path, err)
			}
		}
		for _, path := range found {
			clean := filepath.Clean(path)
			if seen[clean] {
				continue
			}
			seen[clean] = true
			if info, err := os.Stat(path); err != nil || !info.IsDir() {
				if err := f.add(path); err != nil {
					return nil, err
				}
			} else if err := f.addFolder(ctx, path, o); err != nil {
				return nil, err
			}
		}
	}
	return f, nil
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
	defer func() { _ = unix.Munmap(index) }() // cannot fail for a mapping of ours
	root := string(schema.Root)
	f.list = slices.Grow(f.list, int(schema.Count))
	for i := range schema.Count {
		at := schema.PathsOffset + int64(binary.NativeEndian.Uint64(index[schema.PathOffsetsOffset+8*i:]))
		name, _, _ := bytes.Cut(index[at:], []byte{0})
		if err := f.add(root + string(name)); err != nil {
			return err
		}
	}
	for _, name := range schema.Unreadable {
		f.unreadable = append(f.unreadable, schema.Root+name)
	}
	for _, name := range schema.Circles {
		f.circles = append(f.circles, problemOf(len(f.list), root+string(name), errCircle))
	}
	return nil
}

func (f *files) add(path string) error {
	const each = 16 // a file, without its path
	if err := f.budget.Reserve(each+int64(len(path)), "the list of files"); err != nil {
		return err
	}
	f.list = append(f.list, path)
	return nil
}

var errCircle = errs.New(errs.ErrUnsupported, "inspect",
	"a link of this path leads back to a folder that it lies in: torchvision's ImageFolder lists the same files again and again, 40 links deep. Remove the link")

// each does something with every file, on all threads. The error ends it.
func (f *files) each(ctx context.Context, threads int, do func(i int) error) error {
	const together = 64 // files of a job: enough that threads seldom meet, few enough that they end together
	return pool.Each(ctx, threads, (len(f.list)+together-1)/together, func(ctx context.Context, job int) error {
		for i := job * together; i < min((job+1)*together, len(f.list)); i++ {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := do(i); err != nil {
				return err
			}
		}
		return nil
	})
}
