package pixel

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"testing"

	"github.com/gofast-org/gofast/gofast/numbers"
)

// noise fills a picture, with gaps between its rows, from a generator that the
// goldens' script shares: one byte a channel, channel by channel of each pixel.
func noise(width, height, channels, gap int, seed uint32) Planes {
	p := Planes{Stride: width + gap, Width: width, Height: height, Channels: channels}
	for c := range 3 {
		p.Plane[c] = bytes.Repeat([]byte{0x5a}, (width+gap)*height)
	}
	for y := range height {
		for x := range width {
			for c := range channels {
				seed = seed*1664525 + 1013904223
				p.Row(c, y)[x] = byte(seed >> 24)
			}
		}
	}
	return p
}

func (p Planes) clone() Planes {
	for c := range p.Plane {
		p.Plane[c] = bytes.Clone(p.Plane[c])
	}
	return p
}

// sum is the crc32 of the pixels, interleaved as Pillow stores them.
func (p Planes) sum() uint32 {
	sum, pixel := crc32.NewIEEE(), make([]byte, p.Channels)
	p.each(func(at int) {
		for c := range pixel {
			pixel[c] = p.Plane[c][at]
		}
		sum.Write(pixel)
	})
	return sum.Sum32()
}

// steps are what changes a picture where it is, each with its twin.
var steps = []struct {
	name string
	do   func(l Level, p *Planes, factor float32)
	twin func(p *Planes, factor float32)
}{
	{"hflip", func(l Level, p *Planes, _ float32) { l.HFlip(*p) }, func(p *Planes, _ float32) { HFlipGeneric(*p) }},
	{"vflip", func(l Level, p *Planes, _ float32) { l.VFlip(*p) }, func(p *Planes, _ float32) { VFlipGeneric(*p) }},
	{"grey1", func(l Level, p *Planes, _ float32) { l.Grey(p, 1) }, func(p *Planes, _ float32) { GreyGeneric(*p, 1); p.Channels = 1 }},
	{"grey3", func(l Level, p *Planes, _ float32) { l.Grey(p, 3) }, func(p *Planes, _ float32) { GreyGeneric(*p, 3); p.Channels = 3 }},
	{"brightness", func(l Level, p *Planes, f float32) { l.Brightness(*p, f) }, func(p *Planes, f float32) { BrightnessGeneric(*p, f) }},
	{"contrast", func(l Level, p *Planes, f float32) { l.Contrast(*p, f) }, func(p *Planes, f float32) { ContrastGeneric(*p, f) }},
	{"saturation", func(l Level, p *Planes, f float32) { l.Saturation(*p, f) }, func(p *Planes, f float32) { SaturationGeneric(*p, f) }},
	{"hue", func(l Level, p *Planes, f float32) { l.Hue(*p, hueFactor(f)) }, func(p *Planes, f float32) {
		if p.Channels == 3 {
			HueGeneric(*p, hueFactor(f))
		}
	}},
}

// hueFactor brings a blend's factor into hue's range.
func hueFactor(f float32) float64 { return min(max(float64(f)-1, -0.5), 0.5) }

// checkSteps compares every level of every step with its twin, gaps included.
func checkSteps(t *testing.T, picture Planes, factor float32) {
	t.Helper()
	for _, s := range steps {
		want := picture.clone()
		s.twin(&want, factor)
		for _, level := range levels {
			got := picture.clone()
			s.do(level, &got, factor)
			if got.Channels != want.Channels {
				t.Fatalf("%s made %d channels", s.name, got.Channels)
			}
			for c := range 3 {
				if i := differs(got.Plane[c], want.Plane[c]); i >= 0 {
					t.Fatalf("%s by %v of %d x %d (stride %d, %d channels) at level %d: channel %d byte %d is %d instead of %d", s.name, factor,
						picture.Width, picture.Height, picture.Stride, picture.Channels, level, c, i, got.Plane[c][i], want.Plane[c][i])
				}
			}
		}
	}
}

func differs(a, b []byte) int {
	for i := range a {
		if a[i] != b[i] {
			return i
		}
	}
	return -1
}

func TestStepsAgreeWithTwins(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 2))
	special := []float32{0, 1, 2, 0.5, 1e-30, 1.0000001, 255, 1e12}
	for turn := range 240 {
		factor := 3 * r.Float32()
		if turn%3 == 0 {
			factor = special[turn/3%len(special)]
		}
		checkSteps(t, noise(1+r.IntN(200), r.IntN(12), 3-2*(turn/7%2), turn%2*r.IntN(70), r.Uint32()), factor)
	}
}

