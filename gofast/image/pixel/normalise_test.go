package pixel

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/gofast-org/gofast/gofast/numbers"
)

var (
	levels = []Level{Plain, AVX2, AVX512}
	types  = []numbers.Type{numbers.Float32, numbers.Float16, numbers.Bfloat16, numbers.Uint8}
)

var (
	imagenetMean = []float32{0.485, 0.456, 0.406}
	imagenetStd  = []float32{0.229, 0.224, 0.225}
)

// guarded is an output of size bytes, offset bytes after an alignment of 64,
// with a margin that a stray store would show in.
type guarded struct{ all, row []byte }

func address(b []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(b))) }

func newGuarded(size, offset int) guarded {
	all := bytes.Repeat([]byte{0xaa}, size+offset+192)
	from := 64 + offset + int(-address(all)&63)
	return guarded{all, all[from : from+size : from+size]}
}

func (g guarded) whole() bool {
	margin := len(g.all) - len(g.row)
	return bytes.Count(g.all, []byte{0xaa})-bytes.Count(g.row, []byte{0xaa}) == margin
}

// rows makes the outputs of one row.
func rows(spec *Spec, width, offset int) (out [3][]byte, guards []guarded) {
	n, size := spec.Channels, width*spec.Type.Size()
	if spec.Last {
		n, size = 1, spec.Channels*size
	}
	for c := range n {
		g := newGuarded(size, offset*spec.Type.Size())
		guards = append(guards, g)
		out[c] = g.row
	}
	return out, guards
}

// checkNormaliser compares every level with the twin, from planar rows and from pixels.
func checkNormaliser(t *testing.T, spec Spec, pixels []byte, offset int) {
	t.Helper()
	width := len(pixels) / 4
	var src [3][]byte
	for c := range 3 {
		src[c] = make([]byte, width)
		for i := range width {
			src[c][i] = pixels[4*i+c]
		}
	}
	want, _ := rows(&spec, width, offset)
	PlanarGeneric(&spec, src, want)
	for _, level := range levels {
		n := NewNormaliser(spec, level)
		for _, from := range []string{"planar", "rgbx"} {
			if from == "rgbx" && spec.Channels == 1 {
				continue
			}
			got, guards := rows(&spec, width, offset)
			if from == "planar" {
				n.Planar(src, got)
			} else {
				n.RGBX(pixels, got)
			}
			for c, g := range guards {
				if !bytes.Equal(got[c], want[c]) {
					t.Fatalf("%+v from %s at level %d, offset %d, channel %d:\n got %x\nwant %x", spec, from, level, offset, c, got[c], want[c])
				}
				if !g.whole() {
					t.Fatalf("%+v from %s at level %d, offset %d wrote beside its row", spec, from, level, offset)
				}
			}
		}
	}
}

func TestNormaliserAgreesWithTwin(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 1))
	for turn := range 600 {
		spec := Spec{Stream: turn/16%2 == 1, Spec: numbers.Spec{Scale: numbers.Scale(turn % 3), Type: types[turn/2%4], Channels: 3, Last: turn/8%2 == 1}}
		if turn/32%4 == 0 {
			spec.Channels = 1
		}
		switch turn / 128 % 3 {
		case 0:
			spec.Mean, spec.Std = imagenetMean[:spec.Channels], imagenetStd[:spec.Channels]
		case 1:
			for range spec.Channels {
				spec.Mean, spec.Std = append(spec.Mean, r.Float32()), append(spec.Std, 0.01+r.Float32())
			}
		}
		pixels := make([]byte, 4*(turn%163))
		for i := range pixels {
			pixels[i] = byte(r.Uint32())
		}
		checkNormaliser(t, spec, pixels, r.IntN(17))
	}
}

