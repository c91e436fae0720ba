package image

import (
	"encoding/binary"
	stdimage "image"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/gofast-org/gofast/gofast/image/pixel"
	"github.com/gofast-org/gofast/gofast/image/resample"
	"github.com/gofast-org/gofast/gofast/image/steps"
	"github.com/gofast-org/gofast/gofast/numbers"
)

// twin does a plan's steps one after the other with the kernels' plain twins,
// each on the whole picture: what the fused unit must come to.
type twin struct {
	planes   pixel.Planes
	crops    []pixel.Planes // of five_crop and ten_crop
	channels int            // of the tensor
	tensor   []float32
	record   []int32
}

func twinSample(plan Plan, picture *stdimage.RGBA, record []int32) []byte {
	t := twin{planes: split(picture), record: record}
	t.steps(plan.Steps, true)
	o := plan.Output
	size := numbers.Named(o.DType).Size()
	out := make([]byte, len(t.tensor)*size)
	for c := range t.channels * max(1, o.Crops) {
		for i := range o.Height * o.Width {
			v, at := t.tensor[c*o.Height*o.Width+i], c*o.Height*o.Width+i
			if o.ChannelsLast {
				at = i*t.channels + c
			}
			if size == 1 {
				out[at] = byte(v)
			} else {
				binary.LittleEndian.PutUint32(out[4*at:], math.Float32bits(v))
			}
		}
	}
	return out
}

func split(picture *stdimage.RGBA) pixel.Planes {
	p := pixel.NewPlanes(picture.Rect.Dx(), picture.Rect.Dy(), 3)
	pixel.SplitGeneric(picture.Pix, picture.Stride, 0, 0, p)
	return p
}

func (t *twin) take(n int) []int32 {
	words := t.record[:n]
	t.record = t.record[n:]
	return words
}

// steps runs them, or only goes past their words.
func (t *twin) steps(list []Step, on bool) {
	for _, s := range list {
		switch s.Op {
		case "random_apply":
			drawn := t.take(1)[0] != 0
			t.steps(s.Steps, on && drawn)
		case "random_choice":
			t.members(s, t.take(1), on)
		case "random_order":
			t.members(s, t.take(len(s.Members)), on)
		case "to_uint8", "to_float":
			t.convert(s)
		case "normalize":
			plane := t.planes.Width * t.planes.Height
			for i, v := range t.tensor {
				c := i / plane % len(s.Mean)
				t.tensor[i] = float32(v-s.Mean[c]) / s.Std[c]
			}
		default:
			words := t.take(steps.Words(s.Op))
			if !on {
				continue
			}
			if t.tensor == nil {
				t.onPicture(s, words)
			} else {
				t.onTensor(s, words)
			}
		}
	}
}

// members runs those that happen, in their order.
func (t *twin) members(s Step, happen []int32, on bool) {
	starts := [][]int32{}
	for _, member := range s.Members {
		starts = append(starts, t.record)
		t.steps(member, false)
	}
	behind := t.record
	for _, which := range happen {
		t.record = starts[which]
		t.steps(s.Members[which], on)
	}
	t.record = behind
}

func (t *twin) convert(s Step) {
	t.channels = t.planes.Channels
	if t.crops == nil {
		t.crops = []pixel.Planes{t.planes}
	}
	for _, p := range t.crops {
		t.convertOne(p, s)
	}
	t.planes = t.crops[0]
}

func (t *twin) convertOne(p pixel.Planes, s Step) {
	for c := range p.Channels {
		for y := range p.Height {
			for _, v := range p.Row(c, y) {
				x := float32(v)
				switch s.How {
				case "divide":
					x /= 255
				case "multiply":
					x = float32(x * float32(1.0/255.0))
				}
				t.tensor = append(t.tensor, x)
			}
		}
	}
}

