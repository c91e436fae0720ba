package image

/*
#include "image.h"

enum { ANY_SIDE = GF_ANY_SIDE };
static const gf_image_program *program_at(uintptr_t address) { return (const gf_image_program *)address; }

static int32_t draw(uintptr_t at, uintptr_t crew, int most, const int64_t *indices, int64_t n, gf_size *sizes, int32_t *records,
                    gf_draw_result *result) {
	gf_image_draws draws = {.indices = indices, .n = n, .sizes = sizes, .records = records};
	int32_t code = gf_image_draw((const gf_view *)at, (struct gf_crew *)crew, most, &draws, NULL);
	*result = draws.result;
	return code;
}
*/
import "C"

import (
	"fmt"
	"slices"
	"unsafe"

	"github.com/gofast-org/gofast/gofast/engine"
	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/internal/fault"
)

// Draw makes the records of a batch, each from a stream of its own: it depends on the
// program's seed and epoch, on the sample's number there, and on how many times that
// came before in the batch. The engine's threads read the headers that are needed.
// Where one cannot be read, that is an error, unless anyway is set: then something is
// drawn, and nothing will be made of the picture.
func Draw(e *engine.Engine, view engine.View, indices []int64, anyway bool) ([]byte, error) {
	if view.RecordBytes() == 0 {
		return nil, nil
	}
	records, sizes := make([]int32, view.RecordBytes()/4*int64(len(indices))), make([]C.gf_size, len(indices))
	var result C.gf_draw_result
	draw := func() C.int32_t {
		return C.draw(C.uintptr_t(view.Address()), C.uintptr_t(e.Address()), C.int(e.ThreadCount()),
			(*C.int64_t)(unsafe.SliceData(indices)), C.int64_t(len(indices)), unsafe.SliceData(sizes),
			(*C.int32_t)(unsafe.SliceData(records)), &result)
	}
	code := draw()
	if code == C.GF_DRAW_UNKNOWN_SIZES && anyway {
		for i := range sizes {
			if sizes[i].width < 0 {
				sizes[i] = C.gf_size{C.ANY_SIDE, C.ANY_SIDE}
			}
		}
		code = draw()
	}
	switch code {
	case C.GF_DRAW_OK:
		return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(records))), 4*len(records)), nil
	case C.GF_DRAW_NO_INDEX:
		return nil, errs.New(errs.ErrIndex, "batches", fmt.Sprintf("there are %d samples", view.Length())).AtIndex(indices[result.done])
	case C.GF_DRAW_UNKNOWN_SIZES:
		first := slices.IndexFunc(sizes, func(s C.gf_size) bool { return s.width < 0 })
		return nil, unknownSize(view, view.FromStart(indices[first]))
	case C.GF_DRAW_NO_SIZES:
		return nil, errs.New(errs.ErrLimit, "image", "no memory for the sizes of a batch")
	default:
		return nil, errs.New(errs.ErrValue, "image", C.GoString(&result.text[0])).AtIndex(view.FromStart(indices[result.done]))
	}
}

// unknownSize is the error of a picture whose header cannot be read.
func unknownSize(view engine.View, index int64) error {
	part, sample, _ := view.Find(index)
	var size C.gf_size
	var f C.gf_fault
	if C.gf_image_size(C.program_at(C.uintptr_t(view.Program(part))), C.int64_t(sample), &size, &f) == 0 {
		return fault.Error(fault.Changed, "image", -1, "the header can be read now, and could not a moment ago").AtIndex(index)
	}
	return fault.Error(fault.Code(f.code), "image", int64(f.offset), C.GoString(&f.text[0])).AtIndex(index)
}