// TestNormaliserIsTorch pins the bytes that torch 2.15 makes of all 256 values
// of three channels with ImageNet's constants (NCHW).
func TestNormaliserIsTorch(t *testing.T) {
	pixels := make([]byte, 4*256)
	for i := range pixels {
		pixels[i] = byte(i / 4)
	}
	for _, c := range []struct {
		scale numbers.Scale
		as    numbers.Type
		want  uint32
	}{
		{numbers.Divide, numbers.Float32, 0xbd18b1b8},
		{numbers.Divide, numbers.Float16, 0xb1277a80},
		{numbers.Divide, numbers.Bfloat16, 0x65f4d4f3},
		{numbers.Multiply, numbers.Float32, 0x1cc110bd},
		{numbers.Multiply, numbers.Float16, 0xb1277a80},
		{numbers.Multiply, numbers.Bfloat16, 0x65f4d4f3},
	} {
		for _, level := range levels {
			n := NewNormaliser(Spec{Spec: numbers.Spec{Scale: c.scale, Mean: imagenetMean, Std: imagenetStd, Type: c.as, Channels: 3}}, level)
			size := 256 * c.as.Size()
			sample := make([]byte, 3*size)
			n.RGBX(pixels, [3][]byte{sample[:size], sample[size : 2*size], sample[2*size:]})
			if got := crc32.ChecksumIEEE(sample); got != c.want {
				t.Errorf("scale %d as %s level %d: %#08x instead of torch's %#08x", c.scale, c.as, level, got, c.want)
			}
			if level != Plain && level <= Best && n.Tabled() {
				t.Errorf("scale %d as %s level %d is looked up: arithmetic no longer gives torch's bits", c.scale, c.as, level)
			}
		}
	}
}

// TestNormaliserFallsBack has constants that no arithmetic of ours survives.
func TestNormaliserFallsBack(t *testing.T) {
	spec := Spec{Spec: numbers.Spec{Scale: numbers.Divide, Mean: []float32{0.5}, Std: []float32{1e-42}, Type: numbers.Float32, Channels: 1}}
	checkNormaliser(t, spec, bytes.Repeat([]byte{0, 100, 200, 255}, 40), 0)
	n := NewNormaliser(spec, Best)
	if !n.Tabled() {
		t.Error("arithmetic with 1 / 1e-42 passed for torch's division")
	}
}

func FuzzNormaliser(f *testing.F) {
	f.Add([]byte{0, 1, 127, 128, 255, 3, 9, 200}, uint8(0), uint8(0), true, uint8(3), float32(0.485), float32(0.229))
	f.Add(bytes.Repeat([]byte{7, 80, 255, 1}, 99), uint8(1), uint8(2), false, uint8(0), float32(0), float32(1))
	f.Fuzz(func(t *testing.T, pixels []byte, scale, as uint8, last bool, offset uint8, mean, std float32) {
		if std == 0 || mean != mean || std != std || mean-mean != 0 {
			return // torchvision refuses the first; NaN has many bit patterns
		}
		spec := Spec{Stream: offset%2 == 0, Spec: numbers.Spec{Scale: numbers.Scale((scale + 1) % 3), Type: types[as%4], Channels: 3, Last: last,
			Mean: []float32{mean, 0.5, 0}, Std: []float32{std, 0.5, 1}}}
		checkNormaliser(t, spec, pixels[:min(len(pixels), 1200)/4*4], int(offset%32))
	})
}

func BenchmarkNormalise(b *testing.B) {
	const side, batch = 224, 128 // 77 MB of float32: more than a core's caches
	picture := make([]byte, 3*side*side)
	for i := range picture {
		picture[i] = byte(i * 7)
	}
	for _, as := range types {
		out := make([]byte, 3*side*side*as.Size()*batch)
		for _, last := range []bool{false, true} {
			for _, level := range levels {
				b.Run(fmt.Sprintf("as=%s/last=%v/level=%d", as, last, level), func(b *testing.B) {
					n := NewNormaliser(Spec{Stream: true, Spec: numbers.Spec{
						Scale: numbers.Divide, Mean: imagenetMean, Std: imagenetStd, Type: as, Channels: 3, Last: last}}, level)
					plane := side * side * as.Size()
					b.SetBytes(3 * side * side)
					for i := 0; b.Loop(); i++ {
						sample := out[i%batch*3*plane:]
						n.Planar([3][]byte{picture[:side*side], picture[side*side : 2*side*side], picture[2*side*side:]},
							[3][]byte{sample[:3*plane], sample[plane : 2*plane], sample[2*plane : 3*plane]})
					}
				})
			}
		}
	}
}
