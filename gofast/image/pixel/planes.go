package pixel

/*
#include "pixel.h"
*/
import "C"

import (
	"fmt"
)

// Edge is what lies beyond a picture's edge, in pixel.h's order.
type Edge int32

// The edges, torchvision's padding modes.
const (
	EdgeConstant  Edge = iota // a colour
	EdgeEdge                  // the last pixel, again and again
	EdgeReflect               // the picture mirrored, its last pixel once
	EdgeSymmetric             // the picture mirrored, its last pixel twice
)

// Planes is a planar picture. Row y of channel c begins at Plane[c][y*Stride].
type Planes struct {
	Plane                           [3][]byte
	Stride, Width, Height, Channels int
}

// NewPlanes makes an empty picture without gaps; there is room for three channels.
func NewPlanes(width, height, channels int) Planes {
	all, size := make([]byte, 3*width*height), width*height
	return Planes{[3][]byte{all[:size:size], all[size : 2*size : 2*size], all[2*size:]}, width, width, height, channels}
}

// Row is row y of channel c.
func (p Planes) Row(c, y int) []byte { return p.Plane[c][y*p.Stride:][:p.Width] }

// check panics where the C side would leave its memory: only a bug of the
// caller can cause that. It says whether there is anything to do.
func (p Planes) check(channels int) bool {
	if p.Width < 0 || p.Height < 0 || p.Stride < p.Width || p.Channels != 1 && p.Channels != 3 || p.Channels < channels {
		panic(fmt.Sprintf("pixel: %d channels of %d x %d with stride %d", p.Channels, p.Width, p.Height, p.Stride))
	}
	if p.Width == 0 || p.Height == 0 {
		return false
	}
	for c := range max(p.Channels, channels) {
		if (p.Height-1)*p.Stride+p.Width > len(p.Plane[c]) {
			panic(fmt.Sprintf("pixel: %d x %d pixels with stride %d do not fit %d bytes", p.Width, p.Height, p.Stride, len(p.Plane[c])))
		}
	}
	return true
}

// Split takes the pixels at x, y of RGBX rows, stride bytes apart, as many as p holds.
func (l Level) Split(src []byte, stride, x, y int, p Planes) {
	if !p.check(3) {
		return
	}
	if x < 0 || y < 0 || 4*(x+p.Width) > stride || (y+p.Height-1)*stride+4*(x+p.Width) > len(src) {
		panic(fmt.Sprintf("pixel: %d x %d pixels at %d, %d are not in %d bytes", p.Width, p.Height, x, y, len(src)))
	}
	l.split(src, stride, x, y, p)
}

// Join is the inverse of Split at 0, 0; the fourth byte becomes 255.
func (l Level) Join(p Planes, dst []byte, stride int) {
	if !p.check(3) {
		return
	}
	if stride < 4*p.Width || (p.Height-1)*stride+4*p.Width > len(dst) {
		panic(fmt.Sprintf("pixel: %d x %d pixels do not fit %d bytes", p.Width, p.Height, len(dst)))
	}
	l.join(p, dst, stride)
}

// HFlip mirrors left and right.
func (l Level) HFlip(p Planes) {
	if p.check(1) {
		l.hflip(p)
	}
}

// VFlip mirrors top and bottom.
func (l Level) VFlip(p Planes) {
	if p.check(1) {
		l.vflip(p)
	}
}

// Window crops and pads: dst's first pixel is src's pixel x, y, inside or not.
// src is not empty, has dst's channels, and shares no memory with it.
func (l Level) Window(src Planes, x, y int, edge Edge, fill [3]byte, dst Planes) {
	if !src.check(dst.Channels) {
		panic("pixel: a window on an empty picture")
	}
	if dst.check(1) {
		l.window(src, x, y, edge, fill, dst)
	}
}

// MostKernel is how many weights a blur may have either way.
const MostKernel = C.GF_MOST_KERNEL

// Blur is torchvision's gaussian_blur by odd numbers of weights, of the columns and of the rows. dst has src's size and
// channels, and shares no memory with it.
func (l Level) Blur(src Planes, x, y []float32, dst Planes) {
	for _, n := range []int{len(x), len(y)} {
		if n%2 == 0 || n > MostKernel {
			panic(fmt.Sprintf("pixel: a kernel of %d x %d", len(x), len(y)))
		}
	}
	if src.Width != dst.Width || src.Height != dst.Height || len(x)/2 >= src.Width || len(y)/2 >= src.Height {
		panic(fmt.Sprintf("pixel: a kernel of %d x %d on %d x %d pixels", len(x), len(y), src.Width, src.Height))
	}
	if src.check(dst.Channels) && dst.check(1) {
		l.blur(src, x, y, dst)
	}
}

// Grey makes p Pillow's L: one channel, or three equal ones.
func (l Level) Grey(p *Planes, channels int) {
	whole := *p
	whole.Channels = max(p.Channels, channels)
	if whole.check(1) {
		l.grey(*p, channels)
	}
	p.Channels = channels
}

// Brightness is torchvision's adjust_brightness of a PIL image.
func (l Level) Brightness(p Planes, factor float32) {
	if p.check(1) {
		l.brightness(p, factor)
	}
}

// Contrast is torchvision's adjust_contrast of a PIL image.
func (l Level) Contrast(p Planes, factor float32) {
	if p.check(1) {
		l.contrast(p, factor)
	}
}

// Saturation is torchvision's adjust_saturation of a PIL image.
func (l Level) Saturation(p Planes, factor float32) {
	if p.check(1) && p.Channels == 3 {
		l.saturation(p, factor)
	}
}

// Hue is torchvision's adjust_hue of a PIL image, with factor from -0.5 to 0.5.
func (l Level) Hue(p Planes, factor float64) {
	if !(factor >= -0.5 && factor <= 0.5) {
		panic(fmt.Sprintf("pixel: a hue factor of %v", factor))
	}
	if p.check(1) && p.Channels == 3 {
		l.hue(p, factor)
	}
}
