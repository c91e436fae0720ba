package gofast

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"

	"github.com/gofast-org/gofast/gofast/source"
	"github.com/gofast-org/gofast/gofast/source/folder"
	"github.com/gofast-org/gofast/gofast/table/gather"
)

// liar is a file system whose files have other sizes than they say.
type liar struct {
	fs.FS
	size int64
}

type lie struct {
	fs.FileInfo
	size int64
}

func (l lie) Size() int64 { return l.size }

// Stat implements fs.StatFS.
func (l liar) Stat(name string) (fs.FileInfo, error) {
	info, err := fs.Stat(l.FS, name)
	return lie{info, l.size}, err
}

// One file that cannot be had is a fault of its picture, which OnError may excuse.
func TestFaultsOfFilesInFileSystems(t *testing.T) {
	small := []byte("P6 1 1 255\n\xff\x00\x33")
	memory := fstest.MapFS{"a/x.ppm": {Data: small}}
	root := t.TempDir()
	if err := errors.Join(os.Mkdir(filepath.Join(root, "a"), 0o755), os.Symlink("none", filepath.Join(root, "a", "x.ppm")),
		syscall.Mkfifo(filepath.Join(root, "fifo"), 0o600)); err != nil {
		t.Fatal(err)
	}
	e := engineOf(t, 1)
	files := func(fsys fs.FS, names ...string) *Dataset {
		d, err := OpenFiles(t.Context(), names, valPlan, FolderOptions{FS: fsys})
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	for name, c := range map[string]struct {
		dataset *Dataset
		want    error
	}{
		"a dangling link":        {openFolder(t, ".", valPlan, FolderOptions{FS: os.DirFS(root)}), ErrNotFound},
		"a fifo":                 {files(os.DirFS(root), "fifo"), ErrRead},
		"a folder":               {files(memory, "a"), ErrRead},
		"2^62 bytes":             {files(liar{memory, 1 << 62}, "a/x.ppm"), ErrLimit},
		"less than nothing":      {files(liar{memory, -5}, "a/x.ppm"), ErrLimit},
		"more than the budget":   {openFolder(t, ".", valPlan, FolderOptions{FS: memory, FetchOptions: source.FetchOptions{Budget: 1}}), ErrLimit},
		"more than MaxFileBytes": {files(liar{memory, 1<<30 + 1}, "a/x.ppm"), ErrLimit},
	} {
		if n, err := last(Loader{e, c.dataset, 1}, t.Context(), []int64{0}, func(int) {}); n != 0 || !errors.Is(err, c.want) {
			t.Errorf("%s: %d batches, %v", name, n, err)
		}
		c.dataset.OnError = func(error) error { return nil }
		if n, err := last(Loader{e, c.dataset, 1}, t.Context(), []int64{0}, func(int) {}); n != 1 || err != nil {
			t.Errorf("%s, excused: %d batches, %v", name, n, err)
		}
		c.dataset.Close()
	}
	if _, err := OpenTable(t.Context(), []string{"fifo"}, TableOptions{FS: os.DirFS(root)}, gather.Transform{}); !errors.Is(err, ErrRead) {
		t.Errorf("a table that is a fifo: %v", err)
	}
	// Their sum is no int64, and none of them is too large alone.
	large := 1 << 62
	objects, extents := make([]source.Object, 4), make([]source.Extent, 4)
	for i := range objects {
		objects[i], extents[i] = endlessObject{}, source.Extent{Object: uint32(i), Length: -1}
	}
	d, err := OpenObjects(objects, extents, valPlan, ObjectOptions{FetchOptions: source.FetchOptions{Budget: int64(large)}})
	if err != nil {
		t.Fatal(err)
	}
	if n, err := last(Loader{e, d, 4}, t.Context(), Sequential(4), func(int) {}); n != 0 || !errors.Is(err, ErrLimit) {
		t.Errorf("a batch of 2^63 bytes: %d, %v", n, err)
	}
}

// endlessObject has 2^61 bytes.
type endlessObject struct{ source.Bytes }

func (endlessObject) ReadAt(context.Context, []byte, int64) (int, error) { return 0, io.EOF }
func (endlessObject) Stamp() source.Stamp                                { return source.Stamp{Size: 1 << 61} }
func (endlessObject) Path() string                                       { return "endless" }
func (endlessObject) Close() error                                       { return nil }

func TestLinksInFileSystems(t *testing.T) {
	root, other := t.TempDir(), t.TempDir()
	for _, name := range []string{filepath.Join(root, "a", "x.ppm"), filepath.Join(root, "c", "x.ppm"), filepath.Join(other, "x.PPM")} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte("P6 1 1 255\n\xff\x00\x33"), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	for _, link := range []string{"b", "c/more", "c/dir.ppm"} {
		if err := os.Symlink(other, filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
	for _, kind := range []folder.Kind{folder.Classes, folder.Flat, folder.Tree} {
		for _, extensions := range [][]string{nil, {}, {".PPM"}, {".png"}} {
			want := openFolder(t, root, valPlan, FolderOptions{Kind: kind, Extensions: extensions})
			d := openFolder(t, ".", valPlan, FolderOptions{Kind: kind, Extensions: extensions, FS: os.DirFS(root)})
			if !slices.Equal(d.Classes, want.Classes) || d.Len() != want.Len() || kind == folder.Tree && (d.Len() == 5) == slices.Contains(extensions, ".png") {
				t.Errorf("%s, %q: %d pictures of %q, want %d of %q", kind, extensions, d.Len(), d.Classes, want.Len(), want.Classes)
			}
			for i := range want.Len() {
				if got := filepath.Join(root, d.Path(i)); got != want.Path(i) {
					t.Errorf("%s, %q: picture %d is %s, want %s", kind, extensions, i, got, want.Path(i))
				}
			}
		}
	}
	circle := filepath.Join(root, "a", "circle")
	if err := os.Symlink(root, circle); err != nil {
		t.Fatal(err)
	}
	small := FolderOptions{FS: os.DirFS(root)}
	small.Limits.Memory = 1
	negative := FolderOptions{FS: os.DirFS(root)}
	negative.Limits.Memory = -1
	for name, c := range map[string]struct {
		root    string
		options FolderOptions
		want    error
	}{
		"a circle":        {".", FolderOptions{FS: os.DirFS(root)}, ErrUnsupported},
		"a file":          {"a/x.ppm", FolderOptions{FS: os.DirFS(root)}, ErrRead},
		"no room":         {".", small, ErrLimit},
		"negative limits": {".", negative, ErrConfig},
		"a panic":         {".", FolderOptions{FS: panics{}}, ErrInternal},
	} {
		if _, err := OpenFolder(t.Context(), c.root, valPlan, c.options); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

type panics struct{}

func (panics) Open(string) (fs.File, error) { panic("a file system") }

type readFunc func(p []byte) (int, error)

func (r readFunc) Read(p []byte) (int, error) { return r(p) }

func TestReadersThatMisbehave(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	const text = "a,b\n1,2\n\n3,700\n"
	pictures := gather.Transform{Shape: []int{1, 1, 2}, Scale: gather.ScaleAuto} // 700 is no pixel
	rest := 2
	table := strings.NewReader(text)
	for name, c := range map[string]struct {
		r    io.Reader
		want error
	}{
		"nothing, for ever": {readFunc(func([]byte) (int, error) { return 0, nil }), io.ErrNoProgress},
		"more than asked":   {readFunc(func(p []byte) (int, error) { return len(p) + 1, nil }), ErrRead},
		"less than nothing": {readFunc(func([]byte) (int, error) { return -1, nil }), ErrRead},
		"a panic":           {readFunc(func([]byte) (int, error) { panic("a reader") }), ErrInternal},
		"the caller's end":  {readFunc(func(p []byte) (int, error) { cancel(); return len(p), nil }), ErrCanceled},
		"a value that is no pixel": {readFunc(func(p []byte) (int, error) {
			n, err := table.Read(p)
			if err == io.EOF {
				if rest--; rest == 0 {
					t.Error("it is read behind its end")
				}
			}
			return n, err
		}), ErrValue},
	} {
		use := t.Context()
		if name == "the caller's end" {
			use = ctx
		}
		if _, err := ReadTable(use, c.r, TableOptions{}, pictures); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}
