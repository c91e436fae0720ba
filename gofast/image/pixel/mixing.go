package pixel

import "fmt"

// Cut is the shape of a batch for CutMix: samples of Planes x Height rows of RowBytes. In rows Top..Bottom-1 of each
// plane, bytes Left..Right-1 come from the sample before.
type Cut struct {
	Samples, Planes, Height, RowBytes int
	Left, Top, Right, Bottom          int
}

func (c Cut) check(src, dst []byte) {
	if c.Left < 0 || c.Right < c.Left || c.Right > c.RowBytes || c.Top < 0 || c.Bottom < c.Top || c.Bottom > c.Height ||
		len(src) != c.Samples*c.Planes*c.Height*c.RowBytes || len(dst) != len(src) {
		panic(fmt.Sprintf("pixel: %+v of %d bytes to %d", c, len(src), len(dst)))
	}
}

// MixUp mixes each sample, of so many values, with the one before it: x[i-1] * rest + x[i] * part, every step rounded.
func MixUp(x, to []float32, samples int, part, rest float32) {
	if samples < 1 || len(x)%samples != 0 || len(to) != len(x) {
		panic(fmt.Sprintf("pixel: %d samples of %d values to %d", samples, len(x), len(to)))
	}
	if len(x) > 0 {
		mixUp(x, to, samples, part, rest)
	}
}

// CutMix copies a batch, with a box of each sample from the one before it.
func CutMix(x, to []byte, c Cut) {
	c.check(x, to)
	if len(x) > 0 {
		cutMix(x, to, c)
	}
}
