package steps

import "math"

var resize = operation{
	read: func(s Step, c *step) error {
		if s.MaxSize < 0 || s.MaxSize > MaxSide {
			return s.bad("max_size %d is not within 0..%d", s.MaxSize, MaxSide)
		}
		c.max_size = word(s.MaxSize)
		switch {
		case len(s.Size) == 0 && s.MaxSize == 0, len(s.Size) == 2 && s.MaxSize > 0:
			return s.bad("size and max_size do not go together")
		case len(s.Size) == 1 && s.MaxSize > 0 && s.MaxSize <= s.Size[0]:
			return s.bad("max_size must be greater than the short side")
		}
		if err := s.readFilter(c); err != nil {
			return err
		}
		return s.readSize(c, 0, 1, 2)
	},
	draw: func(w *walker, s *step, _ []int32) Code {
		size := resized(s, Size{int32(w.width), int32(w.height)})
		if size.Width < 1 || size.Height < 1 {
			return w.raise("height and width must be > 0")
		}
		w.width, w.height = int64(size.Width), int64(size.Height)
		return OK
	},
}

// Resized is torchvision's rule for the size behind a resize.
func Resized(s Step, size Size) (Size, error) {
	var c step
	err := resize.read(s, &c)
	return resized(&c, size), err
}

func resized(s *step, size Size) Size {
	first, second, most := int32(s.size[0]), int32(s.size[1]), int32(s.max_size)
	if second != 0 {
		return Size{second, first}
	}
	shorter, longer := min(size.Width, size.Height), max(size.Width, size.Height)
	newShort, newLong := first, most
	if newShort == 0 {
		newShort = scaled(newLong, shorter, longer)
	} else if newLong = scaled(newShort, longer, shorter); most != 0 && newLong > most {
		newShort, newLong = scaled(most, newShort, newLong), most
	}
	if size.Width <= size.Height {
		return Size{newShort, newLong}
	}
	return Size{newLong, newShort}
}

// scaled is Python's int(a * b / c).
func scaled(a, b, c int32) int32 {
	return int32(min(float64(int64(a)*int64(b))/float64(c), math.MaxInt32))
}
