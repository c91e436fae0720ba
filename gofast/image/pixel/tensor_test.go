package pixel

import (
	"math"
	"math/rand/v2"
	"testing"
)

// randomGrid turns, shears, moves, or is anything.
func randomGrid(r *rand.Rand, width, height int) Grid {
	g := Grid{Bilinear: r.IntN(3) > 0, Filled: r.IntN(3), Fused: r.IntN(2) > 0}
	for i := range g.Fill {
		g.Fill[i] = float32(r.IntN(256))
	}
	x, y := 2/float64(width), 2/float64(height)
	sine, cosine := math.Sincos([]float64{0, 6 * r.Float64(), 0.2 * r.NormFloat64()}[r.IntN(3)])
	m := [6]float64{cosine * x, sine * x, x * float64(r.IntN(9)-4) * float64(r.IntN(2)), -sine * y, cosine * y, y * r.NormFloat64() * 3}
	if r.IntN(8) == 0 {
		for i := range m {
			m[i] = math.Exp(9*r.NormFloat64()) * float64(1-2*r.IntN(2))
		}
	}
	for i, v := range m {
		g.Theta[i] = float32(min(max(v, -1e6), 1e6))
	}
	return g
}

func TestGridAgreesWithTwin(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 6))
	for turn := range 600 {
		src := noise(1+r.IntN(70), 1+r.IntN(30), 3-2*(turn/4%2), r.IntN(5), r.Uint32())
		g, blank := randomGrid(r, src.Width, src.Height), noise(src.Width, src.Height, src.Channels, 5, 7)
		want := blank.clone()
		GridGeneric(src, g, want)
		for _, level := range levels {
			got := blank.clone()
			level.Grid(src, g, got)
			if !same(got, want) {
				t.Logf("%+v", g)
			}
			checkSame(t, "grid", level, got, want)
		}
	}
}

func TestTensorTonesAgreeWithTwins(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 7))
	for turn := range 300 {
		width, height := 3+r.IntN(90), 3+r.IntN(40)
		src := noise(width, height, 3, r.IntN(5), r.Uint32())
		ratio := 4*r.Float64() - 1
		b := Blend{float32(ratio), float32(1 - ratio), turn%2 == 0}
		sum := TensorGreySumGeneric(src, b.Fused)
		weights := make([]float32, 2+r.IntN(MostMixed-1))
		sources, left := make([]Planes, len(weights)), float32(1)
		for i := range weights {
			weights[i] = left * r.Float32()
			left -= weights[i]
			sources[i] = noise(width, height, 3, r.IntN(5), r.Uint32())
		}
		turn, version := []float32{0, 0.5, -0.5, r.Float32() - 0.5}[turn%4], 1+turn%8/4
		turned := src.clone()
		TensorHueGeneric(turned, turn, version)
		blank := noise(width, height, 3, 3, 7)
		saturated, sharp, mixed := blank.clone(), blank.clone(), blank.clone()
		TensorSaturateGeneric(src, b, saturated)
		TensorSharpenGeneric(src, b, sharp)
		MixGeneric(sources, weights, mixed)
		for _, level := range levels {
			if got := level.TensorGreySum(src, b.Fused); got != sum {
				t.Fatalf("level %d: the sum is %d instead of %d", level, got, sum)
			}
			hued := src.clone()
			level.TensorHue(hued, turn, version)
			checkSame(t, "hue", level, hued, turned)
			got := blank.clone()
			level.TensorSaturate(src, b, got)
			checkSame(t, "saturate", level, got, saturated)
			got = blank.clone()
			level.TensorSharpen(src, b, got)
			checkSame(t, "sharpen", level, got, sharp)
			got = blank.clone()
			level.Mix(sources, weights, got)
			checkSame(t, "mix", level, got, mixed)
		}
	}
}

// FuzzGrid compares every level with the twin.
func FuzzGrid(f *testing.F) {
	f.Add(uint64(1), uint64(2))
	f.Fuzz(func(t *testing.T, a, b uint64) {
		r := rand.New(rand.NewPCG(a, b))
		src := noise(1+r.IntN(70), 1+r.IntN(30), 3, r.IntN(5), r.Uint32())
		g, want := randomGrid(r, src.Width, src.Height), noise(src.Width, src.Height, 3, 5, 7)
		blank := want.clone()
		GridGeneric(src, g, want)
		for _, level := range levels {
			got := blank.clone()
			level.Grid(src, g, got)
			checkSame(t, "grid", level, got, want)
		}
	})
}
