package steps

var randomSolarize = operation{
	read: func(s Step, c *step) error {
		if s.Threshold < 0 || s.Threshold > 256 {
			return s.bad("threshold %d is not within 0..256", s.Threshold)
		}
		c.threshold = word(s.Threshold)
		return s.readChance(c)
	},
	draw: func(w *walker, s *step, record []int32) Code {
		x := w.rand()
		record[0] = flag(s.version == 1 && float64(x) < float64(s.p) || s.version == 2 && x < float32(s.p))
		return OK
	},
}
