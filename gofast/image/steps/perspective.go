package steps

import "math"

var randomPerspective = operation{
	read: func(s Step, c *step) error {
		if !(s.Distortion >= 0 && s.Distortion <= 1) {
			return s.bad("distortion %v is not within 0..1", s.Distortion)
		}
		c.distortion = double(s.Distortion)
		if err := s.readSeen(c); err != nil {
			return err
		}
		return s.readChance(c)
	},
	draw: func(w *walker, s *step, record []int32) Code {
		if !(w.rand() < float32(s.p)) {
			return OK
		}
		sides, corners := [2]int64{w.width, w.height}, [4][2]float64{}
		for i := range corners {
			for j, side := range sides {
				span := int64(float64(s.distortion)*float64(side/2)) + 1
				at := int64(w.below(span))
				if j == 0 && (i == 1 || i == 2) || j == 1 && i >= 2 {
					at += side - span
				}
				record[2+2*i+j], corners[i][j] = int32(at), float64(int32(at))
			}
		}
		record[0], record[1] = int32(w.width), int32(w.height)
		solved := perspective(corners, float64(w.width-1), float64(w.height-1))
		for _, v := range solved {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				if w.exact {
					return w.raise("the corners of a perspective lie on one line")
				}
				return OK
			}
		}
		for i, v := range solved {
			if c := float32(v); c != 0 { // a zero has no sign
				record[10+i] = int32(math.Float32bits(c))
			}
		}
		return OK
	},
}

// perspective sees corners, clockwise from the top left, at those of a picture whose
// last column and row are given.
func perspective(at [4][2]float64, width, height float64) [8]float64 {
	var side, next, sum [2]float64 // from the third corner to the second and the fourth
	for i := range 2 {
		side[i], next[i] = at[1][i]-at[2][i], at[3][i]-at[2][i]
		sum[i] = at[0][i] - at[1][i] + at[2][i] - at[3][i]
	}
	cross := func(a, b [2]float64) float64 { return float64(a[0]*b[1]) - float64(b[0]*a[1]) }
	area := cross(side, next)
	g, h := cross(sum, next)/area, cross(side, sum)/area
	x, y := at[0][0], at[0][1]
	a, b := at[1][0]-x+float64(g*at[1][0]), at[3][0]-x+float64(h*at[3][0])
	d, e := at[1][1]-y+float64(g*at[1][1]), at[3][1]-y+float64(h*at[3][1])
	depth := float64(a*e) - float64(b*d)
	return [8]float64{
		width * (e - float64(y*h)) / depth, width * (float64(x*h) - b) / depth, width * (float64(b*y) - float64(x*e)) / depth,
		height * (float64(y*g) - d) / depth, height * (a - float64(x*g)) / depth, height * (float64(x*d) - float64(a*y)) / depth,
		(float64(d*h) - float64(e*g)) / depth, (float64(b*g) - float64(a*h)) / depth,
	}
}
