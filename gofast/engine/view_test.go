package engine

import (
	"errors"
	"testing"
	"unsafe"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/numbers"
)

var onHeap *int64

// Views end to end, seen through a map; views of other samples, and views with a map of their own, are refused.
func TestJoin(t *testing.T) {
	sample := Sample{Type: numbers.Float32, Shape: []int{2}, LabelBytes: 8}
	view := func(program uintptr, count int64, sample Sample) View {
		v, err := NewView(program, count, sample)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(v.Free)
		return v
	}
	a, b := view(16, 3, sample), view(32, 2, sample)
	joined, err := Join([]View{a, b, a}, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer joined.Free()
	for index, want := range map[int64][2]int64{0: {16, 0}, 2: {16, 2}, 3: {32, 0}, 4: {32, 1}, -1: {16, 2}, -8: {16, 0}} {
		part, at, ok := joined.Find(index)
		if !ok || joined.Program(part) != uintptr(want[0]) || at != want[1] {
			t.Errorf("index %d is sample %d of part %d", index, at, part)
		}
	}
	if _, _, ok := joined.Find(8); ok || joined.Length() != 8 {
		t.Errorf("%d samples", joined.Length())
	}
	other := sample
	other.LabelBytes = 0
	positions := new(int64)
	onHeap = positions
	mapped, err := Join([]View{a}, uintptr(unsafe.Pointer(positions)), 1)
	if err != nil {
		t.Fatal(err)
	}
	defer mapped.Free()
	for name, views := range map[string][]View{"other labels": {a, view(48, 1, other)}, "mapped": {mapped}, "none": nil} {
		if _, err := Join(views, 0, 0); !errors.Is(err, errs.ErrConfig) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
