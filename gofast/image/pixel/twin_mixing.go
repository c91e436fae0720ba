package pixel

// The plain twins of mixing.c.

// MixUpGeneric is MixUp.
func MixUpGeneric(x, to []float32, samples int, part, rest float32) {
	values := len(x) / samples
	for i := range to {
		before := (i - values + len(x)) % len(x)
		to[i] = float32(x[before]*rest) + float32(x[i]*part)
	}
}

// CutMixGeneric is CutMix.
func CutMixGeneric(x, to []byte, c Cut) {
	sample := len(x) / c.Samples
	for i := range to {
		from := i
		column, row := i%c.RowBytes, i/c.RowBytes%c.Height
		if column >= c.Left && column < c.Right && row >= c.Top && row < c.Bottom {
			from = (i - sample + len(x)) % len(x)
		}
		to[i] = x[from]
	}
}
