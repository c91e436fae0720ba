package steps

/*
#include "step.h"
*/
import "C"

import "math"

var colorJitter = operation{
	read: func(s Step, c *step) error {
		for i, factor := range [][]float64{s.Brightness, s.Contrast, s.Saturation, s.Hue} {
			switch {
			case factor == nil:
				continue
			case len(factor) != 2:
				return s.bad("a factor is %v", factor)
			case !ordered(factor[0], factor[1], -maxFactor, maxFactor):
				return s.bad("factors %v must be a range within %d", factor, maxFactor)
			}
			if i == C.GF_JITTER_HUE && s.Tensor && !ordered(factor[0], factor[1], -0.5, 0.5) {
				return s.bad("hue %v is not within -0.5..0.5", factor)
			}
			c.jitter |= 1 << i
			c.factors[i] = [2]double{double(factor[0]), double(factor[1])}
		}
		return nil
	},
	draw: func(w *walker, s *step, record []int32) Code {
		order := [4]int32{0, 1, 2, 3}
		w.permute(order[:])
		for i := range 4 {
			record[i] = order[i]
			if s.jitter>>order[i]&1 == 0 {
				record[i] = -1
			}
		}
		for i, r := range s.factors {
			if s.jitter>>i&1 != 0 {
				record[4+i] = int32(math.Float32bits(w.uniform(float64(r[0]), float64(r[1]))))
			}
		}
		return OK
	},
}
