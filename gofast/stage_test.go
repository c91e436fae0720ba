package gofast

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	images "github.com/gofast-org/gofast/gofast/image"
	jpegdecoder "github.com/gofast-org/gofast/gofast/image/jpeg"
	"github.com/gofast-org/gofast/gofast/internal/pillowtest"
	"github.com/gofast-org/gofast/gofast/numbers"
	"github.com/gofast-org/gofast/gofast/source/folder"
	"github.com/gofast-org/gofast/gofast/table/gather"
)

var stages = []images.Stage{images.Read, images.DecodeWhole, images.DecodeNeeded}

// plansWithEveryEnd are plans that end while the picture is geometry, and ones that bring it to rest.
func plansWithEveryEnd() []images.Plan {
	output := images.Output{DType: numbers.Float32, Height: 16, Width: 16, Channels: 3}
	float := images.Step{"op": "to_float", "how": "divide"}
	crop := images.Step{"op": "center_crop", "size": []int{16, 16}}
	small := images.Step{"op": "resize", "size": []int{24}, "filter": "bilinear"}
	pad := images.Step{"op": "pad", "padding": []int{2, 2, 2, 2}, "fill": []int{0, 0, 0}, "mode": "constant"}
	jitter := images.Step{"op": "color_jitter", "brightness": []float64{0.5, 1.5}}
	return []images.Plan{
		trainPlan, {Steps: []images.Step{crop, float}, Output: output}, {Steps: []images.Step{small, crop, jitter, float}, Output: output},
		{Steps: []images.Step{pad, small, crop, float}, Output: output}, {Steps: []images.Step{small, small, jitter, crop, small, crop, float}, Output: output},
	}
}

// Each stage goes through every picture, and finds what its part of the work finds.
func TestStages(t *testing.T) {
	e := engineOf(t, 2)
	root := pictureFolder(t, 12)
	bad := filepath.Join(root, "class1", "103.png")
	file, err := os.ReadFile(bad)
	if err != nil {
		t.Fatal(err)
	}
	check := func(wrong map[images.Stage]bool) {
		t.Helper()
		for _, plan := range plansWithEveryEnd() {
			whole, err := OpenFolder(context.Background(), root, plan, FolderOptions{})
			if err != nil {
				t.Fatal(err)
			}
			for _, stage := range stages {
				d, err := whole.UpTo(stage)
				if err != nil {
					t.Fatal(err)
				}
				rows := 0
				var last error
				for b, err := range e.Batches(context.Background(), d, Shuffled(d.Len(), 1, 1), 5) {
					rows, last = rows+b.Rows, err
				}
				if wrong[stage] && (last == nil || !strings.Contains(last.Error(), bad)) || !wrong[stage] && (last != nil || rows != 12) {
					t.Errorf("stage %d: %d rows, %v", stage, rows, last)
				}
				d.Close()
			}
			whole.Close()
		}
	}
	check(nil)
	if err := os.WriteFile(bad, file[:len(file)/2], 0o644); err != nil {
		t.Fatal(err)
	}
	check(map[images.Stage]bool{images.DecodeWhole: true, images.DecodeNeeded: true})
	rows, err := newRows(gather.Stored{}, gather.Transform{})
	if err == nil {
		defer rows.Close()
		_, err = rows.UpTo(images.Read)
	}
	if !errors.Is(err, ErrConfig) {
		t.Errorf("a table has stages: %v", err)
	}
}

