package gofast

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	images "github.com/gofast-org/gofast/gofast/image"
)

// valPlan draws nothing.
var valPlan = images.Plan{
	Steps:  []images.Step{{"op": "resize", "size": []int{16, 16}, "filter": "bilinear"}, {"op": "to_float", "how": "divide"}},
	Output: trainPlan.Output,
}

// decoderOf is a decoder, and the files of a folder in their order, as paths and in memory.
func decoderOf(t *testing.T, e *Engine) (*Decoder, []string, [][]byte) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(pictureFolder(t, 12), "*", "*.png"))
	if err != nil {
		t.Fatal(err)
	}
	var files [][]byte
	for _, path := range paths {
		file, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	d, err := NewDecoder(e, trainPlan, DecoderOptions{Seed: 5})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	return d, paths, files
}

func decoded(t *testing.T, b *DecodedBatch, err error) []float32 {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	defer b.Release()
	values, err := b.Float32()
	if err != nil {
		t.Fatal(err)
	}
	return slices.Clone(values)
}

// Call k of a decoder makes what epoch k of a folder makes, and bytes what paths make.
func TestDecoderMakesWhatAFolderMakes(t *testing.T) {
	e, ctx := NewEngine(2), context.Background()
	defer e.Close()
	d, paths, files := decoderOf(t, e)
	folder, err := OpenFolder(ctx, filepath.Dir(filepath.Dir(paths[0])), trainPlan, FolderOptions{Seed: 5})
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	order := make([]int64, len(files))
	for i := range order {
		order[i] = int64(i)
	}
	for call := range uint64(4) {
		folder.SetEpoch(call)
		var want []float32
		for b, err := range e.Batches(ctx, folder, order, len(order)) {
			if err != nil {
				t.Fatal(err)
			}
			values, _ := b.Float32()
			want = slices.Clone(values)
		}
		var b *DecodedBatch
		if call%2 == 0 {
			b, err = d.Decode(ctx, files)
		} else {
			b, err = d.DecodePaths(ctx, paths)
		}
		if got := decoded(t, b, err); !slices.Equal(got, want) {
			t.Fatalf("call %d differs from epoch %d", call, call)
		}
	}
}

func TestDecoderNamesBadPictures(t *testing.T) {
	e, ctx := NewEngine(2), context.Background()
	defer e.Close()
	d, paths, files := decoderOf(t, e)
	bad := slices.Clone(files)
	bad[3] = bad[3][:len(bad[3])/2]
	bad[5] = nil
	_, err := d.Decode(ctx, bad)
	var said *Error
	if !errors.As(err, &said) || said.Index != 3 && said.Index != 5 {
		t.Errorf("a damaged picture: %v", err)
	}
	_, err = d.DecodePaths(ctx, append(slices.Clone(paths), "/none"))
	if !errors.As(err, &said) || said.Index != int64(len(paths)) || said.Path != "/none" {
		t.Errorf("a missing file: %v", err)
	}
	if _, err = d.Decode(ctx, nil); !errors.Is(err, ErrConfig) {
		t.Errorf("no picture: %v", err)
	}
	if _, err = NewDecoder(e, images.Plan{}, DecoderOptions{}); !errors.Is(err, ErrConfig) {
		t.Errorf("a plan without a tensor: %v", err)
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	if b, err := d.Decode(cancelled, files); err == nil {
		b.Release() // it may have been made all the same
	}
	b, err := d.Decode(ctx, files)
	decoded(t, b, err) // what went wrong before leaves nothing behind
}

// Batches that are held, and goroutines that share a decoder, leave each other alone.
func TestDecoderIsShared(t *testing.T) {
	e, ctx := NewEngine(3), context.Background()
	defer e.Close()
	_, _, files := decoderOf(t, e)
	d, err := NewDecoder(e, valPlan, DecoderOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	first, err := d.Decode(ctx, files)
	want := decoded(t, first, err)
	row := len(want) / len(files)
	var group sync.WaitGroup
	for g := range 4 {
		group.Go(func() {
			var held []*DecodedBatch
			for n := 1 + g; n <= len(files); n += 2 {
				b, err := d.Decode(ctx, files[:n])
				if err != nil {
					t.Error(err)
					return
				}
				held = append(held, b)
			}
			for _, b := range held {
				if values, _ := b.Float32(); !slices.Equal(values, want[:row*b.Rows]) {
					t.Errorf("%d pictures differ", b.Rows)
				}
				b.Release()
			}
		})
	}
	group.Wait()
}
