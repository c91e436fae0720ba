package steps

var multiCrop = operation{
	read: func(s Step, c *step) error {
		if s.Vertical {
			c.vertical = 1
		}
		return s.readSize(c, 2)
	},
	draw: func(w *walker, s *step, _ []int32) Code {
		if height, width := int64(s.size[0]), int64(s.size[1]); height > w.height || width > w.width {
			return w.raise("Requested crop size (%d, %d) is bigger than input size (%d, %d)", height, width, w.height, w.width)
		}
		return OK
	},
}

// crops are how many pictures these steps make of one.
var crops = map[string]int{"five_crop": 5, "ten_crop": 10}
