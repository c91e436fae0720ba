package steps

/*
#include "augment.h"
#include "step.h"
*/
import "C"

import "math"

// Space is how many operations RandAugment and TrivialAugmentWide draw from.
const Space = C.GF_AUGMENT_SPACE

// readMagnitudes reads as many for each operation of the space, in its order.
func readMagnitudes(most int) func(Step, *step) error {
	return func(s Step, c *step) error {
		count := len(s.Numbers) / Space
		if len(s.Numbers)%Space != 0 || count < 1 || count > most {
			return s.bad("%d magnitudes", len(s.Numbers))
		}
		for i, v := range s.Numbers {
			if !isMagnitude(i/count, v) {
				return s.bad("magnitude %v of operation %d", v, i/count)
			}
		}
		c.count = word(count)
		return s.readSeen(c)
	}
}

func isMagnitude(which int, v float64) bool {
	if which == C.GF_AUGMENT_POSTERIZE {
		return v >= 1 && v <= 8
	}
	return math.Abs(v) <= maxFactor
}

var trivialAugment = operation{
	read: readMagnitudes(C.GF_MOST_MAGNITUDES),
	draw: func(w *walker, s *step, record []int32) Code { return w.augment(s, record, int(s.count)) },
}

var randAugment = operation{
	read: readMagnitudes(1),
	draw: func(w *walker, s *step, record []int32) Code { return w.augment(s, record, 0) },
}

// augment draws one operation of the space, and which of so many magnitudes, where
// that is any.
func (w *walker) augment(s *step, record []int32, any int) Code {
	which, at := int(w.below(Space)), 0
	if which == C.GF_AUGMENT_IDENTITY || which >= C.GF_AUGMENT_AUTO_CONTRAST {
		note(record, which, 0)
		return OK
	}
	if any > 0 {
		at = int(w.below(int64(any)))
	}
	magnitude := numbersOf(s, Space*int(s.count))[which*int(s.count)+at]
	if hasSign(which) && w.minus(s) {
		magnitude = -magnitude
	}
	note(record, which, magnitude)
	return OK
}

func hasSign(which int) bool {
	return which >= C.GF_AUGMENT_SHEAR_X && which <= C.GF_AUGMENT_SHARPNESS
}

func (w *walker) minus(s *step) bool {
	if s.version == 1 {
		return w.below(2) == 1
	}
	return w.rand() <= 0.5
}

func note(record []int32, which int, magnitude float64) {
	bits := math.Float64bits(magnitude)
	record[0], record[1], record[2] = int32(which), int32(uint32(bits)), int32(uint32(bits>>32))
}

// An AutoAugment policy has two operations of three numbers: which, p and magnitude.
var autoAugment = operation{
	read: func(s Step, c *step) error {
		count := len(s.Numbers) / 6
		if len(s.Numbers)%6 != 0 || count < 1 || count > C.GF_MOST_POLICIES {
			return s.bad("%d numbers of policies", len(s.Numbers))
		}
		for i := 0; i < len(s.Numbers); i += 3 {
			which, p, magnitude := s.Numbers[i], s.Numbers[i+1], s.Numbers[i+2]
			if !(which >= 0 && which < C.GF_AUGMENTS) || which != math.Trunc(which) || math.IsNaN(p) || !isMagnitude(int(which), magnitude) {
				return s.bad("policy operation %v", s.Numbers[i:i+3])
			}
		}
		c.count = word(count)
		return s.readSeen(c)
	},
	draw: func(w *walker, s *step, record []int32) Code {
		policy := numbersOf(s, 6*int(s.count))[6*int(w.below(int64(s.count))):][:6]
		var all [4]float32
		if s.version == 1 {
			all = [4]float32{w.rand(), w.rand(), float32(w.below(2)), float32(w.below(2))}
		}
		for i := range 2 {
			which, p, magnitude := int(policy[3*i]), float32(policy[3*i+1]), policy[3*i+2]
			chance, minus := all[i], all[2+i] == 0
			if s.version == 2 {
				chance = w.rand()
			}
			if chance > p {
				continue
			}
			if s.version == 2 && hasSign(which) {
				minus = w.minus(s)
			}
			if hasSign(which) && minus {
				magnitude = -magnitude
			}
			note(record, which, magnitude)
			record = record[3:]
		}
		return OK
	},
}
