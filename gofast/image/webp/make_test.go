package webp

import (
	"encoding/binary"
	"image"
	"image/color"
	"math/bits"
	"math/rand/v2"
)

// part is one chunk of a RIFF file that a test makes.
type part struct {
	name string
	data []byte
}

func (p part) bytes() []byte {
	out := binary.LittleEndian.AppendUint32([]byte(p.name), uint32(len(p.data)))
	out = append(out, p.data...)
	return append(out, make([]byte, len(p.data)&1)...)
}

func riff(parts ...part) []byte {
	body := []byte("WEBP")
	for _, p := range parts {
		body = append(body, p.bytes()...)
	}
	return part{"RIFF", body}.bytes()
}

func le24(v int) []byte { return []byte{byte(v), byte(v >> 8), byte(v >> 16)} }

// extended is the header of a file that has more than one picture chunk.
func extended(flags byte, width, height int) part {
	return part{"VP8X", append(append([]byte{flags, 0, 0, 0}, le24(width-1)...), le24(height-1)...)}
}

var animation = part{"ANIM", []byte{1, 2, 3, 4, 0, 0}}

// frame puts a picture chunk at x, y, which must be even.
func frame(x, y int, m *image.NRGBA, p part) part {
	d := append(le24(x/2), le24(y/2)...)
	d = append(append(d, le24(m.Rect.Dx()-1)...), le24(m.Rect.Dy()-1)...)
	return part{"ANMF", append(append(d, 40, 0, 0, 1), p.bytes()...)}
}

// bitWriter writes bits, the lowest first.
type bitWriter struct {
	out []byte
	n   int
}

func (b *bitWriter) put(v uint32, n int) {
	for ; n > 0; n-- {
		if b.n%8 == 0 {
			b.out = append(b.out, 0)
		}
		b.out[b.n/8] |= byte(v&1) << (b.n % 8)
		v >>= 1
		b.n++
	}
}

// lossless writes m without any transform, every channel in codes of 8 bits.
func lossless(m *image.NRGBA) part {
	var b bitWriter
	b.put(0x2f, 8)
	b.put(uint32(m.Rect.Dx()-1), 14)
	b.put(uint32(m.Rect.Dy()-1), 14)
	b.put(1, 1) // alpha
	b.put(0, 3) // version
	b.put(0, 1) // no transform
	b.put(0, 1) // no colour cache
	b.put(0, 1) // one group of codes
	for range 4 {
		b.put(0, 1) // not a simple code
		b.put(8, 4) // lengths of 12 code lengths follow; all but that of 8, the last, are zero
		for range 11 {
			b.put(0, 3)
		}
		b.put(1, 3)
		b.put(1, 1) // not all symbols have a length:
		b.put(3, 3) // 8 bits say how many
		b.put(254, 8)
	}
	b.put(1, 1) // distances: a simple code
	b.put(0, 3) // of one symbol, zero
	for i := 0; i < len(m.Pix); i += 4 {
		for _, c := range []int{1, 0, 2, 3} {
			b.put(uint32(bits.Reverse8(m.Pix[i+c])), 8)
		}
	}
	return part{"VP8L", b.out}
}

func randomPicture(r *rand.Rand, width, height int) *image.NRGBA {
	m := image.NewNRGBA(image.Rect(0, 0, width, height))
	for i := range m.Pix {
		m.Pix[i] = byte(r.Uint32())
	}
	return m
}

// opaque is m with its alpha dropped.
func opaque(m *image.NRGBA) *image.NRGBA {
	out := image.NewNRGBA(m.Rect)
	copy(out.Pix, m.Pix)
	for i := 3; i < len(out.Pix); i += 4 {
		out.Pix[i] = 255
	}
	return out
}

// onCanvas is m's colours on a black canvas.
func onCanvas(width, height, x, y int, m *image.NRGBA) *image.NRGBA {
	out := opaque(image.NewNRGBA(image.Rect(0, 0, width, height)))
	for j := range m.Rect.Dy() {
		for i := range m.Rect.Dx() {
			c := m.NRGBAAt(i, j)
			out.SetNRGBA(x+i, y+j, color.NRGBA{c.R, c.G, c.B, 255})
		}
	}
	return out
}
