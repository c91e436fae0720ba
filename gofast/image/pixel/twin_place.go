package pixel

import (
	"slices"

	"github.com/gofast-org/gofast/gofast/numbers"
)

// SplitGeneric is the plain twin of gf_pixel_ops' split.
func SplitGeneric(src []byte, stride, x, y int, p Planes) {
	for j := range p.Height {
		for c := range 3 {
			row := p.Row(c, j)
			for i := range row {
				row[i] = src[(y+j)*stride+4*(x+i)+c]
			}
		}
	}
}

// JoinGeneric is the plain twin of gf_pixel_ops' join.
func JoinGeneric(p Planes, dst []byte, stride int) {
	for j := range p.Height {
		for i := range p.Width {
			at := dst[j*stride+4*i:]
			at[0], at[1], at[2], at[3] = p.Row(0, j)[i], p.Row(1, j)[i], p.Row(2, j)[i], 255
		}
	}
}

// HFlipGeneric is the plain twin of gf_pixel_ops' hflip.
func HFlipGeneric(p Planes) {
	for c := range p.Channels {
		for y := range p.Height {
			slices.Reverse(p.Row(c, y))
		}
	}
}

// VFlipGeneric is the plain twin of gf_pixel_ops' vflip.
func VFlipGeneric(p Planes) {
	for c := range p.Channels {
		for y := range p.Height / 2 {
			a, b := p.Row(c, y), p.Row(c, p.Height-1-y)
			for i := range a {
				a[i], b[i] = b[i], a[i]
			}
		}
	}
}

// WindowGeneric is the plain twin of gf_pixel_ops' window.
func WindowGeneric(src Planes, x, y int, edge Edge, fill [3]byte, dst Planes) {
	for c := range dst.Channels {
		for j := range dst.Height {
			row := dst.Row(c, j)
			from := seen(y+j, src.Height, edge)
			for i := range row {
				row[i] = fill[c]
				if column := seen(x+i, src.Width, edge); from >= 0 && column >= 0 {
					row[i] = src.Row(c, from)[column]
				}
			}
		}
	}
}

// seen tells which of n pixels is seen at i; -1 for the colour. It walks as
// numpy's pad does: from mirror to mirror until it is inside.
func seen(i, n int, edge Edge) int {
	for i < 0 || i >= n {
		switch {
		case edge == EdgeConstant:
			return -1
		case edge == EdgeEdge || n == 1:
			i = min(max(i, 0), n-1)
		case edge == EdgeReflect && i < 0:
			i = -i
		case edge == EdgeReflect:
			i = 2*(n-1) - i
		case i < 0: // symmetric
			i = -1 - i
		default:
			i = 2*n - 1 - i
		}
	}
	return i
}

// EraseGeneric is the plain twin of gf_normalise's erase.
func EraseGeneric(spec *Spec, sample []byte, width, height int, box Box, value [3]float32) {
	plane := width * height * spec.Type.Size()
	var out [3][]byte
	for c := range spec.Channels {
		out[c] = sample
		if !spec.Last {
			out[c] = sample[c*plane:]
		}
	}
	for c := range spec.Channels {
		for y := box.Y; y < box.Y+box.Height; y++ {
			for x := box.X; x < box.X+box.Width; x++ {
				spec.store(out, c, y*width+x, numbers.Single(value[c]))
			}
		}
	}
}
