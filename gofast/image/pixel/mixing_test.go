package pixel

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"
)

func TestMixUpAgreesWithTwin(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 1))
	for range 300 {
		samples, values := 1+r.IntN(5), r.IntN(200)
		first := r.IntN(4) // the batch need not be aligned
		x, got, want := make([]float32, first+samples*values)[first:], make([]float32, first+samples*values)[first:], make([]float32, samples*values)
		for i := range x {
			x[i] = float32(r.NormFloat64() * math.Exp(20*r.NormFloat64()))
		}
		part := r.Float64()
		MixUp(x, got, samples, float32(part), float32(1-part))
		MixUpGeneric(x, want, samples, float32(part), float32(1-part))
		for i := range want {
			if math.Float32bits(got[i]) != math.Float32bits(want[i]) {
				t.Fatalf("%d x %d, value %d: %v instead of %v", samples, values, i, got[i], want[i])
			}
		}
	}
}

func TestCutMixAgreesWithTwin(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 2))
	for range 300 {
		c := Cut{Samples: 1 + r.IntN(4), Planes: 1 + r.IntN(3), Height: 1 + r.IntN(9), RowBytes: 1 + r.IntN([]int{9, 99, 9999}[r.IntN(3)])}
		c.Left, c.Top = r.IntN(c.RowBytes+1), r.IntN(c.Height+1)
		c.Right, c.Bottom = c.Left+r.IntN(c.RowBytes-c.Left+1), c.Top+r.IntN(c.Height-c.Top+1)
		n, first := c.Samples*c.Planes*c.Height*c.RowBytes, r.IntN(16)
		x, got, want := make([]byte, first+n)[first:], make([]byte, first+n)[first:], make([]byte, n)
		for i := range x {
			x[i] = byte(r.Uint32())
		}
		CutMix(x, got, c)
		CutMixGeneric(x, want, c)
		if !bytes.Equal(got, want) {
			t.Fatalf("%+v differs", c)
		}
	}
}

func TestMixingRefusesWrongShapes(t *testing.T) {
	x := make([]float32, 12)
	for name, call := range map[string]func(){
		"no samples":  func() { MixUp(x, x, 0, 1, 0) },
		"odd samples": func() { MixUp(x, x, 5, 1, 0) },
		"short":       func() { MixUp(x, x[:6], 2, 1, 0) },
		"box outside": func() { CutMix(make([]byte, 8), make([]byte, 8), Cut{2, 1, 2, 2, 0, 0, 3, 1}) },
		"other size":  func() { CutMix(make([]byte, 9), make([]byte, 9), Cut{2, 1, 2, 2, 0, 0, 1, 1}) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			call()
		}()
	}
}

func BenchmarkMixUp(b *testing.B) {
	x, to := make([]float32, 64*3*176*176), make([]float32, 64*3*176*176)
	b.SetBytes(int64(4 * len(x)))
	for b.Loop() {
		MixUp(x, to, 64, 0.3, 0.7)
	}
}

func BenchmarkCutMix(b *testing.B) {
	x, to := make([]byte, 64*3*176*704), make([]byte, 64*3*176*704)
	b.SetBytes(int64(len(x)))
	for b.Loop() {
		CutMix(x, to, Cut{64, 3, 176, 704, 160, 40, 480, 120})
	}
}
