// Package pixel holds what is done to pictures between the decoder and the
// batch: colour and layout of uint8 pixels, and uint8 pixels to the numbers that a
// model is fed. The C side is described in pixel.h; the Go twins in twin*.go define
// what it must produce.
package pixel

/*
#cgo CFLAGS: -O3 -std=c11 -Wall -Wextra
#include <stdlib.h>
#include "pixel.h"
*/
import "C"

import (
	"fmt"
	"unsafe"
)

// Best is the best instruction set of this machine.
var Best = Level(C.gf_pixel_level())

// Scale is how a uint8 becomes a number, in pixel.h's order.
type Scale int32

// The scales.
const (
	Divide   Scale = iota // by 255, as ToTensor does
	Multiply              // by float32(1/255), as v2.ToDtype(scale=True) does
	Cast                  // from 0 to 255, as v2.ToDtype does without scale
)

// As is what a number is stored as, in pixel.h's order.
type As int32

// The output types.
const (
	AsFloat32 As = iota
	AsFloat16
	AsBfloat16
	AsUint8
)

// Size is the bytes of one value.
func (a As) Size() int { return [...]int{4, 2, 2, 1}[a] }

// Spec says what is made of a pixel.
type Spec struct {
	Scale     Scale
	Mean, Std []float32 // a value a channel, or both nil
	As        As
	Channels  int  // 3 or 1
	Last      bool // channels last
	Stream    bool // stores bypass the caches: for batches that cycle through more memory than these hold
}

// check panics on what only a bug of the caller can cause.
func (s *Spec) check() {
	if s.Channels != 1 && s.Channels != 3 || len(s.Mean) != len(s.Std) || s.Mean != nil && len(s.Mean) != s.Channels {
		panic(fmt.Sprintf("pixel: %d channels with %d means and %d deviations", s.Channels, len(s.Mean), len(s.Std)))
	}
}

// checkRow panics where the C side would leave its memory.
func (s *Spec) checkRow(width int, out [3][]byte) {
	if s.Last && s.Channels == 3 {
		if len(out[0]) < 3*width*s.As.Size() {
			panic(fmt.Sprintf("pixel: %d pixels do not fit %d bytes", width, len(out[0])))
		}
		return
	}
	for c := range s.Channels {
		if len(out[c]) < width*s.As.Size() {
			panic(fmt.Sprintf("pixel: %d pixels do not fit %d bytes of channel %d", width, len(out[c]), c))
		}
	}
}

// Normaliser is a Spec in C memory, only read once it is made. Whoever made it
// calls Free once.
type Normaliser struct {
	c    *C.gf_normalise
	spec Spec
}

// NewNormaliser lays spec out in C memory, for at most level.
func NewNormaliser(spec Spec, level Level) Normaliser {
	spec.check()
	n := (*C.gf_normalise)(C.calloc(1, C.sizeof_gf_normalise))
	// C copies what it needs of the two.
	mean, std := (*C.float)(unsafe.SliceData(spec.Mean)), (*C.float)(unsafe.SliceData(spec.Std))
	C.gf_normalise_prepare(n, C.int(spec.Scale), mean, std, C.int(spec.As), C.int(spec.Channels), flag(spec.Last), flag(spec.Stream), C.int(level))
	return Normaliser{n, spec}
}

func flag(b bool) C.int {
	if b {
		return 1
	}
	return 0
}

// Free releases the normaliser.
func (n Normaliser) Free() { C.free(unsafe.Pointer(n.c)) }

// Address is the gf_normalise, for C.
func (n Normaliser) Address() uintptr { return uintptr(unsafe.Pointer(n.c)) }

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
		len(sample) < n.spec.Channels*width*height*n.spec.As.Size() {
		panic(fmt.Sprintf("pixel: box %+v of %d x %d pixels in %d bytes", box, width, height, len(sample)))
	}
	n.erase(sample, width, height, box, value)
}
