package steps

var randomErasing = operation{
	read: func(s Step, c *step) error {
		if len(s.Value) != 1 && len(s.Value) != 3 {
			return s.bad("value %v", s.Value)
		}
		for i := range c.value {
			c.value[i] = float(s.Value[i%len(s.Value)])
		}
		if err := s.readChance(c); err != nil {
			return err
		}
		return s.readBox(c)
	},
	draw: func(w *walker, s *step, record []int32) Code {
		if !(w.rand() < float32(s.p)) {
			return OK
		}
		for range 10 {
			height, width, ok := w.box(s)
			if !ok {
				return Ask
			}
			if height < float64(w.height) && width < float64(w.width) {
				record[0] = 1
				record[1] = w.below(w.height - int64(height) + 1)
				record[2] = w.below(w.width - int64(width) + 1)
				record[3], record[4] = int32(height), int32(width)
				return OK
			}
		}
		return OK
	},
}
