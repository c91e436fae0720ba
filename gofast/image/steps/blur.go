package steps

import "math"

var gaussianBlur = operation{
	read: func(s Step, c *step) error {
		if len(s.Kernel) != 2 || len(s.Sigma) != 2 {
			return s.bad("kernel %v, sigma %v", s.Kernel, s.Sigma)
		}
		if !ordered(s.Sigma[0], s.Sigma[1], leastSigma, most) {
			return s.bad("sigma %v must be a range above 0", s.Sigma)
		}
		for i, size := range s.Kernel {
			if size < 1 || size > MaxKernel || size%2 == 0 {
				return s.bad("kernel %v is not odd and within 1..%d", s.Kernel, MaxKernel)
			}
			c.kernel[i], c.sigma[i] = word(size), float(s.Sigma[i])
		}
		return nil
	},
	draw: func(w *walker, s *step, record []int32) Code {
		sigma := w.uniform(float64(s.sigma[0]), float64(s.sigma[1]))
		record[0] = int32(math.Float32bits(sigma))
		for i, n := range s.kernel {
			weigh(int(n), sigma, record[1+i*MaxKernel:])
		}
		return OK
	},
}

// leastSigma keeps a float32 and its square from vanishing.
const leastSigma = 1e-9

func weigh(n int, sigma float32, record []int32) {
	pdf, sum := make([]float64, n), 0.0
	for i := range pdf {
		x := (float64(i) - float64(n-1)*0.5) / float64(sigma)
		if power := float64(-0.5*x) * x; power >= -80 {
			pdf[i] = exponential(power)
		}
		sum += pdf[i]
	}
	for i, p := range pdf {
		record[i] = int32(math.Float32bits(float32(p / sum)))
	}
}
