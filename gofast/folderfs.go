package gofast

import (
	"cmp"
	"context"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/gofast-org/gofast/gofast/image"
	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/internal/limits"
	"github.com/gofast-org/gofast/gofast/source"
	"github.com/gofast-org/gofast/gofast/source/folder"
)

// listing is what OpenFolder finds in a file system: the same, in the same order, as in a folder of the operating system's.
type listing struct {
	names      []string
	labels     []int32 // nil without classes
	classes    []string
	unreadable []string
}

func listIn(ctx context.Context, root string, o FolderOptions) (l listing, err error) {
	if o.Kind != folder.Classes && o.Kind != folder.Flat && o.Kind != folder.Tree {
		return l, errs.New(errs.ErrConfig, "open", "the kind must be classes, flat or tree").At(root)
	}
	if err := o.Limits.Validate(); err != nil {
		return l, err
	}
	budget := limits.NewBudget(o.Limits.WithDefaults().Memory)
	linked := "" // the folder behind a link that is being listed
	var visit fs.WalkDirFunc
	visit = func(full string, entry fs.DirEntry, err error) error {
		name := full
		if root != "." && full != root {
			name = strings.TrimPrefix(full, root+"/")
		}
		top := !strings.Contains(name, "/")
		if full == root {
			name = "."
		}
		if err == nil && entry.Type()&fs.ModeSymlink != 0 {
			if info, failed := fs.Stat(o.FS, full); failed == nil && info.IsDir() {
				if linked != "" {
					return errs.New(errs.ErrUnsupported, "open", "a link to a folder lies in one that a link leads to, as in a circle").At(full)
				}
				linked = full
				defer func() { linked = "" }()
				return fs.WalkDir(o.FS, full, visit) // which follows the link that it begins with
			}
		}
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && name == ".":
			return errs.New(errs.ErrNotFound, "open", "the folder cannot be listed").At(root).Because(err)
		case name == "." && !entry.IsDir():
			return errs.New(errs.ErrRead, "open", "not a folder").At(root)
		case err != nil:
			if len(l.unreadable) < 100 {
				l.unreadable = append(l.unreadable, name)
			}
			return fs.SkipDir
		case name == ".":
		case entry.IsDir() && top && o.Kind == folder.Flat:
			return fs.SkipDir
		case entry.IsDir() && top && o.Kind == folder.Classes:
			l.classes = append(l.classes, name)
		case !entry.IsDir() && !(top && o.Kind == folder.Classes) && o.wanted(name):
			l.names = append(l.names, name)
		}
		return budget.Reserve(int64(len(full))+nameCost, "the list of files")
	}
	if err = fs.WalkDir(o.FS, root, visit); err != nil {
		return l, err
	}
	class := func(name string) string { first, _, _ := strings.Cut(name, "/"); return first }
	slices.SortFunc(l.names, func(a, b string) int {
		if o.Kind != folder.Classes {
			return strings.Compare(a, b)
		}
		// As sorted(os.walk(class)) has them.
		return cmp.Or(strings.Compare(class(a), class(b)), strings.Compare(path.Dir(a), path.Dir(b)), strings.Compare(a, b))
	})
	if o.Kind == folder.Classes {
		slices.Sort(l.classes)
		l.labels = make([]int32, len(l.names))
	}
	for i, name := range l.names {
		if l.labels != nil {
			at, _ := slices.BinarySearch(l.classes, class(name))
			l.labels[i] = int32(at)
		}
		l.names[i] = path.Join(root, name)
	}
	return l, nil
}

// nameCost are the bytes of an object and its extent, beside the name.
const nameCost = 256

func (o *FolderOptions) wanted(name string) bool {
	name = strings.ToLower(path.Base(name))
	return len(o.Extensions) == 0 || slices.ContainsFunc(o.Extensions, func(extension string) bool { return strings.HasSuffix(name, extension) })
}

// openIn opens files of a file system, as objects.
func openIn(ctx context.Context, l listing, plan image.Plan, o FolderOptions) (*Dataset, error) {
	o.complete()
	if o.Index != "" {
		return nil, errs.New(errs.ErrConfig, "open", "no index is kept of a file system: leave Index out")
	}
	objects, extents := make([]source.Object, len(l.names)), make([]source.Extent, len(l.names))
	for i, name := range l.names {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		objects[i], extents[i] = source.ObjectIn(o.FS, name, o.MaxFileBytes), source.Extent{Object: uint32(i), Length: -1}
	}
	d, err := OpenObjects(objects, extents, plan, ObjectOptions{Labels: l.labels, Seed: o.Seed, FetchOptions: o.FetchOptions, Options: o.Options})
	if err == nil {
		d.Classes, d.Unreadable = l.classes, l.unreadable
	}
	return d, err
}
