package pixel

import (
	"encoding/binary"
	"math"

	"github.com/gofast-org/gofast/gofast/table/gather"
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
		le.PutUint16(row[2*at:], gather.Float16(float64(x)))
	case AsBfloat16:
		le.PutUint16(row[2*at:], gather.Bfloat16(x))
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
