package image

import (
	"errors"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"unsafe"

	"github.com/gofast-org/gofast/gofast/engine"
	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/internal/fault"
	"github.com/gofast-org/gofast/gofast/source"
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
	draws, err := NewProgram(Plan{Steps: []Step{randomBox(rand.New(rand.NewPCG(1, 1)), Step{"op": "random_resized_crop", "size": []int{2, 2}, "filter": "box"})}}, files, limited)
	if err != nil {
		t.Fatal(err)
	}
	defer draws.Free()
	view, err := engine.NewView(draws.Address(), files.Count, draws.Sample())
	if err != nil {
		t.Fatal(err)
	}
	defer view.Free()
	for i := range samples {
		_, err := Draw(oneEngine(), view, []int64{int64(i)}, false)
		if (err == nil) != (i == 0) || err != nil && !errors.Is(err, errs.ErrUnsupported) {
			t.Errorf("the size of sample %d: %v", i, err)
		}
	}
	size := int64(len(samples[0])) // a range is within its object, or nothing is read
	for _, e := range []source.Extent{{Length: size + 1}, {Offset: 1, Length: size}, {Offset: size + 1, Length: -1}, {Offset: -1, Length: 2}, {Offset: 1 << 62, Length: 1 << 62}} {
		beyond := []source.Extent{e}
		files.Extents = uintptr(unsafe.Pointer(unsafe.SliceData(beyond)))
		p, err := NewProgram(Plan{}, files, limited)
		if err != nil {
			t.Fatal(err)
		}
		if _, faults := made(t, p, 1, nil); len(faults) != 1 || faults[0].Code != fault.Read {
			t.Errorf("%+v: faults %v", e, faults)
		}
		p.Free()
		runtime.KeepAlive(beyond)
	}
	files.Memory = nil
	if _, err := NewProgram(Plan{}, files, limited); !errors.Is(err, errs.ErrConfig) {
		t.Errorf("without a reader: %v", err)
	}
}