func (t *twin) onTensor(s Step, words []int32) {
	w, h := t.planes.Width, t.planes.Height
	for y := range t.channels * h {
		row := t.tensor[y*w : (y+1)*w]
		if s.Op == "hflip" && words[0] != 0 {
			slices.Reverse(row)
		}
		if inPlane := y % h; s.Op == "vflip" && words[0] != 0 && inPlane < h/2 {
			other := t.tensor[(y-inPlane+h-1-inPlane)*w:][:w]
			for i := range row {
				row[i], other[i] = other[i], row[i]
			}
		}
		if s.Op == "random_erasing" && words[0] != 0 && y%h >= int(words[1]) && y%h < int(words[1]+words[3]) {
			for x := words[2]; x < words[2]+words[4]; x++ {
				row[x] = s.Value[y/h%len(s.Value)]
			}
		}
	}
}

func (t *twin) onPicture(s Step, words []int32) {
	p := t.planes
	switch s.Op {
	case "resize":
		to, _ := steps.Resized(s, steps.Size{Width: int32(p.Width), Height: int32(p.Height)})
		t.resize(int(to.Width), int(to.Height), s.Filter)
	case "center_crop":
		dx, dy := max(s.Size[1]-p.Width, 0), max(s.Size[0]-p.Height, 0)
		t.window(-(dx / 2), -(dy / 2), p.Width+dx, p.Height+dy, s)
		x, y := math.RoundToEven(float64(t.planes.Width-s.Size[1])/2), math.RoundToEven(float64(t.planes.Height-s.Size[0])/2)
		t.window(int(x), int(y), s.Size[1], s.Size[0], s)
	case "pad":
		t.window(-s.Padding[0], -s.Padding[1], p.Width+s.Padding[0]+s.Padding[2], p.Height+s.Padding[1]+s.Padding[3], s)
	case "random_crop":
		left, top, right, bottom := 0, 0, 0, 0
		if s.Padding != nil {
			left, top, right, bottom = s.Padding[0], s.Padding[1], s.Padding[2], s.Padding[3]
		}
		if s.PadIfNeeded {
			dx, dy := max(s.Size[1]-p.Width-left-right, 0), max(s.Size[0]-p.Height-top-bottom, 0)
			left, right, top, bottom = left+dx, right+dx, top+dy, bottom+dy
		}
		t.window(-left, -top, p.Width+left+right, p.Height+top+bottom, s)
		t.window(int(words[1]), int(words[0]), s.Size[1], s.Size[0], s)
	case "random_resized_crop":
		if words[2] == 0 || words[3] == 0 {
			t.planes = pixel.NewPlanes(s.Size[1], s.Size[0], p.Channels)
			return
		}
		t.window(int(words[1]), int(words[0]), int(words[3]), int(words[2]), s)
		t.resize(s.Size[1], s.Size[0], s.Filter)
	case "five_crop", "ten_crop":
		t.fiveCrops(s)
		if s.Op == "ten_crop" && s.Vertical {
			pixel.VFlipGeneric(p)
			t.fiveCrops(s)
		} else if s.Op == "ten_crop" {
			pixel.HFlipGeneric(p)
			t.fiveCrops(s)
		}
	case "hflip":
		if words[0] != 0 {
			pixel.HFlipGeneric(p)
		}
	case "vflip":
		if words[0] != 0 {
			pixel.VFlipGeneric(p)
		}
	case "grayscale":
		if s.Tensor {
			t.planes = mixed(p, s, 10, []float64{0})
			return
		}
		pixel.GreyGeneric(p, s.Channels)
		t.planes.Channels = s.Channels
	case "random_grayscale":
		if words[0] != 0 && s.Tensor {
			t.planes = mixed(p, s, 10, []float64{0})
		} else if words[0] != 0 {
			pixel.GreyGeneric(p, p.Channels)
		}
	case "gaussian_blur":
		if words[0] != 0 {
			out, weights := pixel.NewPlanes(p.Width, p.Height, p.Channels), [2][]float32{}
			for i, n := range s.Kernel {
				for _, w := range words[1+i*steps.MaxKernel:][:n] {
					weights[i] = append(weights[i], math.Float32frombits(uint32(w)))
				}
			}
			pixel.BlurGeneric(p, weights[0], weights[1], out)
			t.planes = out
		}
	case "random_solarize":
		for c := range p.Channels * min(1, int(words[0])) {
			for i, v := range p.Plane[c] {
				if int(v) >= s.Threshold {
					p.Plane[c][i] = 255 - v
				}
			}
		}
	case "channel_permutation":
		t.permute(words)
	case "random_resize", "random_shortest_size", "scale_jitter":
		t.resize(int(words[1]), int(words[0]), s.Filter)
	case "random_zoom_out":
		if words[0] != 0 {
			t.window(-int(words[1]), -int(words[2]), p.Width+int(words[1]+words[3]), p.Height+int(words[2]+words[4]), s)
		}
	case "color_jitter", "photometric_distort":
		for _, what := range words[:4] {
			if what < 0 {
				continue
			}
			factor := math.Float32frombits(uint32(words[4+what]))
			if s.Tensor && what == 3 {
				pixel.TensorHueGeneric(p, factor, int(s.Version[1]-'0'))
				continue
			}
			if s.Tensor {
				p = mixed(p, s, []int{9, 11, 10}[what], []float64{float64(factor)})
				t.planes = p
				continue
			}
			switch what {
			case 0:
				pixel.BrightnessGeneric(p, factor)
			case 1:
				pixel.ContrastGeneric(p, factor)
			case 2:
				if p.Channels == 3 {
					pixel.SaturationGeneric(p, factor)
				}
			default:
				if p.Channels == 3 {
					pixel.HueGeneric(p, float64(factor))
				}
			}
		}
		if s.Op == "photometric_distort" && words[8] != 0 {
			t.permute(words[9:])
		}
	default:
		t.augment(s, words)
	}
}

