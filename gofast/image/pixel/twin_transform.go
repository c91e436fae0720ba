package pixel

import "math"

// WarpGeneric is the plain twin of gf_pixel_ops' warp.
func WarpGeneric(src Planes, t Transform, dst Planes) {
	n := t.Numbers
	see := func(x, y int) (float64, float64) {
		px, py := float64(x)+0.5, float64(y)+0.5
		sx, sy := float64(n[0]*px)+float64(n[1]*py)+n[2], float64(n[3]*px)+float64(n[4]*py)+n[5]
		if depth := float64(n[6]*px) + float64(n[7]*py) + 1; t.Perspective {
			return sx / depth, sy / depth
		}
		return sx, sy
	}
	if t.Filter == SeenNearest && !t.Perspective {
		see = walk(n, dst.Width, dst.Height)
	}
	for y := range dst.Height {
		for x := range dst.Width {
			sx, sy := see(x, y)
			for c := range dst.Channels {
				dst.Row(c, y)[x] = src.at(c, sx, sy, t)
			}
		}
	}
}

// walk adds step after step, as Pillow does where the nearest pixel is taken.
func walk(n [8]float64, width, height int) func(x, y int) (float64, float64) {
	fits := func(x, y int) bool {
		return math.Abs(float64(float64(x)*n[0])+float64(float64(y)*n[1])+n[2]) < 32768 &&
			math.Abs(float64(float64(x)*n[3])+float64(float64(y)*n[4])+n[5]) < 32768
	}
	if n[1] == 0 && n[3] == 0 {
		columns, rows := sums(n[2]+float64(n[0]*0.5), n[0], width), sums(n[5]+float64(n[4]*0.5), n[4], height)
		return func(x, y int) (float64, float64) { return columns[x], rows[y] }
	}
	if fits(0, 0) && fits(width, height) && fits(0, height) && fits(width, 0) {
		fixed := func(v float64) int32 {
			if v = math.Floor(float64(v*65536) + 0.5); v < math.MinInt32 || v > math.MaxInt32 {
				return math.MinInt32
			}
			return int32(v)
		}
		startX, startY := fixed(n[2]+float64(n[0]*0.5)+float64(n[1]*0.5)), fixed(n[5]+float64(n[3]*0.5)+float64(n[4]*0.5))
		return func(x, y int) (float64, float64) {
			sx := startX + int32(y)*fixed(n[1]) + int32(x)*fixed(n[0])
			sy := startY + int32(y)*fixed(n[4]) + int32(x)*fixed(n[3])
			return float64(sx >> 16), float64(sy >> 16)
		}
	}
	columns, rows := sums(n[2]+float64(n[1]*0.5)+float64(n[0]*0.5), n[1], height), sums(n[5]+float64(n[4]*0.5)+float64(n[3]*0.5), n[4], height)
	var alongX, alongY []float64
	return func(x, y int) (float64, float64) {
		if x == 0 {
			alongX, alongY = sums(columns[y], n[0], width), sums(rows[y], n[3], width)
		}
		return alongX[x], alongY[x]
	}
}

// sums are first, first + step, and so on.
func sums(first, step float64, count int) []float64 {
	out := make([]float64, count)
	for i := range out {
		out[i] = first
		first += step
	}
	return out
}

// at is what is seen at a place; what is no number is inside, and black but for
// the nearest pixel.
func (p Planes) at(c int, x, y float64, t Transform) byte {
	if x < 0 || x >= float64(p.Width) || y < 0 || y >= float64(p.Height) {
		return t.Fill[c]
	}
	switch none := math.IsNaN(x) || math.IsNaN(y); {
	case t.Filter == SeenNearest && none:
		return t.Fill[c]
	case t.Filter == SeenNearest:
		return p.Row(c, int(y))[int(x)]
	case none:
		return 0
	}
	left, above := math.Floor(x-0.5), math.Floor(y-0.5)
	dx, dy := x-0.5-left, y-0.5-above
	pixel := func(i, j int) float64 {
		row := p.Row(c, min(max(int(above)+j, 0), p.Height-1))
		return float64(row[min(max(int(left)+i, 0), p.Width-1)])
	}
	if t.Filter == SeenBilinear {
		upper, lower := between(pixel(0, 0), pixel(1, 0), dx), between(pixel(0, 1), pixel(1, 1), dx)
		return byte(between(upper, lower, dy))
	}
	var rows [4]float64
	for j := range rows {
		rows[j] = cubic(pixel(-1, j-1), pixel(0, j-1), pixel(1, j-1), pixel(2, j-1), dx)
	}
	return byte(min(max(cubic(rows[0], rows[1], rows[2], rows[3], dy), 0), 255))
}

func between(a, b, d float64) float64 { return a + float64((b-a)*d) }

func cubic(a, b, c, d, x float64) float64 {
	p2, p3, p4 := -a+c, 2*(a-b)+c-d, -a+b-c+d
	return b + float64(x*(p2+float64(x*(p3+float64(x*p4)))))
}

// TurnGeneric is the plain twin of gf_pixel_ops' turn.
func TurnGeneric(src Planes, quarters int, dst Planes) {
	for c := range dst.Channels {
		for y := range dst.Height {
			for x := range dst.Width {
				if quarters == 1 {
					dst.Row(c, y)[x] = src.Row(c, x)[src.Width-1-y]
				} else {
					dst.Row(c, y)[x] = src.Row(c, src.Height-1-x)[y]
				}
			}
		}
	}
}

// SharpenGeneric is the plain twin of gf_pixel_ops' sharpen; it sums as Pillow does.
func SharpenGeneric(src Planes, factor float32, dst Planes) {
	kernel := [3][3]float32{{1, 1, 1}, {1, 5, 1}, {1, 1, 1}}
	for c := range dst.Channels {
		for y := range dst.Height {
			row, out := src.Row(c, y), dst.Row(c, y)
			copy(out, row)
			for x := 1; x < dst.Width-1 && y > 0 && y < dst.Height-1; x++ {
				sum := float32(0.5)
				for j := 1; j >= -1; j-- {
					line, part := src.Row(c, y+j), float32(0)
					for i := range 3 {
						part += float32(float32(line[x-1+i]) * (kernel[1-j][i] / 13))
					}
					sum += part
				}
				out[x] = blend(byte(sum), row[x], factor)
			}
		}
	}
}

// HistogramGeneric is the plain twin of gf_pixel_ops' histogram.
func HistogramGeneric(p Planes) (counts [3][256]uint32) {
	for c := range p.Channels {
		p.each(func(at int) { counts[c][p.Plane[c][at]]++ })
	}
	return counts
}

// LookUpGeneric is the plain twin of gf_pixel_ops' look_up.
func LookUpGeneric(p Planes, tables *[3][256]byte) {
	for c := range p.Channels {
		p.each(func(at int) { p.Plane[c][at] = tables[c][p.Plane[c][at]] })
	}
}
