package steps

// #include <math.h>
import "C"

import "math"

// double is the twin of gf_rand_double.
func (s *stream) double() float64 {
	high := uint64(s.next32())
	return float64((high<<32|uint64(s.next32()))&(1<<53-1)) * 0x1p-53
}

// normal is the twin of gamma.c's. Go's own logarithms and sines have other bits.
func (s *stream) normal() float64 {
	if s.kept != nil {
		kept := *s.kept
		s.kept = nil
		return kept
	}
	u1, u2 := s.double(), s.double()
	r, theta := math.Sqrt(-2*float64(C.log1p(C.double(-u2)))), 2*math.Pi*u1
	kept := r * float64(C.sin(C.double(theta)))
	s.kept = &kept
	return r * float64(C.cos(C.double(theta)))
}

func (s *stream) gamma(alpha float64) float64 {
	scale := 1.0
	if alpha < 1 {
		scale = float64(C.pow(C.double(1-s.double()), C.double(1/alpha)))
		alpha++
	}
	third := float32(1) / 3
	d := alpha - float64(third)
	c := 1 / math.Sqrt(9*d)
	for {
		x, y := 0.0, 0.0
		for y <= 0 {
			x = s.normal()
			y = 1 + float64(c*x)
		}
		v, u, xx := float64(float64(y*y)*y), 1-s.double(), x*x
		if u < 1-float64(float64(float64(float32(0.0331))*xx)*xx) ||
			float64(C.log(C.double(u))) < float64(0.5*xx)+float64(d*(1-v+float64(C.log(C.double(v))))) {
			return float64(scale*d) * v
		}
	}
}

// dirichlet is the twin of gf_dirichlet.
func (s *stream) dirichlet(alpha float32, n int) []float32 {
	numbers, parts, sum := make([]float64, n), make([]float32, n), 0.0
	for i := range numbers {
		numbers[i] = max(s.gamma(float64(alpha)), 0x1p-1022)
		sum += numbers[i]
	}
	for i, v := range numbers {
		parts[i] = min(max(float32(v/sum), 0x1p-126), 0x1.fffffep-1)
	}
	return parts
}
