package image

import (
	"errors"
	"runtime"
	"testing"
	"unsafe"

	"github.com/gofast-org/gofast/gofast/image/steps"
	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/source/reader"
)

// Samples in memory are read where they lie, and as far as they reach.
func TestMemoryReader(t *testing.T) {
	samples := []string{"P5 2 1 255\nab", "", "P5 3 1", "not a picture", "P6 4 5 255\n" + string(make([]byte, 60))}
	starts, lengths, sizes := make([]uintptr, len(samples)), make([]uint64, len(samples)), make([]steps.Size, len(samples))
	for i, sample := range samples {
		starts[i], lengths[i] = uintptr(unsafe.Pointer(unsafe.StringData(sample))), uint64(len(sample))
	}
	at := func(p unsafe.Pointer) uintptr { return uintptr(p) }
	files := Files{Count: int64(len(samples)), Sizes: at(unsafe.Pointer(&sizes[0]))}
	files.Memory = &reader.Memory{Starts: at(unsafe.Pointer(&starts[0])), Lengths: at(unsafe.Pointer(&lengths[0]))}
	limited := options
	limited.MaxFileBytes = 70
	p, err := NewProgram(Plan{}, files, limited)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Free()
	for i, want := range []steps.Size{{Width: 2, Height: 1}, {}, {}, {}, {}} {
		size, err := p.Size(int64(i))
		if size != want || (err == nil) != (i == 0) || err != nil && !errors.Is(err, errs.ErrUnsupported) {
			t.Errorf("sample %d: %v, %v", i, size, err)
		}
	}
	files.Memory = nil
	if _, err := NewProgram(Plan{}, files, limited); !errors.Is(err, errs.ErrConfig) {
		t.Errorf("without a reader: %v", err)
	}
	runtime.KeepAlive([]any{samples, starts, lengths, sizes})
}
