package engine

/*
#include <stdlib.h>
#include <string.h>
#include "../internal/meter/meter.h"
#include "view.h"

static int64_t call_fill(const gf_view *v, const int64_t *i, int64_t from, int64_t to, uint8_t *x, uint8_t *y) {
	gf_fault_list faults = {NULL};
	gf_batch batch = {i, NULL, x, y, &faults};
	int64_t bad = v->fill(v, &batch, from, to);
	gf_fault_clear(&faults);
	return bad;
}
static _Bool alike(const gf_view *a, const gf_view *b) {
	return !a->map && !b->map && a->fill == b->fill && a->x_bytes == b->x_bytes && a->y_bytes == b->y_bytes &&
	       a->record_bytes == b->record_bytes && a->dtype_code == b->dtype_code && a->dtype_bits == b->dtype_bits &&
	       a->ndim == b->ndim && !memcmp(a->shape, b->shape, (size_t)a->ndim * sizeof *a->shape);
}
static void *as_pointer(uintptr_t address) { return (void *)address; }
static gf_part *part_at(gf_view *view, int i) { return &view->parts[i]; }
static void set_meter(gf_view *view) { view->meter = gf_meter_of_fill; }
static size_t view_size(int parts) { return sizeof(gf_view) + (size_t)parts * sizeof(gf_part); }
*/
import "C"

import (
	"fmt"
	"unsafe"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/internal/meter"
	"github.com/gofast-org/gofast/gofast/numbers"
)

// View is what a list of indexes points into, in C memory (view.h). Free it once,
// before what it points to.
type View struct{ c *C.gf_view }

// Sample is what a View makes for an index, and how: C functions, see view.h.
type Sample struct {
	Type        numbers.Type // of its values
	Shape       []int        // at most 8 dimensions
	LabelBytes  int64
	RecordBytes int64          // of its random draws
	Fill        unsafe.Pointer // a gf_fill_fn
	Hint        unsafe.Pointer // view->hint, or nil
	JobRows     int64          // view->job_rows
	Stage       meter.Stage    // what a fill counts as, unless it says more itself
}

// Bytes is the size of the sample's values.
func (s Sample) Bytes() int64 {
	n := int64(s.Type.Size())
	for _, d := range s.Shape {
		n *= int64(d)
	}
	return n
}

// NewView is a view of count samples of a program in C memory.
func NewView(program uintptr, count int64, sample Sample) (View, error) {
	if len(sample.Shape) > 8 {
		return View{}, errs.New(errs.ErrConfig, "view", fmt.Sprintf("shape %v has more than 8 dimensions", sample.Shape))
	}
	v, err := newView(1)
	if err != nil {
		return View{}, err
	}
	*C.part_at(v, 0) = C.gf_part{program: C.as_pointer(C.uintptr_t(program))}
	v.length = C.int64_t(count)
	v.x_bytes, v.y_bytes, v.record_bytes = C.int64_t(sample.Bytes()), C.int64_t(sample.LabelBytes), C.int64_t(sample.RecordBytes)
	v.fill, v.hint, v.job_rows = C.gf_fill_fn(sample.Fill), C.gf_hint_fn(sample.Hint), C.int64_t(sample.JobRows)
	v.stage = C.int32_t(sample.Stage)
	C.set_meter(v)
	code, bits := sample.Type.DLPack()
	v.dtype_code, v.dtype_bits, v.ndim = C.int32_t(code), C.int32_t(bits), C.int32_t(len(sample.Shape))
	for i, n := range sample.Shape {
		v.shape[i] = C.int64_t(n)
	}
	return View{v}, nil
}

