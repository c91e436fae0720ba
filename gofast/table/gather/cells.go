package gather

import (
	"fmt"
	"math"
	"unsafe"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/table"
)

// find is the place and the text of the first stored value that is bad; -1 without.
// An int64 is asked for as a float64, which no bound of a narrower type is lost in.
func (s Stored) find(bad func(float64) bool) (at int, cell string) {
	switch values := s.Rows * int64(s.Width); s.Type {
	case table.Uint8:
		return first(features[uint8](s, values), bad)
	case table.Int16:
		return first(features[int16](s, values), bad)
	case table.Int32:
		return first(features[int32](s, values), bad)
	case table.Int64:
		return first(features[int64](s, values), bad)
	case table.Float32:
		return first(features[float32](s, values), bad)
	default:
		return first(features[float64](s, values), bad)
	}
}

func features[T any](s Stored, values int64) []T {
	return unsafe.Slice(*(**T)(unsafe.Pointer(&s.Features)), values)
}

func first[T uint8 | int16 | int32 | int64 | float32 | float64](values []T, bad func(float64) bool) (at int, cell string) {
	for i, v := range values {
		if bad(float64(v)) {
			return i, fmt.Sprint(v)
		}
	}
	return -1, ""
}

// badCell is the error of the value at a place that find gave.
func (s Stored) badCell(at int, cell, text string) error {
	column := fmt.Sprint(at % s.Width)
	if len(s.Names) == s.Width {
		column = s.Names[at%s.Width]
	}
	return errs.New(errs.ErrValue, "transform", text).AtRow(int64(at/s.Width), column).WithCell(cell)
}

// checkIntegers refuses floats, and integers that the wanted type does not hold.
func (s Stored) checkIntegers(wanted table.Type) error {
	if !s.Type.Integer() {
		return errs.New(errs.ErrConfig, "transform",
			fmt.Sprintf("dtype %s needs integers, and the features are floats, stored as %s: nothing is rounded or clipped", wanted, s.Type))
	}
	if wanted >= s.Type {
		return nil
	}
	low, high := 0.0, float64(math.MaxUint8)
	if wanted != table.Uint8 {
		high = math.Ldexp(1, 8*wanted.Size()-1) - 1
		low = -high - 1
	}
	at, cell := s.find(func(v float64) bool { return v < low || v > high })
	if at < 0 {
		return nil
	}
	return s.badCell(at, cell, fmt.Sprintf("the value does not fit dtype %s: choose a wider one", wanted))
}