// A JPEG is decoded by all stages, with our decoder of codes where it took hold.
func TestStagesOfJPEG(t *testing.T) {
	pillowtest.Library(t, "libjpeg-*.so*", jpegdecoder.Format.Load)
	paths, err := filepath.Glob("image/jpeg/testdata/*.jpg")
	if err != nil || len(paths) < 5 {
		t.Fatal(paths, err)
	}
	output := images.Output{DType: numbers.Uint8, Height: 8, Width: 8, Channels: 3}
	d, err := OpenFiles(context.Background(), paths, images.Plan{Output: output,
		Steps: []images.Step{{"op": "resize", "size": []int{8, 8}, "filter": "bilinear"}, {"op": "to_uint8"}}}, FolderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	e := engineOf(t, 1)
	for _, stage := range stages {
		part, err := d.UpTo(stage)
		if err != nil {
			t.Fatal(err)
		}
		for _, err := range e.Batches(context.Background(), part, Sequential(d.Len()), 4) {
			if err != nil {
				t.Errorf("stage %d: %v", stage, err)
			}
		}
		part.Close()
	}
}

// Files that are named one by one, and folders without classes, have no labels.
func TestPicturesWithoutClasses(t *testing.T) {
	root := pictureFolder(t, 6)
	e := engineOf(t, 1)
	classes := openFolder(t, root, trainPlan, FolderOptions{})
	var paths []string
	for i := range classes.Len() {
		paths = append(paths, classes.Path(i))
	}
	values, _ := epoch(t, e, classes, 4)
	listed, err := OpenFiles(context.Background(), paths, trainPlan, FolderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer listed.Close()
	tree := openFolder(t, root, trainPlan, FolderOptions{Kind: folder.Tree})
	for _, d := range []*Dataset{listed, tree} {
		if d.LabelDType != numbers.Invalid || d.Len() != 6 || len(d.Classes) != 0 {
			t.Errorf("%d pictures, labels %q", d.Len(), d.LabelDType)
		}
		var got []float32
		for b, err := range e.Batches(context.Background(), d, Shuffled(d.Len(), 1, 1), 4) {
			if err != nil {
				t.Fatal(err)
			}
			features, _ := b.Float32()
			got = append(got, features...)
		}
		if !same(got, values) {
			t.Error("the same files make other samples")
		}
	}
	flat, err := OpenFolder(context.Background(), filepath.Join(root, "class0"), trainPlan, FolderOptions{Kind: folder.Flat})
	if err != nil || flat.Len() != 3 {
		t.Fatal(flat, err)
	}
	flat.Close()
}

// OnError excuses single pictures: zeroes are in their place, and the others are what they would be.
func TestOnError(t *testing.T) {
	root := pictureFolder(t, 8)
	e := engineOf(t, 2)
	open := func() *Dataset { return openFolder(t, root, trainPlan, FolderOptions{}) }
	good, _ := epoch(t, e, open(), 8)
	for i, text := range []string{"no picture at all", "\x89PNG\r\n\x1a\n"} { // of the second, not even the size is known
		if err := os.WriteFile(filepath.Join(root, "class1", []string{"101.png", "103.png"}[i]), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	d := open()
	named := map[string]bool{}
	d.OnError = func(err error) error {
		var known *Error
		if !errors.As(err, &known) {
			t.Fatal(err)
		}
		named[filepath.Base(known.Path)] = true
		return nil
	}
	for range 2 { // what is kept from the first iteration changes nothing
		values, _ := epoch(t, e, d, 8)
		size := len(values) / 8
		for i, index := range Shuffled(8, 1, 1) {
			want := good[i*size:][:size]
			if name := filepath.Base(d.Path(index)); name == "101.png" || name == "103.png" {
				want = make([]float32, size)
			}
			if !same(values[i*size:][:size], want) {
				t.Errorf("%s has other values", d.Path(index))
			}
		}
	}
	if len(named) != 2 || !named["101.png"] || !named["103.png"] {
		t.Errorf("%v", named)
	}
	refused := errors.New("that is too much")
	d.OnError = func(error) error { return refused }
	for _, err := range e.Batches(context.Background(), d, Sequential(8), 8) {
		if !errors.Is(err, refused) {
			t.Errorf("%v", err)
		}
	}
}

// An engine's iterations share their memory, one after the other, and never at the same time.
func TestIterationsShareMemory(t *testing.T) {
	root := pictureFolder(t, 6)
	d := openFolder(t, root, trainPlan, FolderOptions{})
	e := NewEngine(1)
	first := func(inside func()) *byte {
		for b, err := range e.Batches(context.Background(), d, Sequential(6), 3) {
			if err != nil {
				t.Fatal(err)
			}
			at := &b.Features[0]
			inside()
			return at
		}
		return nil
	}
	one := first(func() {})
	if two := first(func() {
		if first(func() {}) == one {
			t.Error("two iterations at a time share a batch's memory")
		}
	}); two != one {
		t.Error("the memory was not used again")
	}
	e.Close()
	e.Close()
	if len(e.rings.free) != 0 {
		t.Error("a closed engine keeps memory")
	}
}
