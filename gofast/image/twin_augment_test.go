package image

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/gofast-org/gofast/gofast/image/pixel"
	"github.com/gofast-org/gofast/gofast/image/steps"
)

// tensorTones are mixed's operations from tensorTone on.
var tensorTones = []string{"random_autocontrast", "", "", "", "", "random_sharpness"}

const tensorTone = 7

// augment is the twin of the steps that transform a picture or change its tones.
func (t *twin) augment(s Step, words []int32) {
	width, height := float64(t.planes.Width), float64(t.planes.Height)
	center := [2]float64{width * 0.5, height * 0.5}
	if s.Center != nil {
		center = [2]float64(s.Center)
	}
	number := func(i int) float64 { return float64(math.Float32frombits(uint32(words[i]))) }
	switch s.Op {
	case "random_rotation":
		t.rotate(s, number(0))
	case "random_affine":
		if s.Tensor && s.Center == nil {
			center = [2]float64{}
		} else if s.Tensor {
			center = [2]float64{center[0] - width*0.5, center[1] - height*0.5}
		}
		t.affine(s, number(0), number(3), [2]float64{number(4), number(5)}, [2]float64{float64(words[1]), float64(words[2])}, center)
	case "random_perspective":
		if words[0] != 0 {
			numbers := make([]float64, 8)
			for i := range numbers {
				numbers[i] = number(10 + i)
			}
			t.warp(s, numbers, t.planes.Width, t.planes.Height)
		}
	case "trivial_augment", "rand_augment", "auto_augment":
		for ; len(words) > 0; words = words[3:] {
			t.one(s, words[0], math.Float64frombits(uint64(uint32(words[1]))|uint64(uint32(words[2]))<<32), center)
		}
	case "augmix":
		t.augmix(s, words)
	default:
		which := slices.Index(tensorTones, s.Op)
		switch {
		case words[0] == 0:
		case s.Tensor && which >= 0:
			t.planes = mixed(t.planes, s, tensorTone+which, []float64{s.Factor})
		default:
			t.tone(s.Op, s.Bits, float32(s.Factor))
		}
	}
}

// one is an operation of an augmentation, in augment.h's order.
func (t *twin) one(s Step, which int32, m float64, center [2]float64) {
	shear, move, none := steps.Slope(m), math.Trunc(m), [2]float64{}
	s.Center, s.Expand = nil, false
	corner := none
	if s.Tensor {
		corner, center = [2]float64{-0.5 * float64(t.planes.Width), -0.5 * float64(t.planes.Height)}, none
	}
	if tone, ok := map[int32]int{6: 9, 7: 10, 8: 11, 9: 12, 12: 7}[which]; ok && s.Tensor {
		t.planes = mixed(t.planes, s, tone, []float64{1 + m})
		return
	}
	switch which {
	case 1:
		t.affine(s, 0, 1, [2]float64{shear, 0}, none, corner)
	case 2:
		t.affine(s, 0, 1, [2]float64{0, shear}, none, corner)
	case 3:
		t.affine(s, 0, 1, none, [2]float64{move, 0}, center)
	case 4:
		t.affine(s, 0, 1, none, [2]float64{0, move}, center)
	case 5:
		t.rotate(s, m)
	case 6:
		pixel.BrightnessGeneric(t.planes, float32(1+m))
	case 7:
		if t.planes.Channels == 3 {
			pixel.SaturationGeneric(t.planes, float32(1+m))
		}
	case 8:
		pixel.ContrastGeneric(t.planes, float32(1+m))
	case 0:
	default:
		t.tone([]string{"random_sharpness", "random_posterize", "solarize", "random_autocontrast", "random_equalize", "invert"}[which-9], int(m), float32(1+m))
	}
}

func (t *twin) rotate(s Step, angle float64) {
	if s.Tensor {
		quarter := s.Center == nil && (math.Mod(angle, 180) == 0 || math.Mod(angle, 90) == 0 && t.planes.Width == t.planes.Height)
		if s.Version == "v1" || !quarter {
			t.rotateTensor(s, angle)
			return
		}
	}
	s.Degrees = []float64{angle, angle}
	quarters, numbers, size, err := steps.Rotation(s, angle, steps.Size{Width: int32(t.planes.Width), Height: int32(t.planes.Height)})
	switch {
	case err != nil:
		panic(err)
	case quarters < 0:
		t.warp(s, numbers[:], int(size.Width), int(size.Height))
	case quarters == 2:
		pixel.HFlipGeneric(t.planes)
		pixel.VFlipGeneric(t.planes)
	case quarters > 0:
		out := pixel.NewPlanes(int(size.Width), int(size.Height), t.planes.Channels)
		pixel.TurnGeneric(t.planes, quarters, out)
		t.planes = out
	}
}

