package gather

import (
	"fmt"
	"math"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/table"
)

// Pictures reports whether Shape says that rows are pictures: two or three dimensions.
func (t Transform) Pictures() bool { return len(t.Shape) == 2 || len(t.Shape) == 3 }

// checkPictures refuses what is not a whole number from 0 to 255.
func (t Transform) checkPictures(s Stored) error {
	if s.Type == table.Uint8 && !s.Bool {
		return nil
	}
	said := fmt.Sprintf("the shape %v says that rows are pictures, whole numbers from 0 to 255: choose ScaleNone or ScaleUnit", t.Shape)
	if s.Bool {
		return errs.New(errs.ErrValue, "transform", "the features are booleans, but "+said)
	}
	at, cell := s.find(notCode)
	if at < 0 {
		return nil
	}
	return s.badCell(at, cell, "not the code of a pixel, but "+said)
}

// notCode says whether a value is something else than a whole number from 0 to 255.
func notCode(v float64) bool { return !(v >= 0 && v <= 255) || math.Trunc(v) != v }
