package pixel

import (
	"math"
	"math/rand/v2"
	"testing"
)

// checkSame compares a picture, gaps included, with its twin's.
func checkSame(t *testing.T, what string, level Level, got, want Planes) {
	t.Helper()
	for c := range 3 {
		if i := differs(got.Plane[c], want.Plane[c]); i >= 0 {
			t.Fatalf("%s to %d x %d at level %d: channel %d byte %d is %d instead of %d", what, want.Width, want.Height, level, c, i, got.Plane[c][i], want.Plane[c][i])
		}
	}
}

func checkWarp(t *testing.T, src Planes, transform Transform, width, height int) {
	t.Helper()
	blank := noise(width, height, src.Channels, 5, 7)
	want := blank.clone()
	WarpGeneric(src, transform, want)
	for _, level := range levels {
		got := blank.clone()
		level.Warp(src, transform, got)
		if !same(got, want) {
			t.Logf("%+v of %d x %d", transform, src.Width, src.Height)
		}
		checkSame(t, "warp", level, got, want)
	}
}

func same(a, b Planes) bool {
	return differs(a.Plane[0], b.Plane[0])+differs(a.Plane[1], b.Plane[1])+differs(a.Plane[2], b.Plane[2]) == -3
}

// randomTransform is a rotation, a shear, a scaling or anything.
func randomTransform(r *rand.Rand, width, height int) Transform {
	t := Transform{Filter: Seen(r.IntN(3)), Perspective: r.IntN(4) == 0, Fill: [3]byte{1, 128, 250}}
	wild := func() float64 { return math.Exp(4*r.NormFloat64()) * float64(1-2*r.IntN(2)) }
	x, y, sine, cosine := float64(width)/2, float64(height)/2, 0.0, 1.0
	switch r.IntN(5) {
	case 4: // sums of these are no numbers
		for i := range 6 {
			t.Numbers[i] = []float64{1e308, -1e308, 1, 0}[r.IntN(4)]
		}
	case 0:
		sine, cosine = math.Sincos(6 * r.Float64())
		t.Numbers = [8]float64{cosine, sine, x - cosine*x - sine*y, -sine, cosine, y + sine*x - cosine*y}
	case 1:
		t.Numbers = [8]float64{1, r.Float64() * float64(r.IntN(2)), float64(r.IntN(9) - 4), r.Float64() * float64(r.IntN(2)), 1, r.NormFloat64()}
	case 2:
		t.Numbers = [8]float64{wild(), 0, wild(), 0, wild(), wild()}
	default:
		t.Numbers = [8]float64{wild(), wild(), wild(), wild(), wild(), wild()}
	}
	t.Numbers[6], t.Numbers[7] = []float64{0, -2, 0.01 * r.NormFloat64()}[r.IntN(3)], []float64{0, -2.0 / 3, 0.01 * r.NormFloat64()}[r.IntN(3)]
	return t
}

func TestWarpAgreesWithTwin(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 6))
	for turn := range 1500 {
		src := noise(1+r.IntN(70), 1+r.IntN(30), 3-2*(turn/4%2), r.IntN(5), r.Uint32())
		checkWarp(t, src, randomTransform(r, src.Width, src.Height), 1+r.IntN(80), 1+r.IntN(20))
	}
	wide := noise(40000, 2, 1, 0, 1)
	checkWarp(t, wide, Transform{Numbers: [8]float64{1, 0.25, -3, 0.00002, 1, 0}}, 32767, 2)
	checkWarp(t, wide, Transform{Numbers: [8]float64{1.5, 0.25, -3, 0.00002, 1, 0}}, 40000, 2)
	checkWarp(t, wide, Transform{Numbers: [8]float64{1, 0, 0, 0, 1, 0}, Filter: SeenBilinear}, 300, 2)
}

func TestTurnAndSharpenAgreeWithTwins(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 7))
	for turn := range 300 {
		src := noise(1+r.IntN(90), 1+r.IntN(70), 3-2*(turn/4%2), r.IntN(5), r.Uint32())
		quarters, factor := 1+2*(turn%2), 3*r.Float32()-0.5
		turned, sharp := noise(src.Height, src.Width, src.Channels, 3, 7), noise(src.Width, src.Height, src.Channels, 3, 7)
		wantTurned, wantSharp := turned.clone(), sharp.clone()
		TurnGeneric(src, quarters, wantTurned)
		SharpenGeneric(src, factor, wantSharp)
		for _, level := range levels {
			got := turned.clone()
			level.Turn(src, quarters, got)
			checkSame(t, "turn", level, got, wantTurned)
			got = sharp.clone()
			level.Sharpen(src, factor, got)
			checkSame(t, "sharpen", level, got, wantSharp)
		}
	}
}

