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

var randomZoomOut = operation{
	read: func(s Step, c *step) error {
		if len(s.Scale) != 2 || !ordered(s.Scale[0], s.Scale[1], 1, 64) {
			return s.bad("scale %v must be a range within 1..64", s.Scale)
		}
		c.scale = [2]double{double(s.Scale[0]), double(s.Scale[1])}
		if err := s.readFill(c); err != nil {
			return err
		}
		return s.readChance(c)
	},
	draw: func(w *walker, s *step, record []int32) Code {
		if !(w.rand() < float32(s.p)) {
			return OK
		}
		zoom := float32(w.rand()*float32(s.scale[1]-s.scale[0])) + float32(s.scale[0])
		moreX, moreY := int64(float32(w.width)*zoom)-w.width, int64(float32(w.height)*zoom)-w.height
		left := int64(float32(moreX) * w.rand())
		top := int64(float32(moreY) * w.rand())
		if moreX < 0 || moreY < 0 {
			return w.raise("the padded picture is smaller")
		}
		copy(record, []int32{1, int32(left), int32(top), int32(moreX - left), int32(moreY - top)})
		w.width, w.height = w.width+moreX, w.height+moreY
		return OK
	},
}
