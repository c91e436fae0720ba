package transform

import (
	"fmt"
	"math"
	"unsafe"

	"github.com/gofast-org/gofast/gofast/decode"
	"github.com/gofast-org/gofast/gofast/internal/errs"
)

// Pictures reports whether Shape says that rows are pictures: two or three dimensions.
func (t Table) Pictures() bool { return len(t.Shape) == 2 || len(t.Shape) == 3 }

// checkPictures refuses what is not a whole number from 0 to 255.
func (t Table) checkPictures(s Stored) error {
	said := fmt.Sprintf("the shape %v says that rows are pictures, whole numbers from 0 to 255: choose ScaleNone or ScaleUnit", t.Shape)
	if s.Bool {
		return errs.New(errs.ErrValue, "transform", "the features are booleans, but "+said)
	}
	at, cell := -1, ""
	switch values := s.Rows * int64(s.Width); s.Type {
	case decode.Int16:
		at, cell = notCode(features[int16](s, values))
	case decode.Int32:
		at, cell = notCode(features[int32](s, values))
	case decode.Int64:
		at, cell = notCode(features[int64](s, values))
	case decode.Float32:
		at, cell = notCode(features[float32](s, values))
	case decode.Float64:
		at, cell = notCode(features[float64](s, values))
	}
	if at < 0 {
		return nil
	}
	column := fmt.Sprint(at % s.Width)
	if len(s.Names) == s.Width {
		column = s.Names[at%s.Width]
	}
	return errs.New(errs.ErrValue, "transform", "not the code of a pixel, but "+said).AtRow(int64(at/s.Width), column).WithCell(cell)
}

func features[T any](s Stored, values int64) []T {
	return unsafe.Slice(*(**T)(unsafe.Pointer(&s.Features)), values)
}

// notCode finds the first value that is not the code of a pixel; -1 without.
func notCode[T int16 | int32 | int64 | float32 | float64](values []T) (at int, cell string) {
	for i, v := range values {
		if !(v >= 0 && v <= 255) || math.Trunc(float64(v)) != float64(v) {
			return i, fmt.Sprint(v)
		}
	}
	return -1, ""
}
