// Package resample resizes 8-bit RGB pictures exactly as Pillow or torch does, to the last bit. The engine uses it as a
// stream in C (resample.h); twin.go says in plain Go what the stream must produce.
package resample

import (
	"fmt"
	"image"
	"math"

	"github.com/gofast-org/gofast/gofast/internal/errs"
)

// Filter is one of Pillow's resampling filters, or torch's form of it for uint8 tensors, in resample.h's order.
type Filter int32

// The filters.
const (
	Nearest Filter = iota
	Box
	Bilinear
	Hamming
	Bicubic
	Lanczos
	TorchBilinear // interpolate(mode="bilinear", antialias=True)
	TorchBicubic
	filters
)

// Order says which of the two passes comes first, in resample.h's order. It matters, because the picture between the
// passes is rounded to uint8.
type Order int32

// The orders.
const (
	OrderPillow13   Order = iota // vertical first if the height loses more than twice as many pixels as the width
	OrderPillow12_2              // 12.2 and 12.3: vertical first for a shrinking picture more than 100 times as high as wide
	OrderHorizontal              // up to 12.1: always horizontal first
	orders
)

// OrderOf is the order of a version of Pillow.
func OrderOf(major, minor int) Order {
	switch {
	case major >= 13:
		return OrderPillow13
	case major == 12 && minor >= 2:
		return OrderPillow12_2
	default:
		return OrderHorizontal
	}
}

// verticalFirst is resize.c's rule.
func (o Order) verticalFirst(inWidth, inHeight, outWidth, outHeight int) bool {
	switch o {
	case OrderPillow13:
		return inHeight > outHeight && inHeight-outHeight > 2*(inWidth-outWidth)
	case OrderPillow12_2:
		return inHeight > 100*inWidth && outHeight < inHeight
	default:
		return false
	}
}

// Plan describes a resize.
type Plan struct {
	Crop          image.Rectangle // the part to resize, as if it were a picture of its own; the zero value: all of it
	Width, Height int             // of the result
	Filter        Filter
	Order         Order
	Window        image.Rectangle // the part of the result that is wanted; the zero value: all of it
	Flip          bool            // mirror the window left to right
}

const maxSize = 1 << 26

// maxTaps is the maximum for the tables of one axis.
const maxTaps = 1 << 24

func tooLarge() error {
	return errs.New(errs.ErrLimit, "resample", "the filter would need more than 2^24 taps an axis: resize in two steps")
}

// Resize resizes src and returns the window as RGBX rows with X 255. It ignores alpha.
func Resize(src *image.RGBA, plan Plan) ([]byte, error) {
	plan, err := plan.complete(src)
	if err != nil {
		return nil, err
	}
	return resize(src, plan)
}

// complete fills in the defaults and refuses parts outside the picture.
func (p Plan) complete(src *image.RGBA) (Plan, error) {
	if p.Crop == (image.Rectangle{}) {
		p.Crop = src.Rect
	}
	result := image.Rect(0, 0, p.Width, p.Height)
	if p.Window == (image.Rectangle{}) {
		p.Window = result
	}
	switch {
	case p.Width < 1 || p.Height < 1 || p.Width > maxSize || p.Height > maxSize:
		return p, refuse("a size of %d x %d is not in 1..2^26", p.Width, p.Height)
	case p.Crop.Empty() || !p.Crop.In(src.Rect) || p.Crop.Dx() > maxSize || p.Crop.Dy() > maxSize:
		return p, refuse("the crop %v does not lie in the picture %v", p.Crop, src.Rect)
	case p.Window.Empty() || !p.Window.In(result):
		return p, refuse("the window %v does not lie in the result %v", p.Window, result)
	case p.Filter < 0 || p.Filter >= filters:
		return p, refuse("there is no filter %d", p.Filter)
	case p.Order < 0 || p.Order >= orders:
		return p, refuse("there is no order %d", p.Order)
	case p.Filter.taps(p.Crop.Dx(), p.Width, p.Window.Dx()) > maxTaps || p.Filter.taps(p.Crop.Dy(), p.Height, p.Window.Dy()) > maxTaps:
		return p, tooLarge()
	}
	return p, nil
}

func refuse(format string, args ...any) error {
	return errs.New(errs.ErrConfig, "resample", fmt.Sprintf(format, args...))
}

// taps bounds the size of the table that axis.c makes.
func (f Filter) taps(in, out, window int) int {
	most := 1
	if f != Nearest {
		most = min(2*int(math.Ceil(supports[f]*max(float64(in)/float64(out), 1)))+1, in)
	}
	return (most + 3) / 4 * 4 * ((window + 15) / 16 * 16)
}

// AxisSpec is one axis of a resize: outputs From..To-1 (backwards with Flip) of InSize inputs resized to OutSize. In0 and
// In1 are the ends of the part to resize, 0 and InSize for a whole picture, Pillow's `box` otherwise.
type AxisSpec struct {
	In0, In1        float32
	InSize, OutSize int
	From, To        int
	Filter          Filter
	Flip            bool
}

// Axis holds the taps of the outputs, in 22-bit fixed point. Zero taps at both ends are dropped.
type Axis struct {
	Lo, Hi int   // the inputs that the outputs need
	First  []int // of each output, its first input, counted from Lo
	Taps   [][]int32
}
