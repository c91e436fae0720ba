// Package pixel holds what is done to pictures between the decoder and the
// batch: colour and layout of uint8 pixels, and uint8 pixels to the numbers that a
// model is fed. The C side is described in pixel.h; package kerneltest compares its
// instruction sets.
package pixel

/*
#cgo CFLAGS: -O3 -std=c11 -Wall -Wextra
#cgo LDFLAGS: -lm
#include "pixel.h"
*/
import "C"

import (
	"fmt"
	"unsafe"

	"github.com/gofast-org/gofast/gofast/numbers"
)

// Level is an instruction set, in pixel.h's order: 0 is plain C.
type Level int

// Best is the best instruction set of this machine.
var Best = Level(C.gf_pixel_level())

// Spec says what is made of a pixel.
type Spec struct {
	numbers.Spec      // of 3 channels or 1, to a type that Makes
	Stream       bool // stores bypass the caches: for batches that cycle through more memory than these hold
}

// Makes says whether pixels can become numbers of a type.
func Makes(t numbers.Type) bool { return t == numbers.Uint8 || !t.Integer() && t.Size() <= 4 }

// check panics on what only a bug of the caller can cause.
func (s *Spec) check() {
	if s.Channels != 1 && s.Channels != 3 || !Makes(s.Type) || len(s.Mean) != len(s.Std) || s.Mean != nil && len(s.Mean) != s.Channels {
		panic(fmt.Sprintf("pixel: %d channels with %d means and %d deviations to %s", s.Channels, len(s.Mean), len(s.Std), s.Type))
	}
}

// LayOut writes the gf_normalise that C reads, for at most level.
func (s *Spec) LayOut(at unsafe.Pointer, level Level) {
	s.check()
	n := (*C.gf_normalise)(at)
	s.Spec.LayOut(unsafe.Pointer(&n.numbers))
	s.LayOutCodes(unsafe.Pointer(&n.codes))
	if s.Stream {
		n.stream = 1
	}
	// C copies what it needs of the two.
	mean, std := (*C.float)(unsafe.SliceData(s.Mean)), (*C.float)(unsafe.SliceData(s.Std))
	C.gf_normalise_prepare(n, mean, std, C.int(level))
}
