package image

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/gofast-org/gofast/gofast/image/steps"
)

// randomPlan makes a plan whose samples have one size.
func randomPlan(r *rand.Rand) Plan {
	steps := []Step{}
	for range r.IntN(4) {
		steps = append(steps, randomStep(r, 0))
	}
	height, width := 1+r.IntN(40), 1+r.IntN(40)
	last := Step{Op: "resize", Size: []int{height, width}, Filter: randomFilter(r)}
	if r.IntN(2) == 0 {
		last = randomBox(r, Step{Op: "random_resized_crop", Size: last.Size, Filter: last.Filter})
	}
	steps = append(steps, last)
	if r.IntN(3) == 0 {
		kernel := []int{r.IntN((width+1)/2)/2*2 + 1, r.IntN((height+1)/2)/2*2 + 1}
		steps = append(steps, Step{Op: "gaussian_blur", Kernel: kernel, Sigma: []float64{0.1, 3}})
	}
	out := Output{DType: "float32", Height: height, Width: width, Channels: 3, ChannelsLast: r.IntN(3) == 0}
	if r.IntN(3) == 0 {
		steps = append(steps, Step{Op: "grayscale", Channels: 1})
		out.Channels = 1
	}
	if r.IntN(5) == 0 {
		out.Height, out.Width, out.Crops, out.ChannelsLast = 1+r.IntN(height), 1+r.IntN(width), 5, false
		crops := Step{Op: "five_crop", Size: []int{out.Height, out.Width}, Vertical: r.IntN(2) == 0}
		if r.IntN(2) == 0 {
			crops.Op, out.Crops = "ten_crop", 10
		}
		steps = append(steps, crops)
	}
	if r.IntN(3) == 0 {
		out.DType = "uint8"
		steps = append(steps, Step{Op: "to_uint8"})
	} else {
		steps = append(steps, Step{Op: "to_float", How: []string{"divide", "multiply", "cast"}[r.IntN(3)]})
		if r.IntN(2) == 0 {
			steps = append(steps, Step{Op: "normalize", Mean: []float32{0.485, 0.456, 0.406}[:out.Channels], Std: []float32{0.229, 0.224, 0.225}[:out.Channels]})
		}
	}
	for range r.IntN(4) {
		if out.Crops > 0 {
			break // they are the last
		}
		late := Step{Op: []string{"hflip", "vflip"}[r.IntN(2)], P: 0.5}
		if r.IntN(2) == 0 {
			late = randomBox(r, Step{Op: "random_erasing", P: 0.7, Value: []float32{float32(r.IntN(256))}})
		}
		if r.IntN(4) == 0 {
			late = Step{Op: "random_apply", Version: "v1", P: 0.5, Steps: []Step{late}}
		} else if r.IntN(4) == 0 {
			late = Step{Op: "random_order", Version: "v2", Members: [][]Step{{{Op: "hflip", P: 0.5}}, {late}}}
		}
		steps = append(steps, late)
	}
	return Plan{Steps: steps, Output: out}
}

func randomFilter(r *rand.Rand) string {
	return []string{"nearest", "box", "bilinear", "hamming", "bicubic", "lanczos", "torch_bilinear", "torch_bicubic"}[r.IntN(8)]
}

func randomBox(r *rand.Rand, s Step) Step {
	s.Scale, s.Ratio = []float64{0.02, 0.05 + r.Float64()}, []float64{0.4, 2.5}
	s.LogRatio = []float32{float32(math.Log(0.4)), float32(math.Log(2.5))}
	return s
}

func randomStep(r *rand.Rand, depth int) Step {
	size := []int{1 + r.IntN(50), 1 + r.IntN(50)}
	padding := []int{r.IntN(9), r.IntN(9), r.IntN(9), r.IntN(60)}
	s := Step{Size: size, Padding: padding, P: 0.6, Mode: []string{"constant", "edge", "reflect", "symmetric"}[r.IntN(4)],
		Fill: []int{r.IntN(256), r.IntN(256), r.IntN(256)}, Filter: randomFilter(r), Version: []string{"v1", "v2"}[r.IntN(2)]}
	factors := Step{P: 0.7, Brightness: []float64{0.2, 2}, Contrast: []float64{0, 3}, Saturation: []float64{0.5, 1.5}, Hue: []float64{-0.5, 0.5}}
	switch op := r.IntN(16); op {
	case 0:
		s.Op = "resize"
	case 1:
		s.Op, s.Size, s.MaxSize = "resize", size[:1], size[0]+1+r.IntN(30)
	case 2:
		return Step{Op: "center_crop", Size: size}
	case 3:
		s.Op = "pad"
	case 4:
		s.Op, s.PadIfNeeded = "random_crop", true
		if r.IntN(2) == 0 {
			s.Padding = nil
		}
	case 5:
		s.Op = "random_resized_crop"
		s = randomBox(r, s)
	case 6:
		s.Op = []string{"hflip", "vflip", "random_grayscale", "random_solarize", "grayscale"}[r.IntN(5)]
		s.Tensor = r.IntN(2) == 0
		s.Channels, s.Threshold = 3, []int{0, 1, r.IntN(257), 255, 256}[r.IntN(5)]
	case 7:
		if r.IntN(4) == 0 {
			return randomAugmix(r, s)
		}
		return randomAugment(r, s)
	case 8:
		factors.Op = []string{"color_jitter", "photometric_distort", "channel_permutation"}[r.IntN(3)]
		if factors.Op == "color_jitter" && r.IntN(2) == 0 {
			factors.Tensor, factors.Version = true, s.Version
		}
		return factors
	case 9:
		s.Op, s.Scale = "random_zoom_out", []float64{1, 1 + 2*r.Float64()}
	case 10:
		s.Op, s.Size = "random_resize", []int{size[0], size[0] + size[1]}
	case 11:
		s.Op, s.Sides, s.MaxSize = "random_shortest_size", size, 60*r.IntN(2)
	case 12:
		s.Op, s.Scale = "scale_jitter", []float64{0.5, 1.5}
	default:
		s.Op = []string{"random_apply", "random_choice", "random_order"}[op-13]
		for range 3 - min(depth, 2) {
			if op == 13 {
				s.Steps = append(s.Steps, randomStep(r, depth+1))
				continue
			}
			member := []Step{}
			for range r.IntN(3 - min(depth, 2)) {
				member = append(member, randomStep(r, depth+1))
			}
			s.Members, s.Numbers = append(s.Members, member), append(s.Numbers, r.Float64())
		}
		slices.Sort(s.Numbers) // sums of chances, in v1
	}
	return s
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
