package gofast

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"testing"
	"unsafe"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/numbers"
	"github.com/gofast-org/gofast/gofast/table"
	"github.com/gofast-org/gofast/gofast/table/gather"
)

var onHeap []any

// A table in the caller's memory: the zero transform converts whole rows, and a shape that does not fit is refused.
func TestRows(t *testing.T) {
	features, labels := []uint8{1, 2, 3, 4, 5, 6}, []int64{7, 8}
	onHeap = []any{features, labels} // a stack moves
	stored := gather.Stored{Features: uintptr(unsafe.Pointer(&features[0])), Labels: uintptr(unsafe.Pointer(&labels[0])), Rows: 2, Width: 3,
		Type: table.Uint8, LabelFloat: []bool{false}}
	d, err := newRows(stored, gather.Transform{Label: gather.LabelInt64})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if !slices.Equal(d.Shape, []int{3}) || d.DType != numbers.Float32 || d.LabelDType != numbers.Int64 || d.Len() != 2 {
		t.Errorf("%d of %v %s, labels %s", d.Len(), d.Shape, d.DType, d.LabelDType)
	}
	e := engineOf(t, 1)
	for b, err := range e.Batches(context.Background(), d, []int64{1, 0}, 2) {
		if err != nil {
			t.Fatal(err)
		}
		x, errX := b.Float32()
		y, errY := b.Int64Labels()
		if errX != nil || errY != nil || !slices.Equal(x, []float32{4, 5, 6, 1, 2, 3}) || !slices.Equal(y, []int64{8, 7}) {
			t.Errorf("features %v %v, labels %v %v", x, errX, y, errY)
		}
	}
	for name, wrong := range map[string]gather.Transform{
		"a shape of another size": {Shape: []int{2}},
		"a shape below 0":         {Shape: []int{-3, -1}},
		"a shape without end":     {Shape: []int{1 << 62, 4, 3}},
		"no dtype":                {DType: 99},
		"no label mode":           {Label: -1},
		"classes without end":     {Label: gather.LabelOneHot, Classes: 1 << 62},
	} {
		if _, err := newRows(stored, wrong); !errors.Is(err, errs.ErrConfig) {
			t.Errorf("%s: %v", name, err)
		}
	}
	stored.Shape = []int{1}
	if _, err := newRows(stored, gather.Transform{}); !errors.Is(err, errs.ErrConfig) {
		t.Errorf("a file's shape of another size: %v", err)
	}
	runtime.KeepAlive(onHeap)
}
