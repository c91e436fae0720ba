package resample

import (
	"image"
	"math"
)

const (
	tapBits = 22
	tapOne  = 1 << tapBits
)

// weight is a filter's value. The conversions keep compilers from fusing a product with a sum, which rounds differently.
func weight(filter Filter, x float64) float64 {
	a := math.Abs(x)
	switch filter {
	case Box:
		if x > -0.5 && x <= 0.5 {
			return 1
		}
	case Bilinear, TorchBilinear:
		if a < 1 {
			return 1 - a
		}
	case Hamming:
		if a == 0 {
			return 1
		}
		if a < 1 {
			a *= math.Pi
			// The constants are single precision in Pillow.
			return math.Sin(a) / a * (float64(float32(0.54)) + float64(float64(float32(0.46))*math.Cos(a)))
		}
	case Bicubic, TorchBicubic:
		if a < 1 {
			return float64(float64(float64(float64(1.5*a)-2.5)*a)*a) + 1
		}
		if a < 2 {
			return float64(float64(float64(float64(float64(a-5)*a)+8)*a)-4) * -0.5
		}
	case Lanczos:
		if -3 <= x && x < 3 {
			return sinc(x) * sinc(x/3)
		}
	}
	return 0
}

func sinc(x float64) float64 {
	if x == 0 {
		return 1
	}
	x *= math.Pi
	return math.Sin(x) / x
}

var supports = [filters]float64{Box: 0.5, Bilinear: 1, Hamming: 1, Bicubic: 2, Lanczos: 3, TorchBilinear: 1, TorchBicubic: 2}

// MakeAxis is the Go twin of gf_axis_build.
func MakeAxis(s AxisSpec) Axis {
	n := s.To - s.From
	a := Axis{Lo: s.InSize, First: make([]int, n), Taps: make([][]int32, n)}
	scale := float64(s.In1-s.In0) / float64(s.OutSize)
	bits := tapBits
	if s.Filter >= TorchBilinear {
		bits = torchBits(s, scale)
	}
	at := float64(s.In0) + float64(scale*0.5) // Nearest's position, a running sum from output 0 on
	for i := range s.To {
		if i >= s.From {
			p := i - s.From
			if s.Flip {
				p = s.To - 1 - i
			}
			if s.Filter == Nearest {
				a.First[p], a.Taps[p] = nearest(s, at)
			} else {
				a.First[p], a.Taps[p] = taps(s, i, scale, bits)
			}
			a.Lo, a.Hi = min(a.Lo, a.First[p]), max(a.Hi, a.First[p]+len(a.Taps[p]))
		}
		at += scale
	}
	for p := range a.First {
		a.First[p] -= a.Lo
	}
	return a
}

func nearest(s AxisSpec, at float64) (int, []int32) {
	if at < 0 || int(at) >= s.InSize {
		return s.InSize - 1, []int32{0} // Pillow leaves it black
	}
	return int(at), []int32{tapOne}
}

// weights returns the first input of output i, and its weights.
func weights(s AxisSpec, i int, scale float64) (int, []float64) {
	stretch := max(scale, 1)
	support, step := float64(supports[s.Filter]*stretch), 1/stretch
	centre := float64(s.In0) + float64((float64(i)+0.5)*scale)
	first := max(int(centre-support+0.5), 0)
	weights := make([]float64, min(int(centre+support+0.5), s.InSize)-first)
	sum := 0.0
	for t := range weights {
		weights[t] = weight(s.Filter, (float64(t+first)-centre+0.5)*step)
		sum += weights[t]
	}
	for t := range weights {
		if sum != 0 {
			weights[t] /= sum
		}
	}
	return first, weights
}

// torchBits is the number of bits that torch uses after the point: as many as fit an int16 with the largest weight.
func torchBits(s AxisSpec, scale float64) int {
	largest := 0.0
	for i := range s.OutSize {
		_, all := weights(s, i, scale)
		for _, w := range all {
			largest = max(largest, w)
		}
	}
	bits := 0
	for bits < tapBits && int(0.5+largest*float64(int(2)<<bits)) < 1<<15 {
		bits++
	}
	return bits
}

// taps returns the first input of output i, and its taps with so many bits after the point, in 22-bit fixed point.
func taps(s AxisSpec, i int, scale float64, bits int) (int, []int32) {
	first, weights := weights(s, i, scale)
	fixed := make([]int32, len(weights))
	for t, w := range weights {
		w *= float64(int(1) << bits)
		fixed[t] = int32(w+math.Copysign(0.5, w)) << (tapBits - bits)
	}
	for len(fixed) > 1 && fixed[len(fixed)-1] == 0 {
		fixed = fixed[:len(fixed)-1]
	}
	for len(fixed) > 1 && fixed[0] == 0 {
		fixed, first = fixed[1:], first+1
	}
	return first, fixed
}

// clip is a sum of products, rounded to a value.
func clip(sum int32) byte { return byte(max(0, min(255, sum>>tapBits))) }

// ResizeGeneric is the Go twin of gf_resize_picture. It makes two passes over all pixels that the window needs. The plan
// must be complete.
func ResizeGeneric(src *image.RGBA, p Plan) []byte {
	width, height := p.Crop.Dx(), p.Crop.Dy()
	x := MakeAxis(AxisSpec{In1: float32(width), InSize: width, OutSize: p.Width,
		From: p.Window.Min.X, To: p.Window.Max.X, Filter: p.Filter, Flip: p.Flip})
	y := MakeAxis(AxisSpec{In1: float32(height), InSize: height, OutSize: p.Height,
		From: p.Window.Min.Y, To: p.Window.Max.Y, Filter: p.Filter})
	needed := image.Rect(x.Lo, y.Lo, x.Hi, y.Hi).Add(p.Crop.Min)
	pic := &image.RGBA{Pix: src.Pix[src.PixOffset(needed.Min.X, needed.Min.Y):], Stride: src.Stride,
		Rect: image.Rect(0, 0, needed.Dx(), needed.Dy())}
	if p.Filter < TorchBilinear && p.Order.verticalFirst(width, height, p.Width, p.Height) {
		return horizontal(vertical(pic, y), x).Pix
	}
	return vertical(horizontal(pic, x), y).Pix
}

func horizontal(src *image.RGBA, x Axis) *image.RGBA {
	dst := image.NewRGBA(image.Rect(0, 0, len(x.Taps), src.Rect.Dy()))
	for row := range src.Rect.Dy() {
		for i, taps := range x.Taps {
			convolve(dst.Pix[dst.PixOffset(i, row):], src.Pix[src.PixOffset(x.First[i], row):], 4, taps)
		}
	}
	return dst
}

func vertical(src *image.RGBA, y Axis) *image.RGBA {
	dst := image.NewRGBA(image.Rect(0, 0, src.Rect.Dx(), len(y.Taps)))
	for i, taps := range y.Taps {
		for column := range src.Rect.Dx() {
			convolve(dst.Pix[dst.PixOffset(column, i):], src.Pix[src.PixOffset(column, y.First[i]):], src.Stride, taps)
		}
	}
	return dst
}

// convolve makes one pixel from pixels that lie step bytes apart.
func convolve(dst, src []byte, step int, taps []int32) {
	r, g, b := int32(tapOne/2), int32(tapOne/2), int32(tapOne/2)
	for t, w := range taps {
		pixel := src[t*step:][:3]
		r += int32(pixel[0]) * w
		g += int32(pixel[1]) * w
		b += int32(pixel[2]) * w
	}
	dst[0], dst[1], dst[2], dst[3] = clip(r), clip(g), clip(b), 255
}
