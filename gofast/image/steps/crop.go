package steps

func (w *walker) become(s *step) Code {
	w.height, w.width = int64(s.size[0]), int64(s.size[1])
	return OK
}

func (w *walker) padded(s *step) (height, width int64) {
	return w.height + int64(s.padding[1]) + int64(s.padding[3]), w.width + int64(s.padding[0]) + int64(s.padding[2])
}

var centerCrop = operation{
	read: func(s Step, c *step) error { return s.readSize(c, 2) },
	draw: func(w *walker, s *step, _ []int32) Code { return w.become(s) },
}

var pad = operation{
	read: func(s Step, c *step) error {
		if err := s.readPadding(c); err != nil {
			return err
		}
		return s.readFill(c)
	},
	draw: func(w *walker, s *step, _ []int32) Code {
		w.height, w.width = w.padded(s)
		return OK
	},
}

var randomCrop = operation{
	read: func(s Step, c *step) error {
		if s.PadIfNeeded {
			c.pad_if_needed = 1
		}
		if s.Padding != nil {
			if err := s.readPadding(c); err != nil {
				return err
			}
		}
		if err := s.readFill(c); err != nil {
			return err
		}
		return s.readSize(c, 2)
	},
	draw: func(w *walker, s *step, record []int32) Code {
		height, width := int64(s.size[0]), int64(s.size[1])
		high, wide := w.padded(s)
		if s.pad_if_needed != 0 {
			high += 2 * max(height-high, 0)
			wide += 2 * max(width-wide, 0)
		}
		if high < height || wide < width {
			kind, end := "", ""
			if s.version == 2 {
				end = "."
				if s.padded != 0 {
					kind = "padded "
				}
			}
			return w.raise("Required crop size (%d, %d) is larger than %sinput image size (%d, %d)%s", height, width, kind, high, wide, end)
		}
		always := s.version == 1 && (high != height || wide != width)
		if always || high > height {
			record[0] = w.below(high - height + 1)
		}
		if always || wide > width {
			record[1] = w.below(wide - width + 1)
		}
		return w.become(s)
	},
}
