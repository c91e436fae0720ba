package pixel

import "math"

// The plain twins of what is done to uint8 tensors.

// addProduct is y + x * factor, of which each step rounds, or the whole once.
// Where it is inlined, Go 1.26 loses the conversion on arm64, and fuses both.
//
//go:noinline
func addProduct(y, x, factor float32, once bool) float32 {
	if once {
		return Fused(x, factor, y)
	}
	return y + float32(x*factor)
}

func clamped(x float32) byte { return byte(min(max(x, 0), 255)) }

// GridGeneric is grid_sample of an affine grid.
func GridGeneric(src Planes, g Grid, dst Planes) {
	t, halfWidth, halfHeight := g.Theta, float32(src.Width)/2, float32(src.Height)/2
	for y := range dst.Height {
		for x := range dst.Width {
			bx, by := float32(x)+0.5-halfWidth, float32(y)+0.5-halfHeight
			gx := addProduct(float32(t[0]*bx), t[1], by, g.Fused) + t[2]
			gy := addProduct(float32(t[3]*bx), t[4], by, g.Fused) + t[5]
			sx, sy := Fused(gx+1, halfWidth, -0.5), Fused(gy+1, halfHeight, -0.5)
			for c := range dst.Channels {
				dst.Row(c, y)[x] = src.sampled(c, sx, sy, g)
			}
		}
	}
}

func (p Planes) sampled(c int, x, y float32, g Grid) byte {
	inside := func(x, y float64) bool { return x >= 0 && y >= 0 && x < float64(p.Width) && y < float64(p.Height) }
	at := func(x, y float64) float32 {
		if !inside(x, y) {
			return 0
		}
		return float32(p.Row(c, int(y))[int(x)])
	}
	if !g.Bilinear {
		column, row := math.RoundToEven(float64(x)), math.RoundToEven(float64(y))
		if g.Filled > 0 && !inside(column, row) {
			return byte(g.Fill[c])
		}
		return byte(at(column, row))
	}
	left, top := math.Floor(float64(x)), math.Floor(float64(y))
	w, n := x-float32(left), y-float32(top)
	e, s := 1-w, 1-n
	sum := at(left, top) * float32(s*e)
	sum = Fused(at(left+1, top), s*w, sum)
	sum = Fused(at(left, top+1), n*e, sum)
	sum = Fused(at(left+1, top+1), n*w, sum)
	if g.Filled > 0 {
		var part float32 // of a picture of ones
		for i, weight := range []float32{s * e, s * w, n * e, n * w} {
			if inside(left+float64(i%2), top+float64(i/2)) {
				part += weight
			}
		}
		if fill := g.Fill[c]; g.Filled == 1 {
			sum = float32(sum*part) + float32((1-part)*fill)
		} else {
			sum = float32((sum-fill)*part) + fill
		}
	}
	return byte(math.RoundToEven(float64(sum)))
}

func (p Planes) tensorGrey(x, y int, once bool) int {
	sum := float32(p.Row(0, y)[x]) * 0.2989
	sum = addProduct(sum, float32(p.Row(1, y)[x]), 0.587, once)
	return int(addProduct(sum, float32(p.Row(2, y)[x]), 0.114, once))
}

// TensorGreySumGeneric sums grey bytes.
func TensorGreySumGeneric(p Planes, fused bool) (sum uint64) {
	for y := range p.Height {
		for x := range p.Width {
			sum += uint64(p.tensorGrey(x, y, fused))
		}
	}
	return sum
}

// TensorSaturateGeneric is adjust_saturation.
func TensorSaturateGeneric(src Planes, b Blend, dst Planes) {
	for y := range src.Height {
		for x := range src.Width {
			grey := float32(src.tensorGrey(x, y, b.Fused))
			for c := range 3 {
				dst.Row(c, y)[x] = clamped(addProduct(float32(float32(src.Row(c, y)[x])*b.Ratio), grey, b.Rest, b.Fused))
			}
		}
	}
}

// TensorSharpenGeneric is adjust_sharpness. torch's convolution is in float32; rounded, it
// is that of whole numbers.
func TensorSharpenGeneric(src Planes, b Blend, dst Planes) {
	for c := range src.Channels {
		for y := range src.Height {
			for x := range src.Width {
				own := float32(src.Row(c, y)[x])
				smooth := own
				if x > 0 && y > 0 && x < src.Width-1 && y < src.Height-1 {
					sum := 4 * int(own)
					for i := range 9 {
						sum += int(src.Row(c, y-1+i/3)[x-1+i%3])
					}
					smooth = float32(math.Round(float64(sum) / 13))
				}
				if b.Fused {
					dst.Row(c, y)[x] = clamped(Fused(smooth-own, b.Rest, own))
				} else {
					dst.Row(c, y)[x] = clamped(float32(own*b.Ratio) + float32(smooth*b.Rest))
				}
			}
		}
	}
}

// MixGeneric sums pictures by weights.
func MixGeneric(sources []Planes, weights []float32, dst Planes) {
	for c := range dst.Channels {
		for y := range dst.Height {
			for x := range dst.Width {
				sum := float32(sources[0].Row(c, y)[x]) * weights[0]
				for i, p := range sources[1:] {
					sum += float32(float32(p.Row(c, y)[x]) * weights[1+i])
				}
				dst.Row(c, y)[x] = byte(sum)
			}
		}
	}
}

// TensorHueGeneric is adjust_hue.
func TensorHueGeneric(p Planes, turn float32, version int) {
	for y := range p.Height {
		for x := range p.Width {
			var rgb [3]float32
			for c := range rgb {
				v := float32(p.Row(c, y)[x])
				if version == 1 {
					rgb[c] = v / 255
				} else {
					rgb[c] = v * float32(1.0/255)
				}
			}
			h, s, v := hsv(rgb, version)
			if h = float32(math.Mod(float64(float32(h+turn)), 1)); h < 0 {
				h++
			}
			for c, v := range turned(h, s, v, version) {
				p.Row(c, y)[x] = byte(min(v, 1) * 255.999)
			}
		}
	}
}

func hsv(rgb [3]float32, version int) (h, s, v float32) {
	most, least := max(rgb[0], rgb[1], rgb[2]), min(rgb[0], rgb[1], rgb[2])
	if most == least {
		return 0, 0, most
	}
	var off [3]float32
	for c := range off {
		off[c] = (most - rgb[c]) / (most - least)
	}
	switch most {
	case rgb[0]:
		h = off[2] - off[1]
	case rgb[1]:
		h = 2 + off[0] - off[2]
	default:
		h = 4 + off[1] - off[0]
	}
	if version == 1 {
		h = h/6 + 1
	} else {
		h = float32(h*float32(1.0/6)) + 1
	}
	return float32(math.Mod(float64(h), 1)), (most - least) / most, most
}

func turned(h, s, v float32, version int) [3]float32 {
	h = float32(h * 6) // rounded before it is subtracted from: arm64 would fuse both
	whole := float32(math.Floor(float64(h)))
	f := h - whole
	part := float32(s * f)
	up := part + (1 - s)
	if version == 1 {
		up = 1 - float32(s*(1-f))
	}
	p, q, t := v*(1-s), v*(1-part), v*up
	return [6][3]float32{{v, t, p}, {q, v, p}, {p, v, t}, {p, q, v}, {t, p, v}, {v, p, q}}[int(whole)%6]
}
