package image

/*
#cgo CFLAGS: -O3 -std=gnu11 -Wall -Wextra
#include "image.h"
*/
import "C"

import (
	"github.com/gofast-org/gofast/gofast/image/draw"
	_ "github.com/gofast-org/gofast/gofast/image/jpeg" // for their C functions
	_ "github.com/gofast-org/gofast/gofast/image/png"
	_ "github.com/gofast-org/gofast/gofast/image/resample"
	_ "github.com/gofast-org/gofast/gofast/image/webp"
	"github.com/gofast-org/gofast/gofast/numbers"
)

// steps are a plan's steps laid out for C, nested ones behind their random_apply.
type steps struct {
	draws []draw.Step
	ops   []C.gf_image_step
	words int // of a record

	// What the steps on numbers come to.
	tensor, float bool
	scale         numbers.Scale
	mean, std     []float32
	erasures      int
	depth         int // of random_apply
}

func (l *steps) add(list []Step) error {
	for _, s := range list {
		if err := l.addStep(s); err != nil {
			return err
		}
	}
	return nil
}

func (l *steps) addStep(s Step) error {
	if s.Op == "to_float" || s.Op == "to_uint8" || s.Op == "normalize" {
		return l.number(s)
	}
	describe, known := describers[s.Op]
	if !known {
		return s.bad("no such operation")
	}
	d := draw.Step{Version: 1, Record: int32(l.words)}
	if s.Version == "v2" {
		d.Version = 2
	}
	var op C.gf_image_step
	if err := describe(s, &d, &op); err != nil {
		return err
	}
	movable := s.Op == "hflip" || s.Op == "vflip" || s.Op == "random_apply" // before and after the change to numbers alike
	if s.Op == "random_erasing" && !l.tensor || s.Op != "random_erasing" && !movable && (l.float || l.erasures > 0) {
		return s.bad("it stands on the wrong side of to_float")
	}
	if s.Op == "random_erasing" {
		if l.erasures++; l.erasures > C.GF_MOST_ERASURES {
			return s.bad("there are more than %d", C.GF_MOST_ERASURES)
		}
	}
	l.words += d.Kind.Words()
	at := len(l.draws)
	l.draws, l.ops = append(l.draws, d), append(l.ops, op)
	if s.Op == "random_apply" {
		if l.depth++; l.depth > maxDepth {
			return s.bad("more than %d lie in one another", maxDepth)
		}
		if err := l.add(s.Steps); err != nil {
			return err
		}
		l.depth--
		l.draws[at].Inner = int32(len(l.draws) - at - 1)
	}
	return nil
}

// number notes the steps that make numbers of bytes. They act on the finished
// sample, wherever flips stand between them.
func (l *steps) number(s Step) error {
	switch {
	case l.depth > 0:
		return s.bad("it cannot happen to some samples only")
	case s.Op == "normalize":
		if !l.float || l.mean != nil || l.erasures > 0 {
			return s.bad("it is not the first after to_float")
		}
		if len(s.Mean) != len(s.Std) || len(s.Mean) != 1 && len(s.Mean) != 3 {
			return s.bad("mean %v, std %v", s.Mean, s.Std)
		}
		l.mean, l.std = s.Mean, s.Std
	case l.float || l.erasures > 0:
		return s.bad("the tensor is finished already")
	case s.Op == "to_uint8":
		l.tensor = true
	default:
		scale, ok := scales[s.How]
		if !ok {
			return s.bad("how is %q", s.How)
		}
		l.tensor, l.float, l.scale = true, true, scale
	}
	return nil
}

// scales are those of numbers, by a plan's words.
var scales = map[string]numbers.Scale{"divide": numbers.Divide, "multiply": numbers.Multiply, "cast": numbers.Cast}

