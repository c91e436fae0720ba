package image

import (
	"context"
	"errors"
	"fmt"
	stdimage "image"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"
	"unsafe"

	"github.com/gofast-org/gofast/gofast/engine"
	"github.com/gofast-org/gofast/gofast/image/steps/stepstest"
	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/internal/fault"
	"github.com/gofast-org/gofast/gofast/numbers"
	"github.com/gofast-org/gofast/gofast/source"
	"github.com/gofast-org/gofast/gofast/source/reader"
)

// inMemory are files that lie in memory. Whoever uses them keeps held alive.
func inMemory(samples ...[]byte) (files Files, held []any) {
	starts, lengths, facts := make([]uintptr, len(samples)), make([]uint64, len(samples)), make([]source.Facts, len(samples))
	for i, sample := range samples {
		starts[i], lengths[i] = uintptr(unsafe.Pointer(unsafe.SliceData(sample))), uint64(len(sample))
	}
	at := func(p unsafe.Pointer) uintptr { return uintptr(p) }
	files = Files{Count: int64(len(samples)), Facts: at(unsafe.Pointer(unsafe.SliceData(facts)))}
	files.Memory = &reader.Memory{Starts: at(unsafe.Pointer(unsafe.SliceData(starts))), Lengths: at(unsafe.Pointer(unsafe.SliceData(lengths)))}
	return files, []any{samples, starts, lengths, facts}
}

// ppm is a picture as a file; its alpha is lost.
func ppm(picture *stdimage.RGBA) []byte {
	size := picture.Rect.Size()
	file := fmt.Appendf(nil, "P6 %d %d 255\n", size.X, size.Y)
	for y := range size.Y {
		for x := range size.X {
			c := picture.RGBAAt(x, y)
			file = append(file, c.R, c.G, c.B)
		}
	}
	return file
}

var oneEngine = sync.OnceValue(func() *engine.Engine { return engine.New(1) })

// made are the bytes of a program's first samples, for which records were drawn, and what went wrong.
func made(t testing.TB, p Program, count int, records []byte) ([]byte, []engine.Fault) {
	t.Helper()
	view, err := engine.NewView(p.Address(), int64(count), p.Sample())
	if err != nil {
		t.Fatal(err)
	}
	defer view.Free()
	ring, err := engine.NewRing(max(view.RowBytes()*int64(count), 1), 1)
	if err != nil {
		t.Fatal(err)
	}
	defer ring.Drop()
	slot, _ := ring.Acquire()
	slot.Describe(int64(count), nil, 0, 0)
	defer slot.Release()
	indices := make([]int64, count)
	for i := range indices {
		indices[i] = int64(i)
	}
	ticket, err := oneEngine().Submit(engine.Request{View: view, Indices: indices, Records: records, BatchRows: count, Slots: []engine.Slot{slot}})
	if err != nil {
		t.Fatal(err)
	}
	defer ticket.Release()
	if err := ticket.Wait(context.Background()); err != nil {
		t.Fatal(err)
	}
	return append([]byte(nil), slot.Bytes(view.RowBytes()*int64(count))...), slot.Faults()
}

// sampleOf is what a plan makes of a picture for which record was drawn.
func sampleOf(t testing.TB, plan Plan, picture *stdimage.RGBA, record []int32) ([]byte, error) {
	t.Helper()
	files, held := inMemory(ppm(picture))
	defer runtime.KeepAlive(held)
	p, err := NewProgram(plan, files, options)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Free()
	if len(record) > 0 {
		record = append(slices.Clone(record), 0, 0) // for a picture of any size
	}
	sample, faults := made(t, p, 1, unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(record))), 4*len(record)))
	for _, f := range faults {
		return nil, fault.Error(f.Code, "image", f.Offset, f.Text)
	}
	return sample, nil
}

// drawn is a record for a picture; false where a step refuses its size.
func drawn(p Program, seed uint64, picture *stdimage.RGBA) ([]int32, bool) {
	record := make([]int32, p.steps().Words())
	code, _ := stepstest.Stateless(p.steps(), seed, 0, []stepstest.Sample{{Size: sizeOf(picture)}}, record)
	return record, code == stepstest.OK
}

// A record that names no members, or one twice, is not followed.
func TestRecordsOfMembers(t *testing.T) {
	members := [][]Step{{{"op": "hflip", "p": 1}}, {}, {{"op": "vflip", "p": 1}}}
	picture := noise(rand.New(rand.NewPCG(1, 2)), 4, 4)
	plan := func(container Step) Plan {
		container["version"], container["members"] = "v2", members
		return Plan{Steps: []Step{container, {"op": "to_uint8"}}, Output: Output{DType: numbers.Uint8, Height: 4, Width: 4, Channels: 3}}
	}
	choice, order := plan(Step{"op": "random_choice", "numbers": []float64{1, 1, 1}}), plan(Step{"op": "random_order"})
	for _, good := range [][]int32{{0, 1, 1}, {1, 1, 1}, {2, 1, 1}} {
		if _, err := sampleOf(t, choice, picture, good); err != nil {
			t.Errorf("a choice of %v: %v", good, err)
		}
	}
	for _, bad := range [][]int32{{-1, 1, 1}, {3, 1, 1}, {math.MaxInt32, 1, 1}} {
		if _, err := sampleOf(t, choice, picture, bad); !errors.Is(err, errs.ErrChanged) {
			t.Errorf("a choice of %v: %v", bad, err)
		}
	}
	if _, err := sampleOf(t, order, picture, []int32{2, 0, 1, 1, 1}); err != nil {
		t.Error(err)
	}
	for _, bad := range [][]int32{{0, 1, 1, 1, 1}, {0, 1, 3, 1, 1}, {0, 0, 0, 1, 1}, {0, 1, math.MinInt32, 1, 1}} {
		if _, err := sampleOf(t, order, picture, bad); !errors.Is(err, errs.ErrChanged) {
			t.Errorf("an order of %v: %v", bad, err)
		}
	}
}
