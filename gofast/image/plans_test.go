package image

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/gofast-org/gofast/gofast/numbers"
)

// with is a step with other fields.
func with(s Step, more ...Step) Step {
	s = maps.Clone(s)
	for _, fields := range more {
		maps.Copy(s, fields)
	}
	return s
}

func anyOf[T any](r *rand.Rand, values ...T) T { return values[r.IntN(len(values))] }

// randomPlan makes a plan whose samples have one size.
func randomPlan(r *rand.Rand) Plan {
	steps := []Step{}
	for range r.IntN(4) {
		steps = append(steps, randomStep(r, 0))
	}
	height, width := 1+r.IntN(40), 1+r.IntN(40)
	last := Step{"op": "resize", "size": []int{height, width}, "filter": randomFilter(r)}
	if r.IntN(2) == 0 {
		last = randomBox(r, with(last, Step{"op": "random_resized_crop"}))
	}
	steps = append(steps, last)
	if r.IntN(3) == 0 {
		kernel := []int{r.IntN((width+1)/2)/2*2 + 1, r.IntN((height+1)/2)/2*2 + 1}
		steps = append(steps, Step{"op": "gaussian_blur", "kernel": kernel, "sigma": []float64{0.1, 3}})
	}
	out := Output{DType: numbers.Float32, Height: height, Width: width, Channels: 3, ChannelsLast: r.IntN(3) == 0}
	if r.IntN(3) == 0 {
		steps = append(steps, Step{"op": "grayscale", "channels": 1})
		out.Channels = 1
	}
	if r.IntN(5) == 0 {
		out.Height, out.Width, out.Crops, out.ChannelsLast = 1+r.IntN(height), 1+r.IntN(width), 5, false
		crops := Step{"op": "five_crop", "size": []int{out.Height, out.Width}}
		if r.IntN(2) == 0 {
			crops, out.Crops = with(crops, Step{"op": "ten_crop", "vertical": r.IntN(2) == 0}), 10
		}
		steps = append(steps, crops)
	}
	if r.IntN(3) == 0 {
		out.DType = numbers.Uint8
		steps = append(steps, Step{"op": "to_uint8"})
	} else {
		steps = append(steps, Step{"op": "to_float", "how": []string{"divide", "multiply", "cast"}[r.IntN(3)]})
		if r.IntN(2) == 0 {
			steps = append(steps, Step{"op": "normalize", "mean": []float32{0.485, 0.456, 0.406}[:out.Channels], "std": []float32{0.229, 0.224, 0.225}[:out.Channels]})
		}
	}
	for range r.IntN(4) {
		if out.Crops > 0 {
			break // they are the last
		}
		late := Step{"op": []string{"hflip", "vflip"}[r.IntN(2)], "p": 0.5}
		if r.IntN(2) == 0 {
			late = randomBox(r, Step{"op": "random_erasing", "p": 0.7, "value": slices.Repeat([]int{r.IntN(256)}, 3)})
		}
		if r.IntN(4) == 0 {
			late = Step{"op": "random_apply", "version": "v1", "p": 0.5, "steps": []Step{late}}
		} else if r.IntN(4) == 0 {
			late = Step{"op": "random_order", "version": "v2", "members": [][]Step{{{"op": "hflip", "p": 0.5}}, {late}}}
		}
		steps = append(steps, late)
	}
	return Plan{Steps: steps, Output: out}
}

func randomFilter(r *rand.Rand) string {
	return anyOf(r, "nearest", "box", "bilinear", "hamming", "bicubic", "lanczos", "torch_bilinear", "torch_bicubic")
}

func randomBox(r *rand.Rand, s Step) Step {
	return with(s, Step{"scale": []float64{0.02, 0.05 + r.Float64()}, "ratio": []float64{0.4, 2.5},
		"log_ratio": []float64{math.Log(0.4), math.Log(2.5)}})
}

