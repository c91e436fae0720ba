package steps

import "math"

var randomResizedCrop = operation{
	read: func(s Step, c *step) error {
		if err := s.readFilter(c); err != nil {
			return err
		}
		if err := s.readBox(c); err != nil {
			return err
		}
		return s.readSize(c, 2)
	},
	draw: func(w *walker, s *step, record []int32) Code {
		for range 10 {
			width, height, ok := w.box(s)
			if !ok {
				return Ask
			}
			if 0 < width && width <= float64(w.width) && 0 < height && height <= float64(w.height) {
				record[0] = w.below(w.height - int64(height) + 1)
				record[1] = w.below(w.width - int64(width) + 1)
				record[2], record[3] = int32(height), int32(width)
				return w.become(s)
			}
		}
		height, width := float64(w.height), float64(w.width)
		if ratio := width / height; ratio < float64(s.ratio[0]) {
			height = math.RoundToEven(width / float64(s.ratio[0]))
		} else if ratio > float64(s.ratio[1]) {
			width = math.RoundToEven(height * float64(s.ratio[1]))
		}
		record[0], record[1] = int32((w.height-int64(height))/2), int32((w.width-int64(width))/2)
		record[2], record[3] = int32(height), int32(width)
		return w.become(s)
	},
}
