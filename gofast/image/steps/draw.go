package steps

/*
#cgo CFLAGS: -O3 -std=c11 -Wall -Wextra
#cgo LDFLAGS: -lm
#include "draw.h"

static int32_t call_draw(const gf_steps *steps, int32_t flags, void *state, uint32_t *python, const void *sizes, int64_t n, int32_t *records,
                         const float *x, const float *value, int64_t answers, gf_draw_result *result) {
    gf_draw_answers given = {x, value, answers};
    return gf_draw(steps, flags, state, python, sizes, n, records, &given, result);
}
*/
import "C"

import "unsafe"

// Size is that of a decoded picture.
type Size struct{ Width, Height int32 }

// Sample names a picture to the stateless planner: its place in the dataset,
// and how often that came before in the batch.
type Sample struct {
	Index      int64
	Occurrence int32
	Size       Size
}

// Answer is what torch.exp gave for an X that was asked.
type Answer struct{ X, Value float32 }

// Code is how a call ended.
type Code int32

// The codes; see draw.h.
const (
	OK      Code = C.GF_DRAW_OK
	Ask     Code = C.GF_DRAW_ASK     // answer Result.Ask, and call again from sample Result.Done
	Raises  Code = C.GF_DRAW_RAISES  // torchvision raises ValueError(Result.Text) for sample Result.Done
	Invalid Code = C.GF_DRAW_INVALID // the state is not one; nothing was drawn
)

// Result says how far a call went.
type Result struct {
	Done int64 // samples whose records are written
	Ask  float32
	Step int32 // the one in trouble
	Text string
}

// PythonWords is the length of a state of Python's random: 624 words, and the place of the next.
const PythonWords = C.GF_PYTHON_WORDS

// Generators are what is drawn from, and advanced in place: torch's state image, and
// a state of Python's random, nil where no step draws from that.
type Generators struct {
	Torch  *[StateBytes]byte
	Python *[PythonWords]uint32
}

// StateBytes is the size of torch's state of a CPU generator.
const StateBytes = C.GF_DRAW_STATE_BYTES

// maxFactor bounds a color jitter's.
const maxFactor = C.GF_MOST_FACTOR

// Draw draws from generators. records has Words for each of sizes. fused is what
// IsFused says.
func (l List) Draw(fused bool, from Generators, sizes []Size, records []int32, answers []Answer) (Code, Result) {
	if len(records) != len(sizes)*l.Words() {
		return Invalid, Result{Text: "records are not as many as sizes"}
	}
	if native {
		return drawC(l, fused, from, sizes, records, answers)
	}
	return drawTwin(l, fused, from, sizes, records, answers)
}

// Stateless draws every sample from a stream of its own.
func (l List) Stateless(seed, epoch uint64, samples []Sample, records []int32) (Code, Result) {
	if len(records) != len(samples)*l.Words() {
		return Invalid, Result{Text: "records are not as many as samples"}
	}
	if native {
		return statelessC(l, seed, epoch, samples, records)
	}
	return statelessTwin(l, seed, epoch, samples, records)
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

func drawC(l List, fused bool, from Generators, sizes []Size, records []int32, answers []Answer) (Code, Result) {
	flags := C.int32_t(0)
	if fused {
		flags = C.GF_DRAW_FUSED
	}
	x, value := make([]float32, len(answers)), make([]float32, len(answers))
	for i, a := range answers {
		x[i], value[i] = a.X, a.Value
	}
	var r C.gf_draw_result
	code := C.call_draw(l.c, flags, unsafe.Pointer(from.Torch), (*C.uint32_t)(unsafe.Pointer(from.Python)), unsafe.Pointer(unsafe.SliceData(sizes)), C.int64_t(len(sizes)),
		(*C.int32_t)(unsafe.SliceData(records)), (*C.float)(unsafe.SliceData(x)), (*C.float)(unsafe.SliceData(value)),
		C.int64_t(len(answers)), &r)
	return Code(code), result(&r)
}

func statelessC(l List, seed, epoch uint64, samples []Sample, records []int32) (Code, Result) {
	indices, occurrences := make([]int64, len(samples)), make([]int32, len(samples))
	sizes := make([]Size, len(samples))
	for i, s := range samples {
		indices[i], occurrences[i], sizes[i] = s.Index, s.Occurrence, s.Size
	}
	var r C.gf_draw_result
	code := C.gf_draw_stateless(l.c, C.uint64_t(seed), C.uint64_t(epoch),
		(*C.int64_t)(unsafe.SliceData(indices)), (*C.int32_t)(unsafe.SliceData(occurrences)),
		(*C.gf_size)(unsafe.Pointer(unsafe.SliceData(sizes))), C.int64_t(len(samples)),
		(*C.int32_t)(unsafe.SliceData(records)), &r)
	return Code(code), result(&r)
}

func result(r *C.gf_draw_result) Result {
	return Result{Done: int64(r.done), Ask: float32(r.ask), Step: int32(r.step), Text: C.GoString(&r.text[0])}
}