func randomStep(r *rand.Rand, depth int) Step {
	size := []int{1 + r.IntN(50), 1 + r.IntN(50)}
	sized, filtered := Step{"size": size}, Step{"filter": randomFilter(r)}
	chance, version := Step{"p": 0.6}, Step{"version": anyOf(r, "v1", "v2")}
	padding := Step{"padding": []int{r.IntN(9), r.IntN(9), r.IntN(9), r.IntN(60)}}
	edge := Step{"mode": anyOf(r, "constant", "edge", "reflect", "symmetric"), "fill": []int{r.IntN(256), r.IntN(256), r.IntN(256)}}
	factors := Step{"brightness": []float64{0.2, 2}, "contrast": []float64{0, 3}, "saturation": []float64{0.5, 1.5}, "hue": []float64{-0.5, 0.5}}
	named := func(op string, fields ...Step) Step { return with(Step{"op": op}, fields...) }
	switch r.IntN(19) {
	case 0:
		return named("resize", sized, filtered)
	case 1:
		return named("resize", filtered, Step{"size": size[:1], "max_size": size[0] + 1 + r.IntN(30)})
	case 2:
		return named("center_crop", sized)
	case 3:
		return named("pad", padding, edge)
	case 4:
		return named("random_crop", sized, edge, version, anyOf(r, padding, nil), Step{"pad_if_needed": true})
	case 5:
		return randomBox(r, named("random_resized_crop", sized, filtered))
	case 6:
		return named(anyOf(r, "hflip", "vflip"), chance)
	case 7:
		return named(anyOf(r, "random_grayscale", "random_autocontrast", "random_equalize"), chance, version, Step{"tensor": r.IntN(2) == 0})
	case 8:
		return named("random_solarize", chance, version, Step{"threshold": anyOf(r, 0, 1, r.IntN(257), 255, 256), "tensor": r.IntN(2) == 0})
	case 9:
		return named("grayscale", version, Step{"channels": 3, "tensor": r.IntN(2) == 0})
	case 10:
		return randomAugment(r, version, edge["fill"])
	case 11:
		return anyOf(r, named("channel_permutation"), named("photometric_distort", factors, Step{"p": 0.7}),
			named("color_jitter", factors), named("color_jitter", factors, version, Step{"tensor": true}))
	case 12:
		return named("random_zoom_out", chance, edge, Step{"scale": []float64{1, 1 + 2*r.Float64()}})
	case 13:
		return named("random_resize", filtered, Step{"size": []int{size[0], size[0] + size[1]}})
	case 14:
		return named("random_shortest_size", filtered, Step{"sides": size, "max_size": 60 * r.IntN(2)})
	case 15:
		return named("scale_jitter", sized, filtered, Step{"scale": []float64{0.5, 1.5}})
	case 16:
		return named("random_apply", chance, version, Step{"steps": randomSteps(r, 3-min(depth, 2), depth)})
	default:
		members, numbers := [][]Step{}, []float64{}
		for range 3 - min(depth, 2) {
			members = append(members, randomSteps(r, r.IntN(3-min(depth, 2)), depth))
			numbers = append(numbers, r.Float64())
		}
		slices.Sort(numbers) // sums of chances, in v1
		return anyOf(r, named("random_order", version, Step{"members": members}),
			named("random_choice", version, Step{"members": members, "numbers": numbers}))
	}
}

func randomSteps(r *rand.Rand, count, depth int) []Step {
	steps := []Step{}
	for range count {
		steps = append(steps, randomStep(r, depth+1))
	}
	return steps
}

// randomAugment is a step that samples a picture elsewhere, or one of augmentations.
func randomAugment(r *rand.Rand, version Step, fill any) Step {
	seen := with(version, Step{"seen": anyOf(r, "nearest", "bilinear", "bicubic"), "fill": fill})
	tensor := seen["seen"] != "bicubic" && r.IntN(2) == 0
	if seen["tensor"] = tensor; tensor && r.IntN(2) == 0 {
		seen["fill"] = nil
	}
	angles := with(seen, Step{"degrees": anyOf(r, []int{-30, 200}, []int{90, 90}, []int{270, 270}, []int{180, 180}, []int{0, 0})})
	if r.IntN(3) == 0 {
		angles["center"] = []float64{r.Float64() * 30, float64(r.IntN(30))}
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
	magnitudes := func(bins int) Step {
		numbers := make([]float64, 14*bins)
		for i := range numbers {
			numbers[i] = magnitude(i / bins)
		}
		return Step{"numbers": numbers}
	}
	switch r.IntN(9) {
	case 0:
		return with(angles, Step{"op": "random_rotation", "expand": !tensor && r.IntN(2) == 0})
	case 1:
		return with(angles, Step{"op": "random_affine"})
	case 2:
		return with(angles, Step{"op": "random_affine", "translate": []float64{0.2, 0.5}, "scale": []float64{0.5, 2}, "shear_x": []int{-20, 20}},
			anyOf(r, nil, Step{"shear_y": []int{0, 40}}))
	case 3:
		return with(seen, Step{"op": "random_perspective", "p": 0.6, "distortion": 0.9 * r.Float64()})
	case 4:
		return with(seen, Step{"op": "trivial_augment"}, magnitudes(1+r.IntN(5)))
	case 5:
		return with(seen, Step{"op": "rand_augment"}, magnitudes(1))
	case 6:
		numbers := []float64{}
		for range 2 * (1 + r.IntN(9)) {
			which := r.IntN(15)
			numbers = append(numbers, float64(which), r.Float64(), magnitude(which))
		}
		return with(seen, Step{"op": "auto_augment", "numbers": numbers})
	case 7:
		return with(version, Step{"p": 0.6}, anyOf(r, Step{"op": "random_posterize", "bits": 1 + r.IntN(8)},
			Step{"op": "random_sharpness", "tensor": tensor, "factor": 3*r.Float64() - 0.5}))
	default:
		return randomAugmix(r, version)
	}
}

func randomAugmix(r *rand.Rand, version Step) Step {
	operations := anyOf(r, 9, 13)
	numbers := make([]float64, 12*operations*(1+r.IntN(3)))
	each := len(numbers) / operations
	for i := range numbers {
		switch which := i / each; {
		case which < 5:
			numbers[i] = r.NormFloat64() * 0.05
		case which == 5:
			numbers[i] = float64(int(0xff00) >> r.IntN(9) & 0xff)
		case which == 6:
			numbers[i] = float64(r.IntN(257))
		default:
			numbers[i] = 2 * r.Float64()
		}
	}
	return with(version, Step{"op": "augmix", "chains": 1 + r.IntN(3), "depth": r.IntN(9), "alpha": math.Exp(r.NormFloat64()),
		"operations": operations, "numbers": numbers, "seen": anyOf(r, "nearest", "bilinear"), "fused": r.IntN(2) == 0})
}
