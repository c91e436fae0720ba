package pixel

/*
#include "pixel.h"
*/
import "C"

import "fmt"

// Grid is pixel.h's gf_grid.
type Grid struct {
	Bilinear bool
	Filled   int  // 0, or the version of torchvision that fills
	Fused    bool // how this processor multiplies matrices
	Theta    [6]float32
	Fill     [3]float32
}

// Blend is how torchvision blends uint8 tensors: by this ratio, and by 1 - ratio as a
// float32. Fused: as v2, whose sums of products round once.
type Blend struct {
	Ratio, Rest float32
	Fused       bool
}

// MostMixed is how many pictures Mix takes.
const MostMixed = C.GF_MOST_MIXED

func alike(src, dst Planes) bool {
	if src.Width != dst.Width || src.Height != dst.Height {
		panic(fmt.Sprintf("pixel: %d x %d to %d x %d", src.Width, src.Height, dst.Width, dst.Height))
	}
	return src.check(dst.Channels) && dst.check(1)
}

// Grid makes dst what torch's grid_sample makes of src, of the same size.
func (l Level) Grid(src Planes, g Grid, dst Planes) {
	if alike(src, dst) {
		l.grid(src, g, dst)
	}
}

// TensorGreySum sums the grey bytes that torchvision makes of an RGB tensor.
func (l Level) TensorGreySum(p Planes, fused bool) uint64 {
	if !p.check(3) {
		return 0
	}
	return l.tensorGreySum(p, fused)
}

// TensorSaturate makes dst what torchvision's adjust_saturation makes of an RGB tensor.
func (l Level) TensorSaturate(src Planes, b Blend, dst Planes) {
	if dst.check(3) && alike(src, dst) {
		l.tensorSaturate(src, b, dst)
	}
}

// TensorSharpen makes dst what torchvision's adjust_sharpness makes of a tensor of at least 3 x 3 pixels.
func (l Level) TensorSharpen(src Planes, b Blend, dst Planes) {
	if src.Width < 3 || src.Height < 3 {
		panic(fmt.Sprintf("pixel: %d x %d pixels cannot be sharpened", src.Width, src.Height))
	}
	if alike(src, dst) {
		l.tensorSharpen(src, b, dst)
	}
}

// TensorHue turns the hue of an RGB tensor as this version's adjust_hue does.
func (l Level) TensorHue(p Planes, turn float32, version int) {
	if p.check(3) {
		l.tensorHue(p, turn, version)
	}
}

// Mix makes dst the sum of 2 to MostMixed pictures of three channels by weights of a sum of about 1.
func (l Level) Mix(sources []Planes, weights []float32, dst Planes) {
	if len(sources) != len(weights) || len(sources) < 2 || len(sources) > MostMixed || dst.Channels != 3 {
		panic(fmt.Sprintf("pixel: %d pictures mixed by %d weights", len(sources), len(weights)))
	}
	some := true
	for _, p := range sources {
		some = alike(p, dst)
	}
	if some {
		l.mix(sources, weights, dst)
	}
}
