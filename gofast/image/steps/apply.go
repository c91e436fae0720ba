package steps

// randomApply's own steps are compiled behind it.
var randomApply = operation{
	read: Step.readChance,
	draw: func(w *walker, s *step, record []int32) Code {
		x, p := w.rand(), float32(s.p)
		record[0] = flag(s.version == 1 && !(p < x) || s.version == 2 && x < p)
		return OK
	},
}