func TestTablesAgreeWithTwins(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 8))
	for turn := range 300 {
		p := noise(1+r.IntN(200), 1+r.IntN(9), 3-2*(turn/4%2), turn%2*r.IntN(70), r.Uint32())
		var tables [3][256]byte
		for c := range tables {
			for i := range tables[c] {
				tables[c][i] = byte(r.Uint32())
			}
		}
		want := p.clone()
		LookUpGeneric(want, &tables)
		for _, level := range levels {
			if got := level.Histogram(p); got != HistogramGeneric(p) {
				t.Fatalf("a histogram of %d x %d at level %d", p.Width, p.Height, level)
			}
			got := p.clone()
			level.LookUp(got, &tables)
			checkSame(t, "look-up", level, got, want)
		}
	}
}

// TestTransformsArePillow pins what Pillow 13.0.0 makes of a picture of noise.
func TestTransformsArePillow(t *testing.T) {
	src := noise(61, 47, 3, 0, 4)
	rotated := Transform{Numbers: [8]float64{0.8, 0.6, -8, -0.6, 0.8, 22.5, 0.001, -0.002}, Fill: [3]byte{10, 20, 30}}
	sheared := Transform{Numbers: [8]float64{1, 0.3, -5, 0, 1, 0}, Fill: rotated.Fill}
	scaled := Transform{Numbers: [8]float64{0.7, 0, -5, 0, 1.3, 2.25}, Fill: rotated.Fill}
	for i, c := range []struct {
		transform   Transform
		filter      Seen
		perspective bool
		want        uint32
	}{
		{rotated, SeenNearest, false, 0xac71656e},
		{rotated, SeenNearest, true, 0xe61f1b9e},
		{rotated, SeenBilinear, false, 0x2f33c3a},
		{rotated, SeenBilinear, true, 0x5082362b},
		{rotated, SeenBicubic, false, 0x6e7a1031},
		{rotated, SeenBicubic, true, 0x51e08deb},
		{sheared, SeenNearest, false, 0x8c352a2a},
		{sheared, SeenBilinear, false, 0xf7409fa0},
		{sheared, SeenBicubic, false, 0xc18c56e0},
		{scaled, SeenNearest, false, 0x42424938},
		{scaled, SeenBilinear, false, 0x64b52d06},
		{scaled, SeenBicubic, false, 0x435985f2},
	} {
		for _, level := range levels {
			transform := c.transform
			transform.Filter, transform.Perspective = c.filter, c.perspective
			p := NewPlanes(70, 50, 3)
			level.Warp(src, transform, p)
			if got := p.sum(); got != c.want {
				t.Errorf("case %d at level %d: %#08x instead of Pillow's %#08x", i, level, got, c.want)
			}
		}
	}
	for _, c := range []struct {
		factor float32
		want   uint32
	}{{0, 0x39cd2c3a}, {0.3, 0x7391956a}, {1, 0xa8f7156}, {1.7, 0x6fdbbd4a}, {-0.5, 0xd118f0e}} {
		for _, level := range levels {
			p := NewPlanes(61, 47, 3)
			level.Sharpen(src, c.factor, p)
			if got := p.sum(); got != c.want {
				t.Errorf("sharpness %v at level %d: %#08x instead of Pillow's %#08x", c.factor, level, got, c.want)
			}
		}
	}
}

func FuzzWarp(f *testing.F) {
	f.Add(uint64(1), uint64(2), 1.0, 0.5, 0.0, -0.5, 1.0, 0.0)
	f.Fuzz(func(t *testing.T, seed, more uint64, a, b, c, d, e, g float64) {
		r := rand.New(rand.NewPCG(seed, more))
		src := noise(1+r.IntN(70), 1+r.IntN(30), 3-2*r.IntN(2), r.IntN(5), r.Uint32())
		transform := randomTransform(r, src.Width, src.Height)
		copy(transform.Numbers[:], []float64{a, b, c, d, e, g})
		for _, n := range transform.Numbers {
			if math.IsNaN(n) || math.IsInf(n, 0) {
				return
			}
		}
		checkWarp(t, src, transform, 1+r.IntN(300), 1+r.IntN(9))
	})
}

func BenchmarkWarp(b *testing.B) {
	src, dst := noise(224, 224, 3, 0, 1), NewPlanes(224, 224, 3)
	sine, cosine := math.Sincos(0.5)
	for name, transform := range map[string]Transform{
		"nearest":  {Numbers: [8]float64{cosine, sine, 0, -sine, cosine, 50}},
		"bilinear": {Numbers: [8]float64{cosine, sine, 0, -sine, cosine, 50}, Filter: SeenBilinear},
		"bicubic":  {Numbers: [8]float64{cosine, sine, 0, -sine, cosine, 50}, Filter: SeenBicubic},
	} {
		for _, level := range levels {
			b.Run(name+"/level="+string(rune('0'+level)), func(b *testing.B) {
				b.SetBytes(3 * 224 * 224)
				for b.Loop() {
					level.Warp(src, transform, dst)
				}
			})
		}
	}
}
