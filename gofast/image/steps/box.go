package steps

import "math"

// box draws a random box, its side that grows with the aspect first. It is false
// where torch must be asked for an exp.
func (w *walker) box(s *step) (long, short float64, ok bool) {
	target := float64(w.height*w.width) * float64(w.uniform(float64(s.scale[0]), float64(s.scale[1])))
	x := w.uniform(float64(s.log_ratio[0]), float64(s.log_ratio[1]))
	aspect := exponential(float64(x))
	if w.exact {
		long, short = sides(target, float64(float32(aspect)))
		return long, short, true
	}
	low, high := float64(aspect*(1-0x1p-22)), float64(aspect*(1+0x1p-22))
	long, short = sides(target, low)
	if l, s := sides(target, high); l == long && s == short {
		return long, short, true
	}
	for _, a := range w.answers {
		if a.X == x {
			long, short = sides(target, float64(a.Value))
			return long, short, true
		}
	}
	w.result.Ask = x
	return 0, 0, false
}

func sides(area, aspect float64) (long, short float64) {
	return math.RoundToEven(math.Sqrt(float64(area * aspect))), math.RoundToEven(math.Sqrt(area / aspect))
}

// exponential has the bits of box.c's: every product is rounded before it is added.
func exponential(x float64) float64 {
	k := math.RoundToEven(float64(x * 0x1.71547652b82fep0))
	r := x - float64(k*0x1.62e42feep-1) - float64(k*0x1.a39ef35793c76p-33)
	sum, factorial := 0.0, 6227020800.0
	for i := 13.0; i >= 0; i-- {
		sum = float64(sum*r) + 1/factorial
		factorial /= max(i, 1)
	}
	return math.Ldexp(sum, int(k))
}