func (t *twin) fiveCrops(s Step) {
	p := t.planes
	x, y := p.Width-s.Size[1], p.Height-s.Size[0]
	middle := []int{int(math.RoundToEven(float64(x) / 2)), int(math.RoundToEven(float64(y) / 2))}
	for _, at := range [][]int{{0, 0}, {x, 0}, {0, y}, {x, y}, middle} {
		t.window(at[0], at[1], s.Size[1], s.Size[0], s)
		t.crops, t.planes = append(t.crops, t.planes), p
	}
}

func (t *twin) permute(words []int32) {
	old := t.planes.Plane
	for i := range old {
		t.planes.Plane[i] = old[words[i]]
	}
}

// window makes the picture that is seen through it, padded as s says.
func (t *twin) window(x, y, width, height int, s Step) {
	edge := steps.Modes[s.Mode]
	var fill [3]byte
	for i, v := range s.Fill {
		fill[i] = byte(v)
	}
	out := pixel.NewPlanes(width, height, t.planes.Channels)
	pixel.WindowGeneric(t.planes, x, y, edge, fill, out)
	t.planes = out
}

func (t *twin) resize(width, height int, filter string) {
	p, channels := t.planes, t.planes.Channels
	if channels == 1 {
		pixel.GreyGeneric(p, 3)
		p.Channels = 3
	}
	src := stdimage.NewRGBA(stdimage.Rect(0, 0, p.Width, p.Height))
	pixel.JoinGeneric(p, src.Pix, src.Stride)
	whole := stdimage.Rect(0, 0, width, height)
	pix := resample.ResizeGeneric(src, resample.Plan{Crop: src.Rect, Width: width, Height: height, Window: whole, Filter: steps.Filters[filter]})
	t.planes = split(&stdimage.RGBA{Pix: pix, Stride: 4 * width, Rect: whole})
	t.planes.Channels = channels
}

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
