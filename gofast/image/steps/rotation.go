package steps

/*
#include "step.h"
*/
import "C"

import "math"

// widest bounds degrees and centers: what is computed of them stays finite.
const widest = 1e6

func readRange(s Step, name string, values []float64, least, most float64, to []double) error {
	if len(values) != len(to) {
		return s.bad("%s %v", name, values)
	}
	for i, v := range values {
		if !(v >= least && v <= most) || i%2 == 1 && v < values[i-1] {
			return s.bad("%s %v must be a range within %v..%v", name, values, least, most)
		}
		to[i] = double(v)
	}
	return nil
}

// readAngles reads what both have.
func (s Step) readAngles(c *step) error {
	if s.Center != nil {
		if len(s.Center) != 2 || !(math.Abs(s.Center[0]) <= widest && math.Abs(s.Center[1]) <= widest) {
			return s.bad("center %v", s.Center)
		}
		c.given |= C.GF_GIVEN_CENTER
		c.center = [2]double{double(s.Center[0]), double(s.Center[1])}
	}
	if err := readRange(s, "degrees", s.Degrees, -widest, widest, c.degrees[:]); err != nil {
		return err
	}
	return s.readSeen(c)
}

var randomRotation = operation{
	read: func(s Step, c *step) error {
		if s.Expand && s.Tensor {
			return s.bad("a tensor that expands")
		}
		c.expand = word(flag(s.Expand))
		return s.readAngles(c)
	},
	draw: func(w *walker, s *step, record []int32) Code {
		angle := w.float(s.degrees[0], s.degrees[1], &record[0])
		if s.expand != 0 {
			w.width, w.height = rotated(s, float64(angle), w.width, w.height)
		}
		return OK
	},
}

var randomAffine = operation{
	read: func(s Step, c *step) error {
		if s.Translate != nil {
			c.given |= C.GF_GIVEN_TRANSLATE
			if len(s.Translate) != 2 || !(s.Translate[0] >= 0 && s.Translate[0] <= 1 && s.Translate[1] >= 0 && s.Translate[1] <= 1) {
				return s.bad("translate %v", s.Translate)
			}
			c.translate = [2]double{double(s.Translate[0]), double(s.Translate[1])}
		}
		if s.Scale != nil {
			c.given |= C.GF_GIVEN_SCALE
			if err := readRange(s, "scale", s.Scale, 1/widest, widest, c.scale[:]); err != nil {
				return err
			}
		}
		if s.Shear != nil {
			c.given |= C.GF_GIVEN_SHEAR_X
			if len(s.Shear) == 4 {
				c.given |= C.GF_GIVEN_SHEAR_Y
			} else if len(s.Shear) != 2 {
				return s.bad("shear %v", s.Shear)
			}
			if err := readRange(s, "shear", s.Shear, -widest, widest, c.shear[:len(s.Shear)]); err != nil {
				return err
			}
		}
		return s.readAngles(c)
	},
	draw: func(w *walker, s *step, record []int32) Code {
		record[3] = int32(math.Float32bits(1))
		w.float(s.degrees[0], s.degrees[1], &record[0])
		if s.given&C.GF_GIVEN_TRANSLATE != 0 {
			for i, side := range []int64{w.width, w.height} {
				most := float64(s.translate[i]) * float64(side)
				record[1+i] = int32(math.RoundToEven(float64(w.uniform(-most, most))))
			}
		}
		for i, given := range []word{C.GF_GIVEN_SCALE, C.GF_GIVEN_SHEAR_X, C.GF_GIVEN_SHEAR_Y} {
			ends := [][]double{s.scale[:], s.shear[:2], s.shear[2:]}[i]
			if s.given&given != 0 {
				w.float(ends[0], ends[1], &record[3+i])
			}
		}
		return OK
	},
}

// float draws a float32 and notes its bits.
func (w *walker) float(from, to double, word *int32) float32 {
	drawn := w.uniform(float64(from), float64(to))
	*word = int32(math.Float32bits(drawn))
	return drawn
}
