package steps

/*
#include "canvas.h"
*/
import "C"

import (
	"fmt"
	"slices"

	"github.com/gofast-org/gofast/gofast/image/pixel"
	"github.com/gofast-org/gofast/gofast/internal/errs"
)

// Step is one operation of a plan, named and parametrised as its torchvision
// original. Fields that an operation does not have are zero.
type Step struct {
	Op          string    `json:"op"`
	Version     string    `json:"version"` // "v1" or "v2", where these draw differently
	Size        []int     `json:"size"`    // height, width; resize also: {short side}
	MaxSize     int       `json:"max_size"`
	Filter      string    `json:"filter"`
	Padding     []int     `json:"padding"` // left, top, right, bottom
	PadIfNeeded bool      `json:"pad_if_needed"`
	Fill        []int     `json:"fill"` // red, green, blue
	Mode        string    `json:"mode"`
	Scale       []float64 `json:"scale"`
	Ratio       []float64 `json:"ratio"`
	LogRatio    []float32 `json:"log_ratio"`
	P           float64   `json:"p"`
	Channels    int       `json:"channels"`
	Brightness  []float64 `json:"brightness"`
	Contrast    []float64 `json:"contrast"`
	Saturation  []float64 `json:"saturation"`
	Hue         []float64 `json:"hue"`
	Threshold   int       `json:"threshold"` // random_solarize: the first byte that is inverted
	Vertical    bool      `json:"vertical"`  // ten_crop: flips upside down
	Bits        int       `json:"bits"`      // random_posterize
	Factor      float64   `json:"factor"`    // random_sharpness
	Seen        string    `json:"seen"`      // of a transform: "nearest", "bilinear" or "bicubic", which tensors have not
	Tensor      bool      `json:"tensor"`    // of a uint8 tensor, by torch's arithmetic
	Fused       bool      `json:"fused"`     // of a transform of a tensor: pixel.Grid
	Degrees     []float64 `json:"degrees"`
	Translate   []float64 `json:"translate"` // parts of the width and the height
	Shear       []float64 `json:"shear"`     // degrees from and to, along x and then y
	Center      []float64 `json:"center"`
	Expand      bool      `json:"expand"`
	Distortion  float64   `json:"distortion"` // random_perspective: a part of half a side
	Chains      int       `json:"chains"`     // augmix
	Depth       int       `json:"depth"`      // augmix: of every chain, 0: drawn for each
	Alpha       float32   `json:"alpha"`      // augmix
	Operations  int       `json:"operations"` // augmix: how many are drawn from
	Numbers     []float64 `json:"numbers"`    // augmentations: see augment.go and augmix.go; random_choice: chances
	How         string    `json:"how"`        // to_float: "divide", "multiply" or "cast"
	Mean        []float32 `json:"mean"`
	Std         []float32 `json:"std"`
	Sides       []int     `json:"sides"`  // random_shortest_size
	Kernel      []int     `json:"kernel"` // gaussian_blur: width, height
	Sigma       []float64 `json:"sigma"`
	Value       []float32 `json:"value"`   // random_erasing
	Steps       []Step    `json:"steps"`   // random_apply
	Members     [][]Step  `json:"members"` // random_choice, random_order
}

// mostPixels is what a step may make.
const mostPixels = C.GF_CANVAS_MOST_PIXELS

// most is the largest number that a range may name: its box's sides stay below 2^51.
const most = 1e9

func (s Step) bad(format string, args ...any) error {
	return errs.New(errs.ErrConfig, "plan", s.Op+": "+fmt.Sprintf(format, args...))
}

func ordered[T float32 | float64](low, high, least, most T) bool {
	return least <= low && low <= high && high <= most
}

// What follows reads fields that several operations have, and checks them.

func (s Step) readSize(c *step, counts ...int) error {
	if !slices.Contains(counts, len(s.Size)) {
		return s.bad("size %v has %d numbers", s.Size, len(s.Size))
	}
	for i, side := range s.Size {
		if side < 1 || side > MaxSide {
			return s.bad("size %v is not within 1..%d", s.Size, MaxSide)
		}
		c.size[i] = word(side)
	}
	return nil
}

func (s Step) readChance(c *step) error {
	if !(s.P >= 0 && s.P <= most) {
		return s.bad("p must be a number from 0 on")
	}
	c.p = double(s.P)
	return nil
}

func (s Step) readPadding(c *step) error {
	if len(s.Padding) != 4 {
		return s.bad("padding %v has %d numbers instead of 4", s.Padding, len(s.Padding))
	}
	for i, side := range s.Padding {
		if side < 0 || side > MaxSide {
			return s.bad("padding %v is not within 0..%d", s.Padding, MaxSide)
		}
		c.padding[i] = word(side)
	}
	c.padded = 1
	return nil
}

func (s Step) readFill(c *step) error {
	mode, ok := Modes[s.Mode]
	if !ok || len(s.Fill) != 3 {
		return s.bad("mode %q, fill %v", s.Mode, s.Fill)
	}
	c.mode = word(mode)
	return s.readColour(c)
}

// readSeen reads how a transform sees its source, and the colour beyond.
func (s Step) readSeen(c *step) error {
	seen, ok := Seen[s.Seen]
	if !ok || s.Tensor && seen == pixel.SeenBicubic {
		return s.bad("seen %q", s.Seen)
	}
	c.seen, c.fused = word(seen), word(flag(s.Fused))
	if s.Tensor && s.Fill == nil { // torch does not blend then
		return nil
	}
	c.filled = 1
	return s.readColour(c)
}

func (s Step) readColour(c *step) error {
	if len(s.Fill) != 3 {
		return s.bad("fill %v", s.Fill)
	}
	for i, v := range s.Fill {
		if v < 0 || v > 255 {
			return s.bad("fill %v is not within 0..255", s.Fill)
		}
		c.fill[i] = octet(v)
	}
	return nil
}

func (s Step) readFilter(c *step) error {
	filter, ok := Filters[s.Filter]
	if !ok {
		return s.bad("filter %q is unknown", s.Filter)
	}
	c.filter = word(filter)
	return nil
}

func (s Step) readBox(c *step) error {
	switch {
	case len(s.Scale) != 2 || len(s.Ratio) != 2 || len(s.LogRatio) != 2:
		return s.bad("scale %v, ratio %v, log_ratio %v", s.Scale, s.Ratio, s.LogRatio)
	case !ordered(s.Scale[0], s.Scale[1], 0, most):
		return s.bad("scale must be a range from 0 on")
	case !ordered(s.Ratio[0], s.Ratio[1], 1/float64(most), most):
		return s.bad("ratio must be a range above 0")
	case !ordered(s.LogRatio[0], s.LogRatio[1], -40, 40):
		return s.bad("log_ratio must be a range within -40..40")
	}
	for i := range 2 {
		c.scale[i], c.ratio[i], c.log_ratio[i] = double(s.Scale[i]), double(s.Ratio[i]), float(s.LogRatio[i])
	}
	return nil
}
