package steps

import "math"

func (w *walker) sized(record []int32, height, width float64) Code {
	switch {
	case !(height >= 1 && width >= 1):
		return w.raise("height and width must be > 0")
	case height > mostPixels || width > mostPixels:
		return w.raise("the resized picture is too large")
	}
	w.height, w.width = int64(height), int64(width)
	record[0], record[1] = int32(height), int32(width)
	return OK
}

var randomResize = operation{
	read: func(s Step, c *step) error {
		if err := s.readSize(c, 2); err != nil {
			return err
		}
		if s.Size[0] >= s.Size[1] {
			return s.bad("size %v is not a range", s.Size)
		}
		return s.readFilter(c)
	},
	draw: func(w *walker, s *step, record []int32) Code {
		side := s.size[0] + word(w.below(int64(s.size[1]-s.size[0])))
		size := resized(&step{size: [2]word{side, 0}}, Size{int32(w.width), int32(w.height)})
		return w.sized(record, float64(size.Height), float64(size.Width))
	},
}

var randomShortestSize = operation{
	read: func(s Step, c *step) error {
		if len(s.Sides) < 1 || len(s.Sides) > len(c.sides) {
			return s.bad("sides %v are not 1 to %d", s.Sides, len(c.sides))
		}
		for i, side := range s.Sides {
			if side < 1 || side > MaxSide {
				return s.bad("sides %v are not within 1..%d", s.Sides, MaxSide)
			}
			c.sides[i] = word(side)
		}
		if s.MaxSize < 0 || s.MaxSize > MaxSide {
			return s.bad("max_size %d is not within 0..%d", s.MaxSize, MaxSide)
		}
		c.n_sides, c.max_size = word(len(s.Sides)), word(s.MaxSize)
		return s.readFilter(c)
	},
	draw: func(w *walker, s *step, record []int32) Code {
		height, width := float64(w.height), float64(w.width)
		ratio := float64(s.sides[w.below(int64(s.n_sides))]) / min(height, width)
		if s.max_size != 0 {
			ratio = min(ratio, float64(s.max_size)/max(height, width))
		}
		return w.sized(record, math.Trunc(height*ratio), math.Trunc(width*ratio))
	},
}

var scaleJitter = operation{
	read: func(s Step, c *step) error {
		if err := s.readSize(c, 2); err != nil {
			return err
		}
		if len(s.Scale) != 2 || !ordered(s.Scale[0], s.Scale[1], 0, most) {
			return s.bad("scale %v must be a range from 0 on", s.Scale)
		}
		c.scale = [2]double{double(s.Scale[0]), double(s.Scale[1])}
		return s.readFilter(c)
	},
	draw: func(w *walker, s *step, record []int32) Code {
		height, width := float64(w.height), float64(w.width)
		scale := float32(w.rand()*float32(s.scale[1]-s.scale[0])) + float32(s.scale[0])
		ratio := float32(float32(min(float64(s.size[1])/height, float64(s.size[0])/width)) * scale)
		return w.sized(record, math.Trunc(float64(float32(height)*ratio)), math.Trunc(float64(float32(width)*ratio)))
	},
}
