package pixel

/*
#cgo LDFLAGS: -lm
#include "pixel.h"
*/
import "C"

import (
	"fmt"
	"math"
)

// Seen is by which filter a transform sees the source, in pixel.h's order.
type Seen int32

// The filters of Image.transform.
const (
	SeenNearest Seen = iota
	SeenBilinear
	SeenBicubic
)

// Transform is what Warp does: pixel.h's gf_transform, of the size of its result.
type Transform struct {
	Filter      Seen
	Perspective bool
	Numbers     [8]float64
	Fill        [3]byte
}

// Warp makes dst what Pillow's Image.transform makes of src. Both have the same
// channels and share no memory.
func (l Level) Warp(src Planes, t Transform, dst Planes) {
	for _, n := range t.Numbers {
		if math.IsNaN(n) || math.IsInf(n, 0) {
			panic(fmt.Sprintf("pixel: a transform by %v", t.Numbers))
		}
	}
	if src.check(dst.Channels) && dst.check(1) {
		l.warp(src, t, dst)
	}
}

// Turn turns src counter-clockwise, once or three times, into dst.
func (l Level) Turn(src Planes, quarters int, dst Planes) {
	if src.Width != dst.Height || src.Height != dst.Width || quarters != 1 && quarters != 3 {
		panic(fmt.Sprintf("pixel: %d quarters of %d x %d to %d x %d", quarters, src.Width, src.Height, dst.Width, dst.Height))
	}
	if src.check(dst.Channels) && dst.check(1) {
		l.turn(src, quarters, dst)
	}
}

// Sharpen makes dst what torchvision's adjust_sharpness makes of src, a PIL image
// of the same size.
func (l Level) Sharpen(src Planes, factor float32, dst Planes) {
	if src.Width != dst.Width || src.Height != dst.Height {
		panic(fmt.Sprintf("pixel: %d x %d sharpened to %d x %d", src.Width, src.Height, dst.Width, dst.Height))
	}
	if src.check(dst.Channels) && dst.check(1) {
		l.sharpen(src, factor, dst)
	}
}

// Histogram counts the bytes of each channel.
func (l Level) Histogram(p Planes) (counts [3][256]uint32) {
	if p.check(1) {
		l.histogram(p, &counts)
	}
	return counts
}

// LookUp changes every byte to what its channel's table has.
func (l Level) LookUp(p Planes, tables *[3][256]byte) {
	if p.check(1) {
		l.lookUp(p, tables)
	}
}