func checkWindow(t *testing.T, src Planes, x, y, width, height int, edge Edge) {
	t.Helper()
	fill := [3]byte{1, 128, 250}
	want := noise(width, height, src.Channels, 3, 9)
	blank := want.clone()
	WindowGeneric(src, x, y, edge, fill, want)
	for _, level := range levels {
		got := blank.clone()
		level.Window(src, x, y, edge, fill, got)
		for c := range 3 {
			if i := differs(got.Plane[c], want.Plane[c]); i >= 0 {
				t.Fatalf("%d x %d at %d, %d of %d x %d with edge %d at level %d: channel %d byte %d is %d instead of %d",
					width, height, x, y, src.Width, src.Height, edge, level, c, i, got.Plane[c][i], want.Plane[c][i])
			}
		}
	}
}

func TestWindowAgreesWithTwin(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 3))
	for turn := range 400 {
		src := noise(1+r.IntN(40), 1+r.IntN(20), 3-2*(turn/4%2), r.IntN(5), r.Uint32())
		checkWindow(t, src, r.IntN(200)-100, r.IntN(200)-100, r.IntN(150), r.IntN(60), Edge(turn%4))
	}
}

func TestSplitAndJoin(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	for range 200 {
		width, height, x, y, gap := 1+r.IntN(90), 1+r.IntN(9), r.IntN(9), r.IntN(5), r.IntN(20)
		stride := 4*(x+width) + gap
		src := make([]byte, stride*(y+height))
		for i := range src {
			src[i] = byte(r.Uint32())
		}
		want := noise(width, height, 3, gap, 1)
		blank := want.clone()
		SplitGeneric(src, stride, x, y, want)
		back := bytes.Clone(src)
		JoinGeneric(want, back, stride)
		for _, level := range levels {
			got, pixels := blank.clone(), bytes.Clone(src)
			level.Split(src, stride, x, y, got)
			for c := range 3 {
				if !bytes.Equal(got.Plane[c], want.Plane[c]) {
					t.Fatalf("split of %d x %d at %d, %d at level %d differs in channel %d", width, height, x, y, level, c)
				}
			}
			level.Join(got, pixels, stride)
			if !bytes.Equal(pixels, back) {
				t.Fatalf("join of %d x %d at level %d differs", width, height, level)
			}
		}
	}
}

func TestEraseAgreesWithTwin(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 5))
	for turn := range 400 {
		spec := Spec{Spec: numbers.Spec{Type: types[turn%4], Channels: 3 - 2*(turn/4%2), Last: turn/8%2 == 1}}
		width, height := 1+r.IntN(40), 1+r.IntN(20)
		box := Box{X: r.IntN(width), Y: r.IntN(height)}
		box.Width, box.Height = r.IntN(width-box.X+1), r.IntN(height-box.Y+1)
		value := [3]float32{300 * r.Float32(), -2 * r.Float32(), 1e30}
		blank := newGuarded(spec.Channels*width*height*spec.Type.Size(), r.IntN(64))
		want := bytes.Clone(blank.row)
		EraseGeneric(&spec, want, width, height, box, value)
		for _, level := range levels {
			n := NewNormaliser(spec, level)
			clear(blank.row)
			copy(blank.row, bytes.Repeat([]byte{0xaa}, len(blank.row)))
			n.Erase(blank.row, width, height, box, value)
			if !bytes.Equal(blank.row, want) || !blank.whole() {
				t.Fatalf("%+v: box %+v of %d x %d at level %d differs", spec, box, width, height, level)
			}
		}
	}
}

// TestStepsArePillow pins what Pillow 13.0.0 and torchvision 0.29.2 make of a
// picture of noise; the factors are float32.
func TestStepsArePillow(t *testing.T) {
	for _, c := range []struct {
		step   string
		factor float32
		want   uint32
	}{
		{"hflip", 0, 0x711a6535},
		{"vflip", 0, 0xc06b4d5},
		{"grey1", 0, 0x47872c47},
		{"grey3", 0, 0x27c3f687},
		{"brightness", 0, 0xe3a4c83},
		{"brightness", 0.3, 0x451fd75e},
		{"brightness", 1, 0xa8f7156},
		{"brightness", 1.7, 0x9c1654bc},
		{"contrast", 0, 0xf2f4e729},
		{"contrast", 0.3, 0xb10d7d45},
		{"contrast", 1, 0xa8f7156},
		{"contrast", 1.7, 0xfac3fb9f},
		{"saturation", 0, 0x27c3f687},
		{"saturation", 0.3, 0xf5249f88},
		{"saturation", 1, 0xa8f7156},
		{"saturation", 1.7, 0x5ee3785d},
		{"hue", 0.5, 0x34d9573b},
		{"hue", 0.9, 0x1220998f},
		{"hue", 1, 0xf86b052f},
		{"hue", 1.07, 0x39665784},
		{"hue", 1.5, 0x3ba044be},
	} {
		for _, level := range levels {
			p := noise(61, 47, 3, 0, 4)
			for _, s := range steps {
				if s.name == c.step {
					s.do(level, &p, c.factor)
				}
			}
			if got := p.sum(); got != c.want {
				t.Errorf("%s by %v at level %d: %#08x instead of Pillow's %#08x", c.step, c.factor, level, got, c.want)
			}
		}
	}
}

