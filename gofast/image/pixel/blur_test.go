package pixel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// bell is a Gaussian's n weights.
func bell(n int, sigma float64) []float32 {
	weights, sum := make([]float32, n), 0.0
	for i := range weights {
		d := (float64(i) - float64(n-1)/2) / sigma
		weights[i] = float32(math.Exp(-0.5 * d * d))
		sum += float64(weights[i])
	}
	for i := range weights {
		weights[i] = float32(float64(weights[i]) / sum)
	}
	return weights
}

// checkBlur compares every level with the twin, gaps included.
func checkBlur(t *testing.T, src Planes, x, y []float32) {
	t.Helper()
	blank := noise(src.Width, src.Height, src.Channels, 5, 9)
	want := blank.clone()
	BlurGeneric(src, x, y, want)
	for _, level := range levels {
		got := blank.clone()
		level.Blur(src, x, y, got)
		for c := range 3 {
			if i := differs(got.Plane[c], want.Plane[c]); i >= 0 {
				t.Fatalf("%d x %d by %d x %d at level %d: channel %d byte %d is %d instead of %d", src.Width, src.Height, len(x), len(y),
					level, c, i, got.Plane[c][i], want.Plane[c][i])
			}
		}
	}
}

func TestBlurAgreesWithTwin(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 6))
	for turn := range 36 {
		width, height := 1+r.IntN(100), 1+r.IntN(130) // more than a band of rows, too
		kx, ky := 2*r.IntN(min((width+1)/2, 12))+1, 2*r.IntN(min((height+1)/2, 12))+1
		src := noise(width, height, 3-2*(turn%2), turn%3*7, r.Uint32())
		if turn%4 == 0 { // halves abound between two greys
			for c := range src.Channels {
				for i, v := range src.Plane[c] {
					src.Plane[c][i] = 127 + v>>7
				}
			}
		}
		sigma := 0.05 + 3*r.Float64()
		checkBlur(t, src, bell(kx, sigma), bell(ky, sigma))
	}
	checkBlur(t, noise(70, 40, 1, 0, 1), bell(MostKernel, 20), bell(MostKernel, 20))
}

// TestBlurOfHalves has sums that are halves exactly, or a last bit beside one.
func TestBlurOfHalves(t *testing.T) {
	for _, x := range [][]float32{{0.25, 0.5, 0.25}, {0.5, 0, 0.5}, {0.25, 0.5, 0.25000003}, {0.24999999, 0.5, 0.25}, {0, 1, 0}} {
		checkBlur(t, noise(90, 70, 3, 0, 3), x, []float32{0.25, 0.5, 0.25})
		checkBlur(t, noise(90, 70, 3, 0, 3), x, []float32{1})
	}
}

func FuzzBlur(f *testing.F) {
	f.Add([]byte{0, 1, 127, 128, 255, 3, 9, 200, 77, 1, 2, 3}, uint8(4), uint8(3), uint8(1), 1.0)
	f.Add(make([]byte, 400), uint8(20), uint8(9), uint8(9), 0.2)
	f.Fuzz(func(t *testing.T, data []byte, width, kx, ky uint8, sigma float64) {
		if width == 0 || len(data) < int(width) || !(sigma > 1e-3 && sigma < 1e3) {
			return
		}
		src := Planes{Stride: int(width), Width: int(width), Height: min(len(data)/int(width), 90), Channels: 1}
		src.Plane[0] = data
		nx, ny := int(kx)%16|1, int(ky)%16|1
		if nx/2 < src.Width && ny/2 < src.Height {
			checkBlur(t, src, bell(nx, sigma), bell(ny, sigma))
		}
	})
}

func BenchmarkBlur(b *testing.B) {
	src, dst := noise(224, 224, 3, 0, 1), NewPlanes(224, 224, 3)
	for _, sigma := range []float64{0.5, 1, 2} {
		for _, level := range levels {
			b.Run(fmt.Sprintf("sigma=%v/level=%d", sigma, level), func(b *testing.B) {
				weights := bell(23, sigma)
				b.SetBytes(3 * 224 * 224)
				for b.Loop() {
					level.Blur(src, weights, weights, dst)
				}
			})
		}
	}
}
