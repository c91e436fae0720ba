//go:build cgo

package resample

/*
#cgo CFLAGS: -O3 -std=c11 -Wall -Wextra -Wno-psabi
#cgo LDFLAGS: -lm
#include "resample.h"

// The stream alone, as the fused unit uses it; rows need their slack. begin: only the tables.
static int32_t stream(gf_resize *r, const gf_resize_plan *plan, const uint8_t *data, int64_t stride, int begin) {
	const uint8_t *planes[3];
	int32_t rows = 0;
	if (gf_resize_begin(r, plan) || begin) return rows;
	for (int32_t y = r->y.lo; y < r->y.hi; y++) {
		gf_resize_push(r, data + y * stride + 4 * (int64_t)r->x.lo);
		while (gf_resize_pull(r, planes)) rows++;
	}
	return rows;
}
*/
import "C"

import (
	"image"
	"runtime"
	"unsafe"

	"github.com/gofast-org/gofast/gofast/internal/errs"
)

// Variant is a set of C kernels, in resample.h's order.
type Variant int32

// The variants.
const (
	Best Variant = iota
	Plain
	AVX2
	AVX512
)

// BestVariant is what Best means on this processor.
func BestVariant() Variant { return Variant(C.gf_resize_best()) }

// Resizer keeps the C state from one picture to the next. One goroutine at a time may use it; Close releases it.
type Resizer struct{ c C.gf_resize }

// NewResizer makes one that uses v, or the next best that the processor can do.
func NewResizer(v Variant) *Resizer {
	return &Resizer{C.gf_resize{variant: C.int32_t(v)}}
}

// Close releases the C state.
func (r *Resizer) Close() {
	C.gf_resize_free(&r.c)
}

// Resize is the function Resize.
func (r *Resizer) Resize(src *image.RGBA, plan Plan) ([]byte, error) {
	plan, err := plan.complete(src)
	if err != nil {
		return nil, err
	}
	out := make([]byte, 4*plan.Window.Dx()*plan.Window.Dy())
	c := plan.c()
	var pinner runtime.Pinner
	defer pinner.Unpin()
	data := &src.Pix[src.PixOffset(plan.Crop.Min.X, plan.Crop.Min.Y)]
	pinner.Pin(data)
	source := C.gf_picture{data: (*C.uint8_t)(data), stride: C.int64_t(src.Stride), width: c.in_width, height: c.in_height}
	switch C.gf_resize_picture(&r.c, &c, &source, (*C.uint8_t)(&out[0])) {
	case 0:
		return out, nil
	case C.GF_FAULT_UNSUPPORTED:
		return nil, tooLarge()
	default:
		return nil, errs.New(errs.ErrLimit, "resample", "there is no memory for the tables and rows of a picture")
	}
}

// makeAxis is MakeAxis in C, for tests. It also returns the magnitude of the largest tap.
func makeAxis(s AxisSpec, v Variant) (Axis, int) {
	flip := C.int32_t(0)
	if s.Flip {
		flip = 1
	}
	spec := C.gf_axis_spec{in0: C.float(s.In0), in1: C.float(s.In1), in_size: C.int32_t(s.InSize), out_size: C.int32_t(s.OutSize),
		from: C.int32_t(s.From), to: C.int32_t(s.To), filter: C.int32_t(s.Filter), flip: flip, variant: C.int32_t(v)}
	var c C.gf_axis
	defer C.gf_axis_free(&c)
	if C.gf_axis_build(&c, &spec) != 0 {
		return Axis{}, 0
	}
	a := Axis{Lo: int(c.lo), Hi: int(c.hi)}
	firsts, lengths := unsafe.Slice((*int32)(c.first), c.count), unsafe.Slice((*int32)(c.length), c.count)
	taps := unsafe.Slice((*int32)(c.taps), (int(c.count)+7)/8*8*int(c.stride))
	for i := range firsts {
		block := taps[i/8*8*int(c.stride)+i%8:]
		a.First = append(a.First, int(firsts[i]))
		a.Taps = append(a.Taps, nil)
		for t := range lengths[i] {
			a.Taps[i] = append(a.Taps[i], block[8*t])
		}
	}
	return a, int(c.largest)
}

// stream runs a complete plan without keeping the result, or makes its tables only, and returns the rows that came out;
// for benchmarks.
func (r *Resizer) stream(src *image.RGBA, plan Plan, tables bool) int {
	c, begin := plan.c(), C.int(0)
	if tables {
		begin = 1
	}
	data := (*C.uint8_t)(&src.Pix[src.PixOffset(plan.Crop.Min.X, plan.Crop.Min.Y)])
	return int(C.stream(&r.c, &c, data, C.int64_t(src.Stride), begin))
}

// c is the plan, which is complete, for C.
func (p Plan) c() C.gf_resize_plan {
	flip := C.int32_t(0)
	if p.Flip {
		flip = 1
	}
	return C.gf_resize_plan{
		in_width: C.int32_t(p.Crop.Dx()), in_height: C.int32_t(p.Crop.Dy()),
		out_width: C.int32_t(p.Width), out_height: C.int32_t(p.Height),
		window: C.gf_box{x: C.int32_t(p.Window.Min.X), y: C.int32_t(p.Window.Min.Y),
			width: C.int32_t(p.Window.Dx()), height: C.int32_t(p.Window.Dy())},
		filter: C.int32_t(p.Filter), order: C.int32_t(p.Order), flip: flip,
	}
}
