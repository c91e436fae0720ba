// Package stepstest draws for tests as the library's C code does, from any state and for any sizes.
package stepstest

/*
#cgo CFLAGS: -O3 -std=c11 -Wall -Wextra
#cgo LDFLAGS: -lm
#include "../words.h"

static int32_t call_draw(const void *steps, int32_t flags, void *state, uint32_t *python, const void *sizes, int64_t n, int32_t *records,
                         const float *x, const float *value, int64_t answers, gf_draw_result *result) {
    gf_draw_answers given = {x, value, answers};
    return gf_draw(steps, flags, state, python, sizes, n, records, &given, result);
}

static void philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]) {
    gf_words w;
    gf_philox_epoch(&w, 0, 0);
    gf_philox_sample(&w, 0, 0);
    memcpy(w.counter, counter, sizeof w.counter);
    memcpy(w.key, key, sizeof w.key);
    w.refill(&w);
    memcpy(out, w.out, 4 * sizeof *out);
}

static float fused(float x, float y, float z) { return gf_fused(x, y, z); }

static float first_uniform(const uint8_t *state, int32_t is_fused) {
    gf_words w;
    gf_mt_load(&w, state);
    w.fused = is_fused;
    return gf_uniform(&w, 0.08f, 1);
}
*/
import "C"

import (
	"encoding/binary"
	"fmt"
	"unsafe"

	"github.com/gofast-org/gofast/gofast/image/steps"
)

// Size is that of a decoded picture: width and height.
type Size [2]int32

// Sample names a picture to the stateless planner: its place in the dataset,
// and how often that came before in the batch.
type Sample struct {
	Index      int64
	Occurrence int32
	Size       Size
}

// Answer is what was asked, and what torch.exp gave for it.
type Answer [2]float32

// Code is how a call ended.
type Code int32

// The codes of draw.h.
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

// Draw draws from generators. records has the steps' own words for each of sizes.
func Draw(l steps.List, fused bool, from Generators, sizes []Size, records []int32, answers []Answer) (Code, Result) {
	flags := C.int32_t(0)
	if fused {
		flags = C.GF_DRAW_FUSED
	}
	x, value := make([]float32, len(answers)), make([]float32, len(answers))
	for i, a := range answers {
		x[i], value[i] = a[0], a[1]
	}
	var r C.gf_draw_result
	whole := make([]int32, l.RecordWords()*len(sizes))
	code := C.call_draw(l.Pointer(), flags, unsafe.Pointer(from.Torch), (*C.uint32_t)(unsafe.Pointer(from.Python)), unsafe.Pointer(unsafe.SliceData(sizes)), C.int64_t(len(sizes)),
		(*C.int32_t)(unsafe.SliceData(whole)), (*C.float)(unsafe.SliceData(x)), (*C.float)(unsafe.SliceData(value)),
		C.int64_t(len(answers)), &r)
	ownWords(l, whole, sizes, int(r.done), records)
	return Code(code), result(&r)
}

// Stateless draws every sample from a stream of its own.
func Stateless(l steps.List, seed, epoch uint64, samples []Sample, records []int32) (Code, Result) {
	indices, occurrences := make([]int64, len(samples)), make([]int32, len(samples))
	sizes := make([]Size, len(samples))
	for i, s := range samples {
		indices[i], occurrences[i], sizes[i] = s.Index, s.Occurrence, s.Size
	}
	var r C.gf_draw_result
	whole := make([]int32, l.RecordWords()*len(sizes))
	code := C.gf_draw_stateless((*C.gf_steps)(l.Pointer()), C.uint64_t(seed), C.uint64_t(epoch),
		(*C.int64_t)(unsafe.SliceData(indices)), (*C.int32_t)(unsafe.SliceData(occurrences)),
		(*C.gf_size)(unsafe.Pointer(unsafe.SliceData(sizes))), C.int64_t(len(samples)),
		(*C.int32_t)(unsafe.SliceData(whole)), &r)
	ownWords(l, whole, sizes, int(r.done), records)
	return Code(code), result(&r)
}

// ownWords takes the steps' own words out of records. Behind them is the size that each was drawn for.
func ownWords(l steps.List, whole []int32, sizes []Size, done int, own []int32) {
	n, each := l.Words(), l.RecordWords()
	for i := range sizes {
		record := whole[i*each : (i+1)*each]
		if i < done && each > 0 && Size(record[n:]) != sizes[i] {
			panic(fmt.Sprintf("a record for %v was drawn for %v", record[n:], sizes[i]))
		}
		copy(own[i*n:], record[:n])
	}
}

func result(r *C.gf_draw_result) Result {
	return Result{Done: int64(r.done), Ask: float32(r.ask), Step: int32(r.step), Text: C.GoString(&r.text[0])}
}

// Seed is the state that torch.manual_seed(seed) leaves: the seed, one word left, seeded, and the words of Knuth's generator.
func Seed(seed uint64) *[StateBytes]byte {
	state, word := new([StateBytes]byte), uint32(seed)
	binary.LittleEndian.PutUint64(state[:], seed)
	state[8], state[12] = 1, 1
	for i := range uint32(C.GF_MT_WORDS) {
		if i > 0 {
			word = 1812433253*(word^word>>30) + i
		}
		binary.LittleEndian.PutUint64(state[24+8*i:], uint64(word))
	}
	return state
}

// Philox is one block of Philox4x32-10.
func Philox(counter [4]uint32, key [2]uint32) (out [4]uint32) {
	C.philox((*C.uint32_t)(&counter[0]), (*C.uint32_t)(&key[0]), (*C.uint32_t)(&out[0]))
	return out
}

// Fused is x * y + z with one rounding.
func Fused(x, y, z float32) float32 { return float32(C.fused(C.float(x), C.float(y), C.float(z))) }

// FirstUniform is what a generator of that seed gives first between 0.08 and 1.
func FirstUniform(seed uint64, fused bool) float32 {
	one := C.int32_t(0)
	if fused {
		one = 1
	}
	return float32(C.first_uniform((*C.uint8_t)(&Seed(seed)[0]), one))
}

// Exponential is e^x as boxes and blurs have it.
func Exponential(x float64) float64 { return float64(C.gf_exponential(C.double(x))) }
