// Package image makes samples of picture files: decode, crop, resize, colour and
// normalise, in one C function a sample (image.h), so that engine threads and
// forked worker processes do the same. A Plan says what is made; it comes from
// Python as JSON, which the compiler of torchvision's transforms writes.
package image

import (
	"fmt"
	"slices"

	"github.com/gofast-org/gofast/gofast/internal/errs"
)

// Plan is what is made of every picture: Steps in their order on RGB bytes,
// then the Output.
type Plan struct {
	Steps  []Step `json:"steps"`
	Output Output `json:"output"`
}

// Step is one operation, named and parametrised as its torchvision original.
// Fields that an operation does not have are zero.
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
	How         string    `json:"how"` // to_float: "divide", "multiply" or "cast"
	Mean        []float32 `json:"mean"`
	Std         []float32 `json:"std"`
	Value       []float32 `json:"value"` // random_erasing
	Steps       []Step    `json:"steps"` // random_apply
}

// Output is what a sample is: a tensor of a size that every picture has then,
// or, without a size, a picture for Python to go on with.
type Output struct {
	DType        string `json:"dtype"` // "float32", "float16", "bfloat16", "uint8"
	Height       int    `json:"height"`
	Width        int    `json:"width"`
	Channels     int    `json:"channels"`
	ChannelsLast bool   `json:"channels_last"`
}

const (
	// maxSide bounds every size in a plan, so that products of two fit an int32.
	// Python's _plan_values has the same number.
	maxSide = 1 << 15
	// maxPixels bounds what Options may allow: four bytes each, in C.
	maxPixels = 1 << 30
	// maxDepth bounds what lies in one another: plans are read recursively.
	maxDepth = 100
)

func (s Step) bad(format string, args ...any) error {
	return errs.New(errs.ErrConfig, "plan", s.Op+": "+fmt.Sprintf(format, args...))
}

func (s Step) checkSize(counts ...int) error {
	if !slices.Contains(counts, len(s.Size)) {
		return s.bad("size %v has %d numbers", s.Size, len(s.Size))
	}
	for _, side := range s.Size {
		if side < 1 || side > maxSide {
			return s.bad("size %v is not within 1..%d", s.Size, maxSide)
		}
	}
	return nil
}
