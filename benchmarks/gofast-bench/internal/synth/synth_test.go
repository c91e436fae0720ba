package synth

import (
	"context"
	"errors"
	"image"
	_ "image/jpeg"
	_ "image/png"
	"os"
	"path/filepath"
	"testing"

	"github.com/gofast-org/gofast/gofast"
	"github.com/gofast-org/gofast/gofast/table/gather"
)

func options(kind string) Options {
	return Options{Kind: kind, Count: 11, Classes: 3, Width: 40, Height: 30, Spread: 0.3, Quality: 90, Columns: 5, Seed: 7}
}

// tree is a folder's files by their names.
func tree(t *testing.T, root string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		name, _ := filepath.Rel(root, path)
		files[name] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestPictures(t *testing.T) {
	for _, kind := range []string{JPEG, PNG} {
		first, second := t.TempDir(), t.TempDir()
		for _, to := range []string{first, second} {
			made, err := Make(context.Background(), to, options(kind))
			if err != nil || made.Files != 11 || made.Bytes == 0 {
				t.Fatalf("%+v, %v", made, err)
			}
		}
		files, again := tree(t, first), tree(t, second)
		sizes := map[image.Point]bool{}
		for name, data := range files {
			if again[name] != data {
				t.Errorf("%s: a seed makes other bytes", name)
			}
			file, err := os.Open(filepath.Join(first, name))
			if err != nil {
				t.Fatal(err)
			}
			picture, format, err := image.Decode(file)
			file.Close()
			if err != nil || format != kind {
				t.Fatalf("%s: %s, %v", name, format, err)
			}
			size := picture.Bounds().Size()
			if size.X < 27 || size.X > 53 || size.Y < 20 || size.Y > 40 {
				t.Errorf("%s: %v", name, size)
			}
			sizes[size] = true
		}
		if len(files) != 11 || len(sizes) < 5 {
			t.Errorf("%d files of %d sizes", len(files), len(sizes))
		}
		o := options(kind)
		o.Seed++
		if _, err := Make(context.Background(), t.TempDir(), o); err != nil {
			t.Fatal(err)
		}
	}
}

func TestBrokenOnesAreBroken(t *testing.T) {
	o, to := options(PNG), t.TempDir()
	o.Broken = 6
	made, err := Make(context.Background(), to, o)
	if err != nil || len(made.Broken) != 6 {
		t.Fatalf("%+v, %v", made, err)
	}
	bad := map[string]bool{}
	for _, b := range made.Broken {
		bad[b.Path] = true
	}
	for name := range tree(t, to) {
		path := filepath.Join(to, name)
		file, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = image.Decode(file)
		file.Close()
		if (err != nil) != bad[path] {
			t.Errorf("%s: broken %v, and %v", path, bad[path], err)
		}
	}
}

func TestTables(t *testing.T) {
	for _, kind := range []string{CSV, NPY, Parquet} {
		path := filepath.Join(t.TempDir(), "t."+kind)
		if _, err := Make(context.Background(), path, options(kind)); err != nil {
			t.Fatal(kind, err)
		}
		table := gofast.TableOptions{Label: []gofast.ColumnRef{{Name: "label"}}, LabelOptional: kind == NPY}
		d, err := gofast.OpenTable(context.Background(), []string{path}, table, gather.Transform{})
		if err != nil {
			t.Fatal(kind, err)
		}
		if d.Len() != 11 || d.Table.Width != 5 || d.Table.Type != "uint8" || kind != NPY && len(d.Table.Labels) != 1 {
			t.Errorf("%s: %d rows, %+v", kind, d.Len(), d.Table)
		}
		engine := gofast.NewEngine(1)
		for b, err := range engine.Batches(context.Background(), d, gofast.Sequential(11), 11) {
			if err != nil {
				t.Fatal(err)
			}
			values, err := b.Float32()
			if err != nil {
				t.Fatal(err)
			}
			o, want := options(kind), make([]byte, 5)
			for i := range int64(11) {
				label := o.row(i, want)
				for k, v := range want {
					if values[int(i)*5+k] != float32(v) {
						t.Errorf("%s: row %d is %v, and %v was made", kind, i, values[i*5:][:5], want)
						break
					}
				}
				if labels, err := b.Int64Labels(); kind != NPY && (err != nil || labels[i] != int64(label)) {
					t.Errorf("%s: row %d has another label, %v", kind, i, err)
				}
			}
		}
		engine.Close()
		d.Close()
	}
}

func TestKindsByEnding(t *testing.T) {
	for path, want := range map[string]string{"a.csv": CSV, "x/b.NPY": NPY, "c.parquet": Parquet, "photos": JPEG, "photos.v2": JPEG, "a.png": JPEG} {
		if got := KindOf(path); got != want {
			t.Errorf("%s: %s", path, got)
		}
	}
}

func TestNothingIsOverwritten(t *testing.T) {
	folder := t.TempDir()
	mine := filepath.Join(folder, "mine")
	if err := os.WriteFile(mine, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	for to, kind := range map[string]string{folder: PNG, mine: CSV} {
		if _, err := Make(context.Background(), to, options(kind)); !errors.Is(err, gofast.ErrConfig) {
			t.Errorf("%s: %v", kind, err)
		}
	}
	if files := tree(t, folder); len(files) != 1 || files["mine"] != "precious" {
		t.Errorf("%v", files)
	}
	o := options(CSV)
	o.Force = true
	if _, err := Make(context.Background(), mine, o); err != nil {
		t.Error(err)
	}
}

func TestCanceled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	folder := t.TempDir()
	for kind, to := range map[string]string{PNG: filepath.Join(folder, "p"), CSV: filepath.Join(folder, "t.csv")} {
		if _, err := Make(ctx, to, options(kind)); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", kind, err)
		}
	}
	for name := range tree(t, folder) {
		t.Errorf("%s: half of it stayed", name)
	}
}

func TestCheck(t *testing.T) {
	for name, change := range map[string]func(*Options){
		"kind": func(o *Options) { o.Kind = "gif" }, "count": func(o *Options) { o.Count = 0 }, "spread": func(o *Options) { o.Spread = 1 },
		"broken": func(o *Options) { o.Broken = 12 }, "quality": func(o *Options) { o.Quality = 101 }, "columns": func(o *Options) { o.Columns = -1 },
		"broken tables": func(o *Options) { o.Kind, o.Broken = CSV, 1 }, "pixels": func(o *Options) { o.Width, o.Height = 20_000, 20_000 },
		"cells": func(o *Options) { o.Kind, o.Count, o.Columns = CSV, mostCount, mostColumns },
	} {
		o := options(JPEG)
		if o.Check() != nil {
			t.Fatal("the options are good")
		}
		if change(&o); o.Check() == nil {
			t.Errorf("%s is not noticed", name)
		}
	}
	for _, text := range []string{"", "5", "0x5", "5x", "5x-1", "5x99999", "axb"} {
		if _, _, err := ParseSize(text); err == nil {
			t.Errorf("%q is a size", text)
		}
	}
}
