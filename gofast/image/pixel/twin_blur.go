package pixel

import "math"

// BlurGeneric is the plain twin of gf_pixel_ops' blur: torch's sum of every pixel.
func BlurGeneric(src Planes, x, y []float32, dst Planes) {
	for c := range dst.Channels {
		for top := range dst.Height {
			for left := range dst.Width {
				sum := float32(0)
				for i, ky := range y {
					row := src.Row(c, reflected(top+i-len(y)/2, src.Height))
					for j, kx := range x {
						sum = Fused(float32(row[reflected(left+j-len(x)/2, src.Width)]), float32(ky*kx), sum)
					}
				}
				dst.Row(c, top)[left] = byte(math.RoundToEven(float64(sum)))
			}
		}
	}
}

func reflected(i, n int) int {
	switch {
	case i < 0:
		return -i
	case i >= n:
		return 2*(n-1) - i
	default:
		return i
	}
}

// Fused is x * y + z, rounded once: the sum is made odd where a float64 does not
// hold it, so that rounding it again cannot go wrong.
func Fused(x, y, z float32) float32 {
	product, addend := float64(x)*float64(y), float64(z)
	sum := float64(product) + addend
	back := sum - product
	rest := (product - (sum - back)) + (addend - back)
	if bits := math.Float64bits(sum); rest != 0 && bits&1 == 0 {
		if (rest > 0) == (sum > 0) {
			bits++
		} else {
			bits--
		}
		sum = math.Float64frombits(bits)
	}
	return float32(sum)
}
