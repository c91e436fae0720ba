package pixel

import "math"

// luma is Pillow's L of an RGB pixel.
func luma(r, g, b byte) byte { return byte((19595*int(r) + 38470*int(g) + 7471*int(b) + 32768) >> 16) }

// blend is Image.blend of two bytes. The conversion keeps a compiler from
// fusing the two roundings.
func blend(from, to byte, alpha float32) byte {
	product := float32(alpha * float32(int(to)-int(from)))
	switch x := float32(from) + product; {
	case x <= 0:
		return 0
	case x >= 255:
		return 255
	default:
		return byte(x)
	}
}

// each calls f with every pixel's place in the planes.
func (p Planes) each(f func(at int)) {
	for y := range p.Height {
		for x := range p.Width {
			f(y*p.Stride + x)
		}
	}
}

// GreyGeneric is the plain twin of gf_pixel_ops' grey.
func GreyGeneric(p Planes, channels int) {
	p.each(func(at int) {
		v := p.luma(at)
		for c := range channels {
			p.Plane[c][at] = v
		}
	})
}

func (p Planes) luma(at int) byte {
	if p.Channels == 1 {
		return p.Plane[0][at]
	}
	return luma(p.Plane[0][at], p.Plane[1][at], p.Plane[2][at])
}

// BrightnessGeneric is the plain twin of gf_pixel_ops' brightness.
func BrightnessGeneric(p Planes, factor float32) { p.blend(0, factor) }

// ContrastGeneric is the plain twin of gf_pixel_ops' contrast.
func ContrastGeneric(p Planes, factor float32) {
	sum := 0
	p.each(func(at int) { sum += int(p.luma(at)) })
	p.blend(byte(float64(sum)/float64(p.Width*p.Height)+0.5), factor)
}

func (p Planes) blend(from byte, factor float32) {
	for c := range p.Channels {
		p.each(func(at int) { p.Plane[c][at] = blend(from, p.Plane[c][at], factor) })
	}
}

// SaturationGeneric is the plain twin of gf_pixel_ops' saturation.
func SaturationGeneric(p Planes, factor float32) {
	p.each(func(at int) {
		grey := p.luma(at)
		for c := range p.Channels {
			p.Plane[c][at] = blend(grey, p.Plane[c][at], factor)
		}
	})
}

// HueGeneric is the plain twin of gf_pixel_ops' hue; its arithmetic is Pillow's.
func HueGeneric(p Planes, factor float64) {
	offset := byte(int32(float64(factor * 255)))
	p.each(func(at int) {
		h, s, v := rgbToHSV(p.Plane[0][at], p.Plane[1][at], p.Plane[2][at])
		p.Plane[0][at], p.Plane[1][at], p.Plane[2][at] = hsvToRGB(h+offset, s, v)
	})
}

func rgbToHSV(r, g, b byte) (h, s, v byte) {
	most, least := max(r, g, b), min(r, g, b)
	if most == least {
		return 0, 0, most
	}
	spread := float32(most - least)
	rc, gc, bc := float32(most-r)/spread, float32(most-g)/spread, float32(most-b)/spread
	var turn float32
	switch most {
	case r:
		turn = bc - gc
	case g:
		turn = float32(2.0 + float64(rc) - float64(bc))
	default:
		turn = float32(4.0 + float64(gc) - float64(rc))
	}
	turn = float32(math.Mod(float64(turn)/6.0+1.0, 1.0))
	return byte(float64(turn) * 255.0), byte(float64(spread/float32(most)) * 255.0), most
}

func hsvToRGB(h, s, v byte) (r, g, b byte) {
	if s == 0 {
		return v, v, v
	}
	turn := float64(h) * 6.0 / 255.0
	sector := math.Floor(turn)
	f := float64(float32(turn - sector))
	fs := float32(float64(s) / 255.0)
	product := float64(fs * float32(f)) // rounded to float32, as Pillow does here
	rest := float64(float64(fs) * (1.0 - f))
	low := byte(math.Round(float64(v) * (1.0 - float64(fs))))
	falling := byte(math.Round(float64(v) * (1.0 - product)))
	rising := byte(math.Round(float64(v) * (1.0 - rest)))
	switch int(sector) % 6 {
	case 0:
		return v, rising, low
	case 1:
		return falling, v, low
	case 2:
		return low, v, rising
	case 3:
		return low, falling, v
	case 4:
		return rising, low, v
	default:
		return v, low, falling
	}
}