// TestWindowIsTorchvision pins torchvision's pad by [70, 3, 9, 50] (left, top,
// right, bottom) of that picture, mode by mode; the colour is 10, 20, 30.
func TestWindowIsTorchvision(t *testing.T) {
	for edge, want := range []uint32{0x18f8b768, 0x61fd45dd, 0x6511b4d5, 0xb32f40d8} {
		for _, level := range levels {
			p := NewPlanes(70+61+9, 3+47+50, 3)
			level.Window(noise(61, 47, 3, 0, 4), -70, -3, Edge(edge), [3]byte{10, 20, 30}, p)
			if got := p.sum(); got != want {
				t.Errorf("edge %d at level %d: %#08x instead of torchvision's %#08x", edge, level, got, want)
			}
		}
	}
}

// TestAllColoursArePillow pins all 2^24 colours: red changes slowest.
func TestAllColoursArePillow(t *testing.T) {
	if testing.Short() {
		t.Skip("sixteen million colours; run without -short")
	}
	all := NewPlanes(4096, 4096, 3)
	for _, c := range []struct {
		step   string
		factor float32
		want   uint32
	}{
		{"grey1", 0, 0x15a2d22c},
		{"saturation", 0.3, 0xaf81a33},
		{"saturation", 1.7, 0x1dbdf2e5},
		{"hue", 1, 0x414ac100},
		{"hue", 1.1, 0xb09defff},
		{"hue", 0.5, 0x8baaca},
	} {
		for _, level := range levels {
			for i := range 1 << 24 {
				all.Plane[0][i], all.Plane[1][i], all.Plane[2][i] = byte(i>>16), byte(i>>8), byte(i)
			}
			p := all
			for _, s := range steps {
				if s.name == c.step {
					s.do(level, &p, c.factor)
				}
			}
			sum := uint32(0)
			for channel := range p.Channels {
				sum = crc32.Update(sum, crc32.IEEETable, p.Plane[channel])
			}
			if sum != c.want {
				t.Errorf("%s by %v at level %d: %#08x instead of Pillow's %#08x", c.step, c.factor, level, sum, c.want)
			}
		}
	}
}

func FuzzSteps(f *testing.F) {
	f.Add([]byte{0, 1, 127, 128, 255, 3, 9, 200, 77}, uint8(3), uint8(0), float32(0.5))
	f.Add(bytes.Repeat([]byte{7, 80, 255, 1}, 99), uint8(130), uint8(5), float32(1.7))
	f.Fuzz(func(t *testing.T, data []byte, width, gap uint8, factor float32) {
		if factor != factor || factor < 0 {
			return // torchvision refuses both
		}
		channels, stride := 3-2*int(gap&1), int(width)+int(gap)
		if width == 0 || len(data) < stride*channels {
			return
		}
		p := Planes{Stride: stride, Width: int(width), Height: min(len(data)/channels/stride, 40), Channels: channels}
		for c := range 3 {
			p.Plane[c] = make([]byte, stride*p.Height)
			if c < channels {
				copy(p.Plane[c], data[c*stride*p.Height:])
			}
		}
		checkSteps(t, p, factor)
		checkWindow(t, p, int(gap)-128, int(width)-128, 50, 9, Edge(gap%4))
	})
}

func BenchmarkSteps(b *testing.B) {
	for _, s := range steps {
		for _, level := range levels {
			b.Run(fmt.Sprintf("%s/level=%d", s.name, level), func(b *testing.B) {
				p := noise(224, 224, 3, 0, 1)
				b.SetBytes(3 * 224 * 224)
				for b.Loop() {
					s.do(level, &p, 1.1)
					p.Channels = 3
				}
			})
		}
	}
}