// describers fill in what an operation is. Package draw checks the parameters
// that it knows.
var describers = map[string]func(Step, *draw.Step, *C.gf_image_step) error{
	"resize": func(s Step, d *draw.Step, o *C.gf_image_step) error {
		if s.MaxSize < 0 || s.MaxSize > maxSide {
			return s.bad("max_size %d is not within 0..%d", s.MaxSize, maxSide)
		}
		d.Kind, o.op, d.MaxSize = draw.Resize, C.GF_OP_RESIZE, int32(s.MaxSize)
		if err := s.setFilter(o); err != nil {
			return err
		}
		return s.setSize(d, 0, 1, 2)
	},
	"center_crop": func(s Step, d *draw.Step, o *C.gf_image_step) error {
		d.Kind, o.op = draw.CenterCrop, C.GF_OP_CENTER_CROP
		return s.setSize(d, 2)
	},
	"pad": func(s Step, d *draw.Step, o *C.gf_image_step) error {
		d.Kind, o.op = draw.Pad, C.GF_OP_PAD
		if err := s.setPadding(d, false); err != nil {
			return err
		}
		return s.setFill(o)
	},
	"random_crop": func(s Step, d *draw.Step, o *C.gf_image_step) error {
		d.Kind, o.op = draw.RandomCrop, C.GF_OP_RANDOM_CROP
		if s.PadIfNeeded {
			d.PadIfNeeded = 1
		}
		if err := s.setPadding(d, true); err != nil {
			return err
		}
		if err := s.setFill(o); err != nil {
			return err
		}
		return s.setSize(d, 2)
	},
	"random_resized_crop": func(s Step, d *draw.Step, o *C.gf_image_step) error {
		d.Kind, o.op = draw.RandomResizedCrop, C.GF_OP_RANDOM_RESIZED_CROP
		if err := s.setFilter(o); err != nil {
			return err
		}
		if err := s.setBox(d); err != nil {
			return err
		}
		return s.setSize(d, 2)
	},
	"hflip":            chance(draw.HFlip, C.GF_OP_HFLIP),
	"vflip":            chance(draw.VFlip, C.GF_OP_VFLIP),
	"random_grayscale": chance(draw.RandomGrayscale, C.GF_OP_RANDOM_GRAYSCALE),
	"random_apply":     chance(draw.RandomApply, C.GF_OP_RANDOM_APPLY),
	"grayscale": func(s Step, _ *draw.Step, o *C.gf_image_step) error {
		o.op, o.channels = C.GF_OP_GRAYSCALE, C.int32_t(s.Channels)
		if s.Channels != 1 && s.Channels != 3 {
			return s.bad("%d channels", s.Channels)
		}
		return nil
	},
	"color_jitter": func(s Step, d *draw.Step, o *C.gf_image_step) error {
		d.Kind, o.op = draw.ColorJitter, C.GF_OP_COLOR_JITTER
		for i, factor := range [][]float64{s.Brightness, s.Contrast, s.Saturation, s.Hue} {
			if len(factor) == 2 {
				if !(max(-factor[0], factor[1]) <= C.GF_MOST_FACTOR) {
					return s.bad("factors %v are beyond %d", factor, C.GF_MOST_FACTOR)
				}
				d.Jitter |= 1 << i
				d.Factors[i] = [2]float64(factor)
			} else if factor != nil {
				return s.bad("a factor is %v", factor)
			}
		}
		return nil
	},
	"random_erasing": func(s Step, d *draw.Step, o *C.gf_image_step) error {
		d.Kind, o.op, d.P = draw.RandomErasing, C.GF_OP_RANDOM_ERASING, s.P
		if len(s.Value) != 1 && len(s.Value) != 3 {
			return s.bad("value %v", s.Value)
		}
		for i := range o.value {
			o.value[i] = C.float(s.Value[i%len(s.Value)])
		}
		return s.setBox(d)
	},
}

func chance(kind draw.Kind, op C.int32_t) func(Step, *draw.Step, *C.gf_image_step) error {
	return func(s Step, d *draw.Step, o *C.gf_image_step) error {
		d.Kind, o.op, d.P = kind, op, s.P
		return nil
	}
}

func (s Step) setSize(d *draw.Step, counts ...int) error {
	if err := s.checkSize(counts...); err != nil {
		return err
	}
	for i, side := range s.Size {
		d.Size[i] = int32(side)
	}
	return nil
}

func (s Step) setPadding(d *draw.Step, optional bool) error {
	if optional && s.Padding == nil {
		return nil
	}
	if len(s.Padding) != 4 {
		return s.bad("padding %v has %d numbers instead of 4", s.Padding, len(s.Padding))
	}
	for i, side := range s.Padding {
		if side < 0 || side > maxSide {
			return s.bad("padding %v is not within 0..%d", s.Padding, maxSide)
		}
		d.Padding[i] = int32(side)
	}
	d.Padded = 1
	return nil
}

func (s Step) setBox(d *draw.Step) error {
	if len(s.Scale) != 2 || len(s.Ratio) != 2 || len(s.LogRatio) != 2 {
		return s.bad("scale %v, ratio %v, log_ratio %v", s.Scale, s.Ratio, s.LogRatio)
	}
	d.Scale, d.Ratio, d.LogRatio = [2]float64(s.Scale), [2]float64(s.Ratio), [2]float32(s.LogRatio)
	return nil
}

// filters are resample.h's: Pillow's, by its names, and torch's.
var filters = map[string]C.int32_t{"nearest": C.GF_FILTER_NEAREST, "box": C.GF_FILTER_BOX, "bilinear": C.GF_FILTER_BILINEAR,
	"hamming": C.GF_FILTER_HAMMING, "bicubic": C.GF_FILTER_BICUBIC, "lanczos": C.GF_FILTER_LANCZOS,
	"torch_bilinear": C.GF_FILTER_TORCH_BILINEAR, "torch_bicubic": C.GF_FILTER_TORCH_BICUBIC}

func (s Step) setFilter(o *C.gf_image_step) error {
	filter, ok := filters[s.Filter]
	if !ok {
		return s.bad("filter %q is unknown", s.Filter)
	}
	o.filter = filter
	return nil
}

// modes are pixel.h's.
var modes = map[string]C.int32_t{"constant": C.GF_EDGE_CONSTANT, "edge": C.GF_EDGE_EDGE, "reflect": C.GF_EDGE_REFLECT, "symmetric": C.GF_EDGE_SYMMETRIC}

func (s Step) setFill(o *C.gf_image_step) error {
	mode, ok := modes[s.Mode]
	if !ok || len(s.Fill) != 3 {
		return s.bad("mode %q, fill %v", s.Mode, s.Fill)
	}
	o.mode = mode
	for i, v := range s.Fill {
		if v < 0 || v > 255 {
			return s.bad("fill %v is not within 0..255", s.Fill)
		}
		o.fill[i] = C.uint8_t(v)
	}
	return nil
}
