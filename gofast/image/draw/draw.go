package draw

/*
#cgo CFLAGS: -O3 -std=c11 -Wall -Wextra
#cgo LDFLAGS: -lm
#include "draw.h"

static int32_t call_draw(const void *steps, int32_t n_steps, int32_t flags, void *state, const void *sizes, int64_t n,
                         int32_t record_words, int32_t *records, const float *x, const float *value, int64_t answers,
                         gf_draw_result *result) {
    gf_draw_answers given = {x, value, answers};
    return gf_draw(steps, n_steps, flags, state, sizes, n, record_words, records, &given, result);
}
static gf_draw_size call_resized(const void *step, int32_t width, int32_t height) {
    return gf_draw_resized(step, (gf_draw_size){width, height});
}
*/
import "C"

import "unsafe"

// Check says what is wrong with steps that write records of recordWords words.
func Check(steps []Step, recordWords int) (Code, Result) {
	if !native {
		return checkTwin(steps, recordWords)
	}
	var r C.gf_draw_result
	code := C.gf_draw_check(first(steps), C.int32_t(len(steps)), C.int32_t(recordWords), &r)
	return Code(code), result(&r)
}

// Draw draws from torch's generator, whose state it advances in place. records
// has len(sizes) * recordWords words. fused is what IsFused says.
func Draw(steps []Step, fused bool, state *[StateBytes]byte, sizes []Size, recordWords int, records []int32,
	answers []Answer) (Code, Result) {
	if len(records) != len(sizes)*recordWords {
		return Invalid, Result{Text: "records are not as many as sizes"}
	}
	if native {
		return drawC(steps, fused, state, sizes, recordWords, records, answers)
	}
	return drawTwin(steps, fused, state, sizes, recordWords, records, answers)
}

// Stateless draws every sample from a stream of its own.
func Stateless(steps []Step, seed, epoch uint64, samples []Sample, recordWords int, records []int32) (Code, Result) {
	if len(records) != len(samples)*recordWords {
		return Invalid, Result{Text: "records are not as many as samples"}
	}
	if native {
		return statelessC(steps, seed, epoch, samples, recordWords, records)
	}
	return statelessTwin(steps, seed, epoch, samples, recordWords, records)
}

// Seed is the state that torch.manual_seed(seed) leaves.
func Seed(seed uint64) *[StateBytes]byte {
	state := new([StateBytes]byte)
	if native {
		C.gf_draw_seed((*C.uint8_t)(&state[0]), C.uint64_t(seed))
	} else {
		seedTwin(state, seed)
	}
	return state
}

// IsFused says from one value that torch drew whether its uniform_ rounds once,
// or that this is not a torch whose draws are known; see draw.h for the value.
func IsFused(value float32) (fused, known bool) {
	told := C.gf_draw_is_fused(C.float(value))
	return told == C.GF_DRAW_FUSED, told >= 0
}

// Resized is the size after a Resize step.
func Resized(step *Step, size Size) Size {
	if !native {
		return resizedTwin(step, size)
	}
	c := C.call_resized(unsafe.Pointer(step), C.int32_t(size.Width), C.int32_t(size.Height))
	return Size{int32(c.width), int32(c.height)}
}

func drawC(steps []Step, fused bool, state *[StateBytes]byte, sizes []Size, recordWords int, records []int32,
	answers []Answer) (Code, Result) {
	flags := C.int32_t(0)
	if fused {
		flags = C.GF_DRAW_FUSED
	}
	x, value := make([]float32, len(answers)), make([]float32, len(answers))
	for i, a := range answers {
		x[i], value[i] = a.X, a.Value
	}
	var r C.gf_draw_result
	code := C.call_draw(unsafe.Pointer(unsafe.SliceData(steps)), C.int32_t(len(steps)), flags, unsafe.Pointer(state),
		unsafe.Pointer(unsafe.SliceData(sizes)), C.int64_t(len(sizes)), C.int32_t(recordWords),
		(*C.int32_t)(unsafe.SliceData(records)), (*C.float)(unsafe.SliceData(x)), (*C.float)(unsafe.SliceData(value)),
		C.int64_t(len(answers)), &r)
	return Code(code), result(&r)
}

func statelessC(steps []Step, seed, epoch uint64, samples []Sample, recordWords int, records []int32) (Code, Result) {
	indices, occurrences := make([]int64, len(samples)), make([]int32, len(samples))
	sizes := make([]Size, len(samples))
	for i, s := range samples {
		indices[i], occurrences[i], sizes[i] = s.Index, s.Occurrence, s.Size
	}
	var r C.gf_draw_result
	code := C.gf_draw_stateless(first(steps), C.int32_t(len(steps)), C.uint64_t(seed), C.uint64_t(epoch),
		(*C.int64_t)(unsafe.SliceData(indices)), (*C.int32_t)(unsafe.SliceData(occurrences)),
		(*C.gf_draw_size)(unsafe.Pointer(unsafe.SliceData(sizes))), C.int64_t(len(samples)), C.int32_t(recordWords),
		(*C.int32_t)(unsafe.SliceData(records)), &r)
	return Code(code), result(&r)
}

func first(steps []Step) *C.gf_draw_step {
	return (*C.gf_draw_step)(unsafe.Pointer(unsafe.SliceData(steps)))
}

func result(r *C.gf_draw_result) Result {
	return Result{Done: int64(r.done), Ask: float32(r.ask), Step: int32(r.step), Text: C.GoString(&r.text[0])}
}
