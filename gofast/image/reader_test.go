package image

import (
	"errors"
	"runtime"
	"slices"
	"testing"
	"unsafe"

	"github.com/gofast-org/gofast/gofast/engine"
	"github.com/gofast-org/gofast/gofast/image/steps"
	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/internal/fault"
)

// Samples in memory are read where they lie, and as far as they reach.
func TestMemoryReader(t *testing.T) {
	var samples [][]byte
	for _, sample := range []string{"P5 2 1 255\nab", "", "P5 3 1", "not a picture", "P6 4 5 255\n" + string(make([]byte, 60))} {
		samples = append(samples, []byte(sample))
	}
	files, held := inMemory(samples...)
	defer runtime.KeepAlive(held)
	limited := options
	limited.MaxFileBytes = 70
	p, err := NewProgram(Plan{}, files, limited)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Free()
	_, faults := made(t, p, len(samples), nil)
	if len(faults) != 4 || slices.ContainsFunc(faults, func(f engine.Fault) bool { return f.Position == 0 || f.Code != fault.Unsupported }) {
		t.Errorf("faults %v", faults)
	}
	view, err := engine.NewView(p.Address(), files.Count, p.Sample())
	if err != nil {
		t.Fatal(err)
	}
	defer view.Free()
	asking, err := SizesView(view)
	if err != nil {
		t.Fatal(err)
	}
	defer asking.Free()
	sizes := make([]steps.Size, len(samples))
	asking.Fill([]int64{0, 1, 2, 3, 4}, 0, 5, uintptr(unsafe.Pointer(unsafe.SliceData(sizes))), 0)
	none := steps.Size{Width: -1, Height: -1}
	if want := []steps.Size{{Width: 2, Height: 1}, none, none, none, none}; !slices.Equal(sizes, want) {
		t.Errorf("sizes %v", sizes)
	}
	files.Memory = nil
	if _, err := NewProgram(Plan{}, files, limited); !errors.Is(err, errs.ErrConfig) {
		t.Errorf("without a reader: %v", err)
	}
}
