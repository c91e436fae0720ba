package steps

/*
#include "augmix.h"
#include "step.h"
*/
import "C"

import "math"

// The limits of an AugMix; torch adds the weights of more chains in another order.
const (
	MaxChains = C.GF_AUGMIX_CHAINS
	MaxDepth  = C.GF_AUGMIX_DEPTH
)

// maxMagnitudes is how many magnitudes an operation of AugMix may have.
const maxMagnitudes = 64

var augMix = operation{
	read: func(s Step, c *step) error {
		if s.Chains < 1 || s.Chains > MaxChains || s.Depth < 0 || s.Depth > MaxDepth {
			return s.bad("%d chains of %d operations", s.Chains, s.Depth)
		}
		if !(s.Alpha > 0 && s.Alpha <= maxFactor) {
			return s.bad("alpha %v", s.Alpha)
		}
		if s.Operations != C.GF_AUGMIX_ALL && s.Operations != C.GF_AUGMIX_PART {
			return s.bad("%d operations", s.Operations)
		}
		each := s.eachMagnitude()
		count := len(s.Numbers) / each
		if len(s.Numbers)%each != 0 || count < 1 || count > maxMagnitudes {
			return s.bad("%d numbers", len(s.Numbers))
		}
		for _, v := range s.Numbers {
			if !(math.Abs(v) <= maxFactor) {
				return s.bad("number %v", v)
			}
		}
		seen, ok := Seen[s.Seen]
		if !ok || s.Seen == "bicubic" {
			return s.bad("seen %q", s.Seen)
		}
		c.seen, c.fused = word(seen), word(flag(s.Fused))
		c.chains, c.depth, c.alpha = word(s.Chains), word(s.Depth), float(s.Alpha)
		c.operations, c.count = word(s.Operations), word(count)
		return nil
	},
	draw: func(w *walker, s *step, record []int32) Code {
		whole := w.dirichlet(float32(s.alpha), 2)
		weights := append([]float32{whole[0]}, w.dirichlet(float32(s.alpha), int(s.chains))...)
		for i, v := range weights {
			if i > 0 {
				v *= whole[1]
			}
			record[i] = int32(math.Float32bits(v))
		}
		for k := range int(s.chains) {
			depth := int(s.depth)
			if depth == 0 {
				depth = 1 + int(w.below(3))
			}
			for i := range depth {
				record[C.GF_AUGMIX_OPERATIONS+k*MaxDepth+i] = w.augmixOperation(s)
			}
		}
		return OK
	},
}

func (w *walker) augmixOperation(s *step) int32 {
	which, at, minus := w.below(int64(s.operations)), int32(0), int32(0)
	if which == C.GF_AUGMIX_AUTO_CONTRAST || which == C.GF_AUGMIX_EQUALIZE {
		return 1 + which*int32(s.count)*2
	}
	at = w.below(int64(s.count))
	if which <= C.GF_AUGMIX_ROTATE || which >= C.GF_AUGMIX_BRIGHTNESS {
		minus = flag(w.minus(s))
	}
	return 1 + (which*int32(s.count)+at)*2 + minus
}

// AugmixNumbers are the numbers of an operation in an AugMix's record, and which one it is.
func AugmixNumbers(s Step, entry int32) (which int, numbers []float64) {
	count := len(s.Numbers) / s.eachMagnitude()
	return int(entry-1) / 2 / count, s.Numbers[C.GF_AUGMIX_NUMBERS*int(entry-1):][:C.GF_AUGMIX_NUMBERS]
}

// eachMagnitude is how many numbers a magnitude of all operations has.
func (s Step) eachMagnitude() int { return 2 * C.GF_AUGMIX_NUMBERS * s.Operations }
