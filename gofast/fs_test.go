package gofast

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"testing/iotest"

	"github.com/gofast-org/gofast/gofast/source/folder"
	"github.com/gofast-org/gofast/gofast/table/gather"
)

// zipOf is a folder as the file system of a zip, whose files have no ReadAt.
func zipOf(t *testing.T, root string) fs.FS {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	if err := errors.Join(w.AddFS(os.DirFS(root)), w.Close()); err != nil {
		t.Fatal(err)
	}
	r, err := zip.NewReader(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// The same classes, order and samples as of the folder itself.
func TestFoldersInFileSystems(t *testing.T) {
	root := pictureFolder(t, 9)
	picture, err := os.ReadFile(filepath.Join(root, "class0", "100.png"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"class0/a b/1.PNG", "class0/a/c/1.png", "class0/a/c.png", "class0/a/notes.txt", "class1-/x.png", "empty/notes.txt", "top.png"} {
		path := filepath.Join(root, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, picture, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	e := engineOf(t, 2)
	for name, fsys := range map[string]fs.FS{"os": os.DirFS(root), "zip": zipOf(t, root)} {
		for _, kind := range []folder.Kind{folder.Classes, folder.Flat, folder.Tree} {
			for _, below := range []string{".", "class0"} {
				want := openFolder(t, filepath.Join(root, below), trainPlan, FolderOptions{Kind: kind, Seed: 3})
				d := openFolder(t, below, trainPlan, FolderOptions{Kind: kind, Seed: 3, FS: fsys})
				if d.Len() != want.Len() || !slices.Equal(d.Classes, want.Classes) || d.LabelDType != want.LabelDType {
					t.Fatalf("%s, %s of %s: %d pictures of %q, want %d of %q", name, kind, below, d.Len(), d.Classes, want.Len(), want.Classes)
				}
				for i := range want.Len() {
					if got := filepath.Join(root, d.Path(i)); got != want.Path(i) {
						t.Errorf("%s, %s of %s: picture %d is %s, want %s", name, kind, below, i, got, want.Path(i))
					}
				}
				var made [2][]byte
				for k, pictures := range []*Dataset{want, d} {
					for b, err := range e.Batches(t.Context(), pictures, Sequential(pictures.Len()), 4) {
						if err != nil {
							t.Fatal(err)
						}
						made[k] = append(append(made[k], b.Features...), b.Labels...)
					}
				}
				if !bytes.Equal(made[0], made[1]) {
					t.Errorf("%s, %s of %s: other samples", name, kind, below)
				}
			}
		}
	}
	files, err := OpenFiles(t.Context(), []string{"class0/a/c.png", "top.png"}, trainPlan, FolderOptions{FS: os.DirFS(root)})
	if err != nil || files.Len() != 2 || files.Path(1) != "top.png" {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "top.png"), picture[:20], 0o600); err != nil {
		t.Fatal(err)
	}
	if n, err := last(Loader{e, files, 1}, t.Context(), Sequential(2), func(int) {}); n != 1 || !errors.Is(err, ErrChanged) {
		t.Errorf("%d batches before a file that has changed, %v", n, err)
	}
	files.Close()
	for name, options := range map[string]FolderOptions{"no such folder": {FS: os.DirFS(root)}, "class0": {FS: os.DirFS(root), Index: "x"}} {
		if _, err := OpenFolder(t.Context(), name, trainPlan, options); !errors.Is(err, ErrNotFound) && !errors.Is(err, ErrConfig) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTablesInFileSystems(t *testing.T) {
	const text = "x,y\n1,2\n3,4\n"
	read := func(r io.Reader, o TableOptions) (*Dataset, error) {
		return ReadTable(t.Context(), r, o, gather.Transform{})
	}
	in := func(ctx context.Context, name string) (*Dataset, error) {
		return OpenTable(ctx, []string{"a.csv", name}, TableOptions{FS: fstest.MapFS{"a.csv": {Data: []byte(text)}, "bad.csv": {Data: []byte("x,y\n5,six\n")}, "f/x": {}}}, gather.Transform{})
	}
	for name, open := range map[string]func() (*Dataset, error){
		"a reader": func() (*Dataset, error) {
			return read(iotest.OneByteReader(strings.NewReader(text+text[4:])), TableOptions{})
		},
		"a file system": func() (*Dataset, error) { return in(t.Context(), "a.csv") },
	} {
		d, err := open()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for b, err := range engineOf(t, 1).Batches(t.Context(), d, Sequential(4), 4) {
			values, failed := b.Float32()
			if err := errors.Join(err, failed); err != nil || !slices.Equal(values, []float32{1, 2, 3, 4, 1, 2, 3, 4}) {
				t.Errorf("%s: %v, %v", name, values, err)
			}
		}
		d.Close()
	}
	over := TableOptions{}
	over.Limits.Memory = 10_000
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for name, c := range map[string]struct {
		open func() (*Dataset, error)
		want error
	}{
		"a reader that fails":   {func() (*Dataset, error) { return read(iotest.ErrReader(io.ErrClosedPipe), TableOptions{}) }, ErrRead},
		"no reader":             {func() (*Dataset, error) { return read(nil, TableOptions{}) }, ErrConfig},
		"its cause":             {func() (*Dataset, error) { return read(iotest.ErrReader(io.ErrClosedPipe), TableOptions{}) }, io.ErrClosedPipe},
		"a reader without end":  {func() (*Dataset, error) { return read(endless{}, over) }, ErrLimit},
		"nothing":               {func() (*Dataset, error) { return read(strings.NewReader(""), TableOptions{}) }, ErrFormat},
		"a file that is absent": {func() (*Dataset, error) { return in(t.Context(), "none.csv") }, ErrNotFound},
		"a folder":              {func() (*Dataset, error) { return in(t.Context(), "f") }, ErrRead},
		"text":                  {func() (*Dataset, error) { return in(t.Context(), "bad.csv") }, ErrSchema},
		"an ended context":      {func() (*Dataset, error) { return in(ended, "a.csv") }, context.Canceled},
	} {
		if _, err := c.open(); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }
