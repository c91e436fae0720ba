package pixel

import (
	"encoding/binary"
	"math"
)

// PlanarGeneric is the plain twin of gf_normalise's planar.
func PlanarGeneric(spec *Spec, src, out [3][]byte) {
	for c := range spec.Channels {
		for i, v := range src[c] {
			spec.put(out, c, i, v)
		}
	}
}

// RGBXGeneric is the plain twin of gf_normalise's rgbx.
func RGBXGeneric(spec *Spec, src []byte, out [3][]byte) {
	for i := range len(src) / 4 {
		for c := range 3 {
			spec.put(out, c, i, src[4*i+c])
		}
	}
}

// put stores byte v of channel c of pixel i.
func (s *Spec) put(out [3][]byte, c, i int, v byte) {
	x := float32(v)
	if s.As != AsUint8 {
		x = s.Value(c, v)
	}
	s.store(out, c, i, x)
}

// store converts x to the output type once, for channel c of pixel i.
func (s *Spec) store(out [3][]byte, c, i int, x float32) {
	row, at := out[c], i
	if s.Last {
		row, at = out[0], s.Channels*i+c
	}
	switch le := binary.LittleEndian; s.As {
	case AsFloat32:
		le.PutUint32(row[4*at:], math.Float32bits(x))
	case AsFloat16:
		le.PutUint16(row[2*at:], float16(x))
	case AsBfloat16:
		le.PutUint16(row[2*at:], bfloat16(x))
	default: // cut off, then modulo 256
		row[at] = 0
		if math.Abs(float64(x)) < 0x1p62 {
			row[at] = byte(int64(x))
		}
	}
}

// Value is what torch makes of byte v of channel c: each step is rounded to
// float32. The conversions keep a compiler from fusing two steps.
func (s *Spec) Value(c int, v byte) float32 {
	x := float32(v)
	switch s.Scale {
	case Divide:
		x /= 255
	case Multiply:
		x = float32(x * float32(1.0/255.0))
	}
	if s.Mean != nil {
		x = float32(x-s.Mean[c]) / s.Std[c]
	}
	return x
}

// float16 rounds to the nearest half, ties to even, by arithmetic on the value.
func float16(f float32) uint16 {
	sign := uint16(math.Float32bits(f)>>16) & 0x8000
	a := math.Abs(float64(f))
	switch {
	case a != a:
		return sign | 0x7e00
	case a >= 65520:
		return sign | 0x7c00
	case a < 0x1p-14: // subnormal: steps of 2^-24
		return sign | uint16(math.RoundToEven(a*0x1p24))
	}
	_, exp := math.Frexp(a) // a = m * 2^exp, m in [0.5, 1)
	steps := math.RoundToEven(math.Ldexp(a, 11-exp))
	// steps is 1024..2048; 2048 carries into the exponent by itself.
	return sign | uint16((exp+14)<<10) + uint16(steps) - 1024
}

// bfloat16 rounds to the nearest, ties to even; a NaN becomes torch's.
func bfloat16(f float32) uint16 {
	if f != f {
		return 0x7fc0
	}
	bits := math.Float32bits(f)
	return uint16((bits + 0x7fff + bits>>16&1) >> 16)
}
