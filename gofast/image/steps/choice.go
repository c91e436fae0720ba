package steps

// #include <math.h>
// #include "step.h"
import "C"

import "math/bits"

// MaxMembers bounds those of a random_choice or random_order.
const MaxMembers = C.GF_MOST_MEMBERS

func (s Step) readMembers(c *step) error {
	if len(s.Members) < 1 || len(s.Members) > MaxMembers {
		return s.bad("%d members are not 1 to %d", len(s.Members), MaxMembers)
	}
	c.members, c.happen = word(len(s.Members)), word(len(s.Members))
	return nil
}

var randomChoice = operation{
	read: func(s Step, c *step) error {
		if err := s.readMembers(c); err != nil {
			return err
		}
		sum := 0.0
		for _, chance := range s.Numbers {
			if !(chance >= 0 && chance <= most) || c.version == 1 && chance < sum {
				return s.bad("a chance of %v", chance)
			}
			if sum += chance; c.version == 1 {
				sum = chance // it is a sum
			}
		}
		if len(s.Numbers) != len(s.Members) || sum == 0 {
			return s.bad("chances %v of %d members", s.Numbers, len(s.Members))
		}
		c.happen = 1
		return nil
	},
	draw: func(w *walker, s *step, record []int32) Code {
		numbers, most := numbersOf(s, int(s.members)), float32(-1)
		if s.version == 1 { // random.choices
			high, low := w.python.next32()>>5, w.python.next32()>>6
			x := (float64(high)*(1<<26) + float64(low)) * 0x1p-53 * numbers[len(numbers)-1]
			for _, sum := range numbers[:len(numbers)-1] {
				if sum <= x {
					record[0]++
				}
			}
			return OK
		}
		for i, chance := range numbers {
			part := float32(chance) / float32(-float64(C.log1p(C.double(-w.double()))))
			if most == most && (part > most || part != part) {
				most, record[0] = part, int32(i)
			}
		}
		return OK
	},
}

var randomOrder = operation{
	read: Step.readMembers,
	draw: func(w *walker, s *step, record []int32) Code {
		order := record[:s.members]
		for i := range order {
			order[i] = int32(i)
		}
		if s.version == 1 {
			w.python.shuffle(order)
		} else {
			w.permute(order)
		}
		return OK
	},
}

// permute is torch.randperm's order of what there is.
func (s *stream) permute(order []int32) {
	for i := range len(order) - 1 {
		z := i + int(s.next32()%uint32(len(order)-i))
		order[i], order[z] = order[z], order[i]
	}
}

// shuffle is Python's random.shuffle.
func (s *stream) shuffle(order []int32) {
	for i := len(order) - 1; i > 0; i-- {
		z := len(order)
		for z > i {
			z = int(s.next32() >> (32 - bits.Len(uint(i+1))))
		}
		order[i], order[z] = order[z], order[i]
	}
}

// member is only ever made by the compiler.
var member = operation{read: func(s Step, _ *step) error { return s.bad("it stands alone") }}
