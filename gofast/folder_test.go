package gofast

import (
	"bytes"
	"context"
	"errors"
	"image"
	"image/png"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	images "github.com/gofast-org/gofast/gofast/image"
	pngdecoder "github.com/gofast-org/gofast/gofast/image/png"
	"github.com/gofast-org/gofast/gofast/numbers"
)

// valPlan draws nothing.
var valPlan = images.Plan{
	Steps:  []images.Step{{"op": "resize", "size": []int{16, 16}, "filter": "bilinear"}, {"op": "to_float", "how": "divide"}},
	Output: trainPlan.Output,
}

// pictureFolder has two classes of PNG files.
func pictureFolder(t testing.TB, count int) string {
	t.Helper()
	if err := pngdecoder.Format.Load(""); err != nil {
		t.Fatal(err)
	}
	root, r := t.TempDir(), rand.New(rand.NewPCG(3, 4))
	for i := range count {
		picture := image.NewNRGBA(image.Rect(0, 0, 20+r.IntN(50), 20+r.IntN(50)))
		for j := range picture.Pix {
			picture.Pix[j] = byte(r.Uint32()) | 0xff*byte(j&3/3)
		}
		var file bytes.Buffer
		if err := png.Encode(&file, picture); err != nil {
			t.Fatal(err)
		}
		folder := filepath.Join(root, "class"+strconv.Itoa(i%2))
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, strconv.Itoa(100+i)+".png"), file.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

var trainPlan = images.Plan{
	Steps: []images.Step{
		{"op": "random_resized_crop", "size": []int{16, 16}, "scale": []float64{0.08, 1}, "ratio": []float64{0.75, 1.25},
			"log_ratio": []float32{-0.28768207, 0.22314355}, "filter": "bilinear"},
		{"op": "hflip", "p": 0.5},
		{"op": "to_float", "how": "divide"},
	},
	Output: images.Output{DType: numbers.Float32, Height: 16, Width: 16, Channels: 3},
}

// openFolder opens one for a test.
func openFolder(t testing.TB, root string, plan images.Plan, options FolderOptions) *Dataset {
	t.Helper()
	d, err := OpenFolder(context.Background(), root, plan, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	return d
}

// engineOf is one for a test.
func engineOf(t testing.TB, threads int) *Engine {
	t.Helper()
	e := NewEngine(threads)
	t.Cleanup(e.Close)
	return e
}

func epoch(t *testing.T, e *Engine, f *Dataset, batchRows int) (values []float32, labels []int64) {
	t.Helper()
	for b, err := range e.Batches(context.Background(), f, Shuffled(f.Len(), 1, 1), batchRows) {
		if err != nil {
			t.Fatal(err)
		}
		features, err := b.Float32()
		if err != nil {
			t.Fatal(err)
		}
		numbers, err := b.Int64Labels()
		if err != nil {
			t.Fatal(err)
		}
		values, labels = append(values, features...), append(labels, numbers...)
	}
	return values, labels
}

func same[T comparable](a, b []T) bool {
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return len(a) == len(b)
}

// Threads and batch sizes do not change what is drawn; seeds and epochs do.
func TestFolderBatches(t *testing.T) {
	root := pictureFolder(t, 30)
	open := func(seed uint64) *Dataset { return openFolder(t, root, trainPlan, FolderOptions{Seed: seed}) }
	first := open(7)
	if first.Len() != 30 || len(first.Classes) != 2 {
		t.Fatalf("%d pictures in %v", first.Len(), first.Classes)
	}
	one, two := engineOf(t, 1), engineOf(t, 2)
	values, labels := epoch(t, one, first, 8)
	if len(values) != 30*3*16*16 || len(labels) != 30 {
		t.Fatalf("%d values and %d labels", len(values), len(labels))
	}
	for i, index := range Shuffled(30, 1, 1) {
		if labels[i] != index/15 {
			t.Errorf("sample %d has the label %d", index, labels[i])
		}
	}
	again, _ := epoch(t, two, open(7), 3)
	if !same(values, again) {
		t.Error("threads and batches change the samples")
	}
	first.SetEpoch(1)
	if next, _ := epoch(t, two, first, 8); same(values, next) {
		t.Error("epoch 1 is epoch 0")
	}
	if other, _ := epoch(t, two, open(8), 8); same(values, other) {
		t.Error("seed 8 is seed 7")
	}
}

// A file that cannot be read is an error of its batch that names it; an index that is none, too.
func TestFolderFailures(t *testing.T) {
	root := pictureFolder(t, 6)
	bad := filepath.Join(root, "class1", "103.png")
	plan := images.Plan{
		Steps:  []images.Step{{"op": "resize", "size": []int{8, 8}, "filter": "box"}, {"op": "to_uint8"}},
		Output: images.Output{DType: numbers.Uint8, Height: 8, Width: 8, Channels: 3},
	}
	if err := os.WriteFile(bad, []byte("no picture at all"), 0o644); err != nil {
		t.Fatal(err)
	}
	f := openFolder(t, root, plan, FolderOptions{})
	e := engineOf(t, 2)
	last := func(f *Dataset, order []int64) (batches int, last error) {
		for _, err := range e.Batches(context.Background(), f, order, 2) {
			if last = err; err == nil {
				batches++
			}
		}
		return batches, last
	}
	batches, err := last(f, Sequential(6))
	var told *Error
	if batches != 2 || !errors.As(err, &told) || !errors.Is(err, ErrUnsupported) || told.Path != bad {
		t.Errorf("%d batches, then %v", batches, err)
	}
	if batches, err := last(f, []int64{0, 5, 1, 6}); batches != 1 || !errors.Is(err, ErrIndex) {
		t.Errorf("%d batches, then %v", batches, err)
	}
	drawing := openFolder(t, root, trainPlan, FolderOptions{})
	if _, err := last(drawing, []int64{4}); !errors.As(err, &told) || told.Path != bad {
		t.Errorf("the size of a file that is no picture: %v", err)
	}
	if _, err := last(drawing, []int64{6}); !errors.Is(err, ErrIndex) {
		t.Errorf("index 6: %v", err)
	}
	plan.Output.Height = 0
	if _, err := OpenFolder(context.Background(), root, plan, FolderOptions{}); !errors.Is(err, ErrConfig) {
		t.Errorf("a plan of pictures: %v", err)
	}
	if _, err := OpenFolder(context.Background(), root+"/none", trainPlan, FolderOptions{}); !errors.Is(err, ErrNotFound) {
		t.Errorf("no folder: %v", err)
	}
}