func (t *twin) rotateTensor(s Step, angle float64) {
	none, center := [2]float64{}, [2]float64{}
	if s.Center != nil {
		center = [2]float64{s.Center[0] - float64(t.planes.Width)*0.5, s.Center[1] - float64(t.planes.Height)*0.5}
	}
	if angle = -angle; s.Version == "v2" {
		if angle = math.Mod(-angle, 360); angle < 0 {
			angle += 360
		}
		angle = -angle
	}
	t.affine(s, angle, 1, none, none, center)
}

func (t *twin) affine(s Step, angle, scale float64, shear, move, center [2]float64) {
	numbers := steps.Affine(s.Version, angle, scale, shear, move, center)
	if s.Tensor {
		halves := [2]float32{float32(t.planes.Width) / 2, float32(t.planes.Height) / 2}
		for i, v := range numbers {
			numbers[i] = float64(float32(v) / halves[i/3])
		}
		t.planes = mixed(t.planes, s, 0, numbers[:])
		return
	}
	t.warp(s, numbers[:], t.planes.Width, t.planes.Height)
}

// warp transforms by six numbers, or by the eight of a perspective.
func (t *twin) warp(s Step, numbers []float64, width, height int) {
	out := pixel.NewPlanes(width, height, t.planes.Channels)
	transform := pixel.Transform{Filter: steps.Seen[s.Seen], Perspective: len(numbers) == 8}
	copy(transform.Numbers[:], numbers)
	for i, v := range s.Fill {
		transform.Fill[i] = byte(v)
	}
	pixel.WarpGeneric(t.planes, transform, out)
	t.planes = out
}

// tone does to each byte what a table of its channel says, or sharpens.
func (t *twin) tone(op string, number int, factor float32) {
	p, tables := t.planes, [3][256]byte{}
	if op == "random_sharpness" {
		t.planes = pixel.NewPlanes(p.Width, p.Height, p.Channels)
		pixel.SharpenGeneric(p, factor, t.planes)
		return
	}
	counts := pixel.HistogramGeneric(p)
	for c := range tables {
		low, high, step, seen := 255, 0, 0, 0
		for v, count := range counts[c] {
			if count > 0 {
				low, high = min(low, v), v
			}
		}
		for v := range high {
			step += int(counts[c][v])
		}
		step /= 255
		for v := range 256 {
			to := v
			switch {
			case op == "random_posterize":
				to = v >> (8 - number) << (8 - number)
			case op == "invert" || op == "solarize" && v >= number:
				to = 255 - v
			case op == "random_autocontrast" && high > low:
				scale := 255 / float64(high-low)
				to = min(max(int(float64(float64(v)*scale)+float64(float64(-low)*scale)), 0), 255)
			case op == "random_equalize" && step > 0:
				to = min((step/2+seen)/step, 255)
			}
			tables[c][v] = byte(to)
			seen += int(counts[c][v])
		}
	}
	pixel.LookUpGeneric(p, &tables)
}

func randomAugment(r *rand.Rand, s Step) Step {
	s.Op = []string{"random_rotation", "random_affine", "trivial_augment", "rand_augment", "auto_augment", "random_posterize",
		"random_autocontrast", "random_equalize", "random_sharpness", "random_perspective"}[r.IntN(10)]
	s.Distortion = 0.9 * r.Float64()
	s.Seen, s.Bits, s.Factor, s.Expand = []string{"nearest", "bilinear", "bicubic"}[r.IntN(3)], 1+r.IntN(8), 3*r.Float64()-0.5, r.IntN(2) == 0
	s.Degrees = [][]float64{{-30, 200}, {90, 90}, {270, 270}, {180, 180}, {0, 0}}[r.IntN(5)]
	if s.Op == "random_affine" && r.IntN(2) == 0 {
		s.Translate, s.Scale, s.Shear = []float64{0.2, 0.5}, []float64{0.5, 2}, []float64{-20, 20, 0, 40}[:2+2*r.IntN(2)]
	}
	if s.Tensor = s.Seen != "bicubic" && r.IntN(2) == 0; s.Tensor {
		if s.Expand = false; r.IntN(2) == 0 {
			s.Fill = nil
		}
	}
	if r.IntN(3) == 0 {
		s.Center = []float64{r.Float64() * 30, float64(r.IntN(30))}
	}
	magnitude := func(which int) float64 {
		switch {
		case which <= 2:
			return r.Float64()
		case which <= 5:
			return 90 * r.Float64() * float64(r.IntN(2))
		case which == 10:
			return float64(1 + r.IntN(8))
		case which == 11:
			return float64(r.IntN(257))
		}
		return 2*r.Float64() - 1
	}
	bins := map[string]int{"trivial_augment": 1 + r.IntN(5), "rand_augment": 1}[s.Op]
	for i := range steps.Space * bins {
		s.Numbers = append(s.Numbers, magnitude(i/bins))
	}
	if s.Op == "auto_augment" {
		for range 2 * (1 + r.IntN(9)) {
			which := r.IntN(steps.Space + 1)
			s.Numbers = append(s.Numbers, float64(which), r.Float64(), magnitude(which))
		}
	}
	return s
}
