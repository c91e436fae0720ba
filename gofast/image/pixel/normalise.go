// Package pixel holds what is done to pictures between the decoder and the
// batch: colour and layout of uint8 pixels, and uint8 pixels to the numbers that a
// model is fed. The C side is described in pixel.h; the Go twins in twin*.go define
// what it must produce.
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

// checkRow panics where the C side would leave its memory.
func (s *Spec) checkRow(width int, out [3][]byte) {
	if s.Last && s.Channels == 3 {
		if len(out[0]) < 3*width*s.Type.Size() {
			panic(fmt.Sprintf("pixel: %d pixels do not fit %d bytes", width, len(out[0])))
		}
		return
	}
	for c := range s.Channels {
		if len(out[c]) < width*s.Type.Size() {
			panic(fmt.Sprintf("pixel: %d pixels do not fit %d bytes of channel %d", width, len(out[c]), c))
		}
	}
}

// LayOut writes the gf_normalise that C reads, for at most level.
func (s *Spec) LayOut(at unsafe.Pointer, level Level) {
	s.check()
	n := (*C.gf_normalise)(at)
	s.Spec.LayOut(unsafe.Pointer(&n.numbers))
	s.LayOutCodes(unsafe.Pointer(&n.codes))
	n.stream = C.int32_t(flag(s.Stream))
	// C copies what it needs of the two.
	mean, std := (*C.float)(unsafe.SliceData(s.Mean)), (*C.float)(unsafe.SliceData(s.Std))
	C.gf_normalise_prepare(n, mean, std, C.int(level))
}

// Normaliser is a Spec laid out for Go callers. Only read once it is made.
type Normaliser struct {
	c    *C.gf_normalise
	spec Spec
}

// NewNormaliser lays spec out, for at most level.
func NewNormaliser(spec Spec, level Level) Normaliser {
	c := new(C.gf_normalise)
	spec.LayOut(unsafe.Pointer(c), level)
	return Normaliser{c, spec}
}

func flag(b bool) C.int {
	if b {
		return 1
	}
	return 0
}

// Tabled says that values are looked up, not computed.
func (n Normaliser) Tabled() bool { return n.c.tabled != 0 }

// Planar writes a row from planar rows of equal length. out holds the row of
// each channel, or for channels last the one row in out[0].
func (n Normaliser) Planar(src, out [3][]byte) {
	width := len(src[0])
	for c := range n.spec.Channels {
		if len(src[c]) != width {
			panic(fmt.Sprintf("pixel: rows of %d and %d pixels", width, len(src[c])))
		}
	}
	n.spec.checkRow(width, out)
	n.planar(src, out)
}

// RGBX is Planar from pixels of four bytes.
func (n Normaliser) RGBX(src []byte, out [3][]byte) {
	if n.spec.Channels != 3 {
		panic("pixel: RGBX pixels have three channels")
	}
	n.spec.checkRow(len(src)/4, out)
	n.rgbx(src, out)
}

// Box is a part of a sample.
type Box struct{ X, Y, Width, Height int }

// Erase sets a box of a finished, contiguous sample to a value a channel,
// converted as torch does: RandomErasing.
func (n Normaliser) Erase(sample []byte, width, height int, box Box, value [3]float32) {
	if box.X < 0 || box.Y < 0 || box.Width < 0 || box.Height < 0 || box.X+box.Width > width || box.Y+box.Height > height ||
		len(sample) < n.spec.Channels*width*height*n.spec.Type.Size() {
		panic(fmt.Sprintf("pixel: box %+v of %d x %d pixels in %d bytes", box, width, height, len(sample)))
	}
	n.erase(sample, width, height, box, value)
}