// Join lays views end to end, as torch's ConcatDataset does. If there is an index map
// of length entries at address indexMap, positions go through it, as in torch's Subset.
// The views make samples alike and have no map of their own. It reads C memory only: a
// forked process may join views of its parent's.
func Join(views []View, indexMap uintptr, length int64) (View, error) {
	parts := 0
	for _, v := range views {
		if !C.alike(v.c, views[0].c) {
			return View{}, errs.New(errs.ErrConfig, "join", "the datasets make other samples")
		}
		parts += int(v.c.n_parts)
	}
	if parts == 0 {
		return View{}, errs.New(errs.ErrConfig, "join", "no datasets")
	}
	joined, err := newView(parts)
	if err != nil {
		return View{}, err
	}
	*joined = *views[0].c
	joined.n_parts, joined.length = 0, 0
	for _, v := range views {
		for i := range v.c.n_parts {
			part := *C.part_at(v.c, C.int(i))
			part.start += joined.length
			*C.part_at(joined, C.int(joined.n_parts)) = part
			joined.n_parts++
		}
		joined.length += v.c.length
	}
	if indexMap != 0 {
		joined.length, joined._map = C.int64_t(length), (*C.int64_t)(C.as_pointer(C.uintptr_t(indexMap)))
	}
	return View{joined}, nil
}

func newView(parts int) (*C.gf_view, error) {
	v := (*C.gf_view)(C.calloc(1, C.view_size(C.int(parts))))
	if v == nil {
		return nil, errs.New(errs.ErrLimit, "view", "no memory")
	}
	v.n_parts = C.int32_t(parts)
	return v, nil
}

// Free releases the view, not its programs.
func (v View) Free() { C.free(unsafe.Pointer(v.c)) }

// Address is the view's place in C memory.
func (v View) Address() uintptr { return uintptr(unsafe.Pointer(v.c)) }

// ViewAt is the inverse of Address.
func ViewAt(address uintptr) View { return View{(*C.gf_view)(C.as_pointer(C.uintptr_t(address)))} }

// Length is the number of positions.
func (v View) Length() int64 { return int64(v.c.length) }

// RowBytes is the size of one output sample.
func (v View) RowBytes() int64 { return int64(v.c.x_bytes) }

// LabelBytes is the size of one output label.
func (v View) LabelBytes() int64 { return int64(v.c.y_bytes) }

// RecordBytes is the size of one sample's random draws.
func (v View) RecordBytes() int64 { return int64(v.c.record_bytes) }

// Shape is that of one output sample.
func (v View) Shape() []int64 {
	shape := make([]int64, v.c.ndim)
	for i := range shape {
		shape[i] = int64(v.c.shape[i])
	}
	return shape
}

// Type is that of a sample's values.
func (v View) Type() numbers.Type {
	return numbers.OfDLPack(int32(v.c.dtype_code), int32(v.c.dtype_bits))
}

// FromStart is the same index, not counted from the end.
func (v View) FromStart(index int64) int64 {
	if index < 0 {
		index += v.Length()
	}
	return index
}

// Find is the sample of an index: the number of its part, and its own number there.
// A negative index counts from the end.
func (v View) Find(index int64) (part int, sample int64, ok bool) {
	index = v.FromStart(index)
	if index < 0 || index >= v.Length() {
		return 0, 0, false
	}
	if v.c._map != nil {
		index = unsafe.Slice((*int64)(v.c._map), v.Length())[index]
	}
	for part+1 < int(v.c.n_parts) && int64(C.part_at(v.c, C.int(part+1)).start) <= index {
		part++
	}
	return part, index - int64(C.part_at(v.c, C.int(part)).start), true
}

// Program is the address of a part's program.
func (v View) Program(part int) uintptr { return uintptr(C.part_at(v.c, C.int(part)).program) }

// Fill makes rows from..to-1 of a batch; x and y are the addresses of its row 0.
// It returns -1, or the position of the first bad index: it is out of range, or its
// label has no place in a one-hot vector. Faults of single samples are not told.
func (v View) Fill(indices []int64, from, to int, x, y uintptr) int64 {
	return int64(C.call_fill(v.c, (*C.int64_t)(unsafe.SliceData(indices)), C.int64_t(from), C.int64_t(to),
		(*C.uint8_t)(C.as_pointer(C.uintptr_t(x))), (*C.uint8_t)(C.as_pointer(C.uintptr_t(y)))))
}
