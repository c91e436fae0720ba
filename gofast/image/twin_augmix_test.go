package image

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/gofast-org/gofast/gofast/image/pixel"
	"github.com/gofast-org/gofast/gofast/image/steps"
)

// augmix mixes the picture with what its chains make of it.
func (t *twin) augmix(s Step, words []int32) {
	weights, sources := []float32{math.Float32frombits(uint32(words[0]))}, []pixel.Planes{t.planes}
	for k := range s.Chains {
		weights = append(weights, math.Float32frombits(uint32(words[1+k])))
		now := t.planes
		for _, entry := range words[1+steps.MaxChains+k*steps.MaxDepth:][:steps.MaxDepth] {
			if entry != 0 {
				which, numbers := steps.AugmixNumbers(s, entry)
				now = mixed(now, s, which, numbers)
			}
		}
		sources = append(sources, now)
	}
	out := pixel.NewPlanes(t.planes.Width, t.planes.Height, 3)
	pixel.MixGeneric(sources, weights, out)
	t.planes = out
}

// mixed is what one operation of a chain makes of a picture, in augmix.h's order.
func mixed(p pixel.Planes, s Step, which int, numbers []float64) pixel.Planes {
	out := pixel.NewPlanes(p.Width, p.Height, 3)
	b := pixel.Blend{Ratio: float32(numbers[0]), Rest: float32(1 - numbers[0]), Fused: s.Version == "v2"}
	pixels, grey := float32(p.Width*p.Height), float32(0)
	switch which {
	case 0, 1, 2, 3, 4:
		g := pixel.Grid{Bilinear: s.Seen == "bilinear"}
		if s.Tensor && s.Fill != nil {
			g.Filled = int(s.Version[1] - '0')
			for i, v := range s.Fill {
				g.Fill[i] = float32(v)
			}
		}
		for i, v := range numbers {
			g.Theta[i] = float32(v)
		}
		pixel.GridGeneric(p, g, out)
		return out
	case 10:
		pixel.TensorSaturateGeneric(p, b, out)
		return out
	case 12:
		if p.Width < 3 || p.Height < 3 {
			return p
		}
		pixel.TensorSharpenGeneric(p, b, out)
		return out
	case 11:
		grey = float32(pixel.TensorGreySumGeneric(p, b.Fused)) / pixels
	}
	var tables [3][256]byte
	counts := pixel.HistogramGeneric(p)
	for c := range tables {
		seen, rest, brightest := 0, 0, 0
		for v, count := range counts[c] {
			if count > 0 {
				brightest = v
			}
		}
		darkest := slices.IndexFunc(counts[c][:], func(n uint32) bool { return n > 0 })
		for _, n := range counts[c][:brightest] {
			rest += int(n)
		}
		for v := range 256 {
			to := v
			switch {
			case which == 5:
				to = v & int(numbers[0])
			case which == 6 && v >= int(numbers[0]):
				to = 255 - v
			case which == 7 && brightest > darkest:
				spread, from := float32(brightest-darkest), float32(v-darkest)
				if s.Version == "v1" {
					to = int(from * float32(1/spread*255))
				} else {
					to = int(from / float32(spread*float32(1.0/255)))
				}
				to = min(max(to, 0), 255)
			case which == 8 && rest >= 255:
				to = min((rest/255/2+seen)/(rest/255), 255)
			case which == 9:
				to = int(min(max(float32(v)*b.Ratio, 0), 255))
			case which == 11 && b.Fused:
				to = int(min(max(float32(math.FMA(float64(grey), float64(b.Rest), float64(float32(v)*b.Ratio))), 0), 255))
			case which == 11:
				to = int(min(max(float32(float32(v)*b.Ratio)+float32(grey*b.Rest), 0), 255))
			}
			tables[c][v] = byte(to)
			seen += int(counts[c][v])
		}
		copy(out.Plane[c], p.Plane[c])
	}
	pixel.LookUpGeneric(out, &tables)
	return out
}

func randomAugmix(r *rand.Rand, s Step) Step {
	s.Op, s.Chains, s.Depth, s.Operations = "augmix", 1+r.IntN(steps.MaxChains), r.IntN(steps.MaxDepth+1), 9+4*r.IntN(2)
	s.Alpha, s.Seen = float32(math.Exp(r.NormFloat64())), []string{"nearest", "bilinear"}[r.IntN(2)]
	s.Numbers = make([]float64, 12*s.Operations*(1+r.IntN(3)))
	each := len(s.Numbers) / s.Operations
	for i := range s.Numbers {
		switch which := i / each; {
		case which < 5:
			s.Numbers[i] = r.NormFloat64() * 0.05
		case which == 5:
			s.Numbers[i] = float64(int(0xff00) >> r.IntN(9) & 0xff)
		case which == 6:
			s.Numbers[i] = float64(r.IntN(257))
		default:
			s.Numbers[i] = 2 * r.Float64()
		}
	}
	return s
}
