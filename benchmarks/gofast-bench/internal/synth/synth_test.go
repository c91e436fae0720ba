package synth

import (
	"context"
	"errors"
	"image"
	_ "image/jpeg"
	_ "image/png"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/gofast-org/gofast/gofast"
)

func options(kind string) Options {
	return Options{Kind: kind, Count: 11, Classes: 3, Width: 40, Height: 30, Columns: 5, Seed: 7}
}

// A seed makes the same pictures, of several sizes; those that shall be broken are, and no others.
func TestPictures(t *testing.T) {
	for _, kind := range []string{JPEG, PNG} {
		o, roots, sizes := options(kind), []string{t.TempDir(), t.TempDir()}, map[image.Point]bool{}
		o.Broken = 5
		var made *Made
		for _, to := range roots {
			var err error
			if made, err = Make(context.Background(), to, o); err != nil || made.Files != 11 || made.Bytes == 0 || len(made.Broken) != 5 {
				t.Fatalf("%+v, %v", made, err)
			}
		}
		files, _ := filepath.Glob(roots[1] + "/class00?/*")
		for _, path := range files {
			name, _ := filepath.Rel(roots[1], path)
			first, err1 := os.ReadFile(filepath.Join(roots[0], name))
			second, err2 := os.ReadFile(path)
			if err1 != nil || err2 != nil || !slices.Equal(first, second) {
				t.Errorf("%s: a seed makes other bytes", name)
			}
			file, err := os.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			picture, format, err := image.Decode(file)
			file.Close()
			if (err != nil) != slices.Contains(made.Broken, path) || err == nil && format != kind {
				t.Errorf("%s: %s, %v", name, format, err)
			} else if err == nil {
				sizes[picture.Bounds().Size()] = true
			}
		}
		if len(files) != 11 || len(sizes) < 4 {
			t.Errorf("%d files of %d sizes", len(files), len(sizes))
		}
	}
}

func TestTables(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.csv")
	if _, err := Make(context.Background(), path, options(KindOf(path))); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(path); err != nil || !regexp.MustCompile(`^label,f0,f1,f2,f3,f4\n([0-2](,\d+){5}\n){11}$`).Match(text) {
		t.Errorf("%q, %v", text, err)
	}
}

func TestNothingIsOverwrittenOrHalfThere(t *testing.T) {
	folder := t.TempDir()
	mine := filepath.Join(folder, "mine")
	if err := os.WriteFile(mine, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, c := range []struct {
		ctx      context.Context
		to, kind string
		want     error
	}{{context.Background(), folder, PNG, gofast.ErrConfig}, {context.Background(), mine, CSV, gofast.ErrConfig},
		{ctx, filepath.Join(folder, "t.csv"), CSV, context.Canceled}, {ctx, t.TempDir(), PNG, context.Canceled}} {
		if _, err := Make(c.ctx, c.to, options(c.kind)); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", c.kind, err)
		}
	}
	if entries, err := os.ReadDir(folder); err != nil || len(entries) != 1 {
		t.Errorf("%v, %v", entries, err)
	}
}
