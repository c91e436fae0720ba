package gather

import (
	"encoding/binary"
	"math"
	"sort"
	"unsafe"

	"github.com/gofast-org/gofast/gofast/engine"
)

// fillGeneric is the plain twin of gf_fill. specOf tells what a part's program
// was made from.
func fillGeneric(v engine.View, indices []int64, from, to int, x, y uintptr, specOf func(program uintptr) *Spec) int64 {
	programs, starts := v.Programs()
	for i := from; i < to; i++ {
		at := indices[i]
		if at < 0 {
			at += v.Length()
		}
		if at < 0 || at >= v.Length() {
			return int64(i)
		}
		if positions := v.Map(); positions != nil {
			at = positions[at]
		}
		k := sort.Search(len(starts), func(k int) bool { return starts[k] > at }) - 1
		spec, row := specOf(programs[k]), at-starts[k]
		size := int64(spec.Width * spec.StorageSize)
		stride, _ := spec.strides()
		RowGeneric(spec, memory(spec.Features+uintptr(row*stride), size), memory(x+uintptr(int64(i)*v.RowBytes()), v.RowBytes()))
		if !LabelGeneric(spec, row, memory(y+uintptr(int64(i)*v.LabelBytes()), v.LabelBytes())) {
			return int64(i)
		}
	}
	return -1
}

// memory views C memory, or memory that a test holds on to.
func memory(address uintptr, size int64) []byte {
	return unsafe.Slice(*(**byte)(unsafe.Pointer(&address)), size)
}

// LabelGeneric is the plain twin of put_label.
func LabelGeneric(spec *Spec, row int64, dst []byte) bool {
	le := binary.LittleEndian
	switch spec.LabelMode {
	case LabelNone:
		return true
	case LabelMissing:
		le.PutUint64(dst, uint64(spec.MissingLabel))
		return true
	}
	_, stride := spec.strides()
	size := int64(8 * len(spec.LabelFloat))
	if spec.LabelMode == LabelCopy {
		size = int64(spec.LabelSize)
	}
	src := memory(spec.Labels+uintptr(row*stride), size)
	switch spec.LabelMode {
	case LabelInt64, LabelCopy:
		copy(dst, src)
	case LabelOneHot:
		clear(dst)
		v := int64(le.Uint64(src))
		if v < 0 || v >= int64(spec.Classes) {
			return false
		}
		le.PutUint32(dst[4*v:], math.Float32bits(1))
	default:
		for c, float := range spec.LabelFloat {
			v := value{i: int64(le.Uint64(src[8*c:]))}
			if float {
				v = value{kind: double, f64: math.Float64frombits(le.Uint64(src[8*c:]))}
			}
			out := OutFloat32
			if spec.LabelMode == LabelFloat64 {
				out = OutFloat64
			}
			v.put(out, dst, c)
		}
	}
	return true
}

// RowGeneric is the plain twin of the C row functions: it converts one stored
// row and says by its code what the fast ones must produce.
func RowGeneric(spec *Spec, src, dst []byte) {
	arithmetic := spec.Unit || spec.Mean != nil
	for i := range spec.Width {
		v := stored(spec.Storage, src, i)
		if !arithmetic {
			v.put(spec.Out, dst, i)
			continue
		}
		f := v.float32()
		if spec.Unit {
			f /= 255
		}
		if spec.Mean != nil {
			// Named so that the compiler cannot fuse the two roundings.
			centred := float32(f - spec.Mean[i])
			f = centred / spec.Std[i]
		}
		value{f32: f, kind: single}.put(spec.Out, dst, i)
	}
}

type kind uint8

const (
	integer kind = iota
	single
	double
)

// value is a stored number before its one rounding.
type value struct {
	kind kind
	i    int64
	f32  float32
	f64  float64
}

func stored(storage int, src []byte, i int) value {
	switch le := binary.LittleEndian; storage {
	case 1:
		return value{i: int64(src[i])}
	case 2:
		return value{i: int64(int16(le.Uint16(src[2*i:])))}
	case 3:
		return value{i: int64(int32(le.Uint32(src[4*i:])))}
	case 4:
		return value{i: int64(le.Uint64(src[8*i:]))}
	case 5:
		return value{kind: single, f32: math.Float32frombits(le.Uint32(src[4*i:]))}
	default:
		return value{kind: double, f64: math.Float64frombits(le.Uint64(src[8*i:]))}
	}
}

func (v value) float32() float32 {
	switch v.kind {
	case integer:
		return float32(v.i)
	case single:
		return v.f32
	default:
		return float32(v.f64)
	}
}

func (v value) float64() float64 {
	switch v.kind {
	case integer:
		return float64(v.i)
	case single:
		return float64(v.f32)
	default:
		return v.f64
	}
}

func (v value) put(out Out, dst []byte, i int) {
	switch le := binary.LittleEndian; out {
	case OutFloat32:
		le.PutUint32(dst[4*i:], math.Float32bits(v.float32()))
	case OutFloat16:
		// numpy rounds integers through float32; no integer that float32
		// rounds is below float16's infinity, so one rounding remains.
		d := v.float64()
		if v.kind == integer {
			d = float64(float32(v.i))
		}
		le.PutUint16(dst[2*i:], Float16(d))
	case OutBfloat16:
		le.PutUint16(dst[2*i:], Bfloat16(v.float32()))
	case OutFloat64:
		le.PutUint64(dst[8*i:], math.Float64bits(v.float64()))
	case OutUint8:
		dst[i] = byte(v.i)
	case OutInt16:
		le.PutUint16(dst[2*i:], uint16(v.i))
	case OutInt32:
		le.PutUint32(dst[4*i:], uint32(v.i))
	case OutInt64:
		le.PutUint64(dst[8*i:], uint64(v.i))
	}
}

// Float16 rounds to the nearest half, ties to even, by arithmetic on the value.
func Float16(d float64) uint16 {
	sign := uint16(math.Float64bits(d)>>48) & 0x8000
	a := math.Abs(d)
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

// Bfloat16 rounds to the nearest bfloat16, ties to even; NaN as torch writes it.
func Bfloat16(f float32) uint16 {
	bits := math.Float32bits(f)
	if f != f {
		return 0x7fc0
	}
	return uint16((bits + 0x7fff + bits>>16&1) >> 16)
}
