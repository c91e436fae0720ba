package steps

import "math"

var channelPermutation = operation{
	read: func(Step, *step) error { return nil },
	draw: func(w *walker, _ *step, record []int32) Code {
		w.permutation(record[:3])
		return OK
	},
}

var photometricDistort = operation{
	read: func(s Step, c *step) error {
		if err := colorJitter.read(s, c); err != nil {
			return err
		}
		if c.jitter != 1<<4-1 {
			return s.bad("a factor is missing")
		}
		return s.readChance(c)
	},
	draw: func(w *walker, s *step, record []int32) Code {
		var on [4]bool
		for i, r := range s.factors {
			if on[i] = w.rand() < float32(s.p); on[i] {
				record[4+i] = int32(math.Float32bits(w.uniform(float64(r[0]), float64(r[1]))))
			}
		}
		order := [4]int32{0, 2, 3, 1} // contrast last
		if w.rand() < 0.5 {
			order = [4]int32{0, 1, 2, 3}
		}
		for i, what := range order {
			if record[i] = -1; on[what] {
				record[i] = what
			}
		}
		if record[8] = flag(w.rand() < float32(s.p)); record[8] != 0 {
			w.permutation(record[9:12])
		}
		return OK
	},
}

// permutation is torch.randperm.
func (w *walker) permutation(order []int32) {
	for i := range order {
		order[i] = int32(i)
	}
	for i := range len(order) - 1 {
		z := i + int(w.next32()%uint32(len(order)-i))
		order[i], order[z] = order[z], order[i]
	}
}
