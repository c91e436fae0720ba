package steps

// #include <math.h>
// #include "step.h"
import "C"

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
			if !(chance >= 0 && chance <= most) {
				return s.bad("a chance of %v", chance)
			}
			sum += chance
		}
		if len(s.Numbers) != len(s.Members) || sum == 0 {
			return s.bad("chances %v of %d members", s.Numbers, len(s.Members))
		}
		c.happen = 1
		return nil
	},
	draw: func(w *walker, s *step, record []int32) Code {
		most := float32(-1)
		for i, chance := range numbersOf(s, int(s.members)) {
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
		n := int(s.members)
		for i := range n {
			record[i] = int32(i)
		}
		for i := range n - 1 {
			z := i + int(w.next32()%uint32(n-i))
			record[i], record[z] = record[z], record[i]
		}
		return OK
	},
}

// member is only ever made by the compiler.
var member = operation{read: func(s Step, _ *step) error { return s.bad("it stands alone") }}
