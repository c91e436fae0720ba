package numbers

import (
	"encoding/binary"
	"math"
)

type kind uint8

const (
	integer kind = iota
	single
	double
)

// Value is a number before it is rounded to the type that it is stored as.
type Value struct {
	kind kind
	i    int64
	f32  float32
	f64  float64
}

// Int is an integer's value.
func Int(v int64) Value { return Value{i: v} }

// Single is a float32's value.
func Single(v float32) Value { return Value{kind: single, f32: v} }

// Double is a float64's value.
func Double(v float64) Value { return Value{kind: double, f64: v} }

func (v Value) float32() float32 {
	switch v.kind {
	case integer:
		return float32(v.i)
	case single:
		return v.f32
	default:
		return float32(v.f64)
	}
}

func (v Value) float64() float64 {
	switch v.kind {
	case integer:
		return float64(v.i)
	case single:
		return float64(v.f32)
	default:
		return v.f64
	}
}

// int64 cuts a float off; what no int64 holds is 0, as in gf_erase.
func (v Value) int64() int64 {
	if v.kind == integer {
		return v.i
	}
	if f := v.float64(); math.Abs(f) < 0x1p62 {
		return int64(f)
	}
	return 0
}

// Put stores the value at position i of numbers of type t, rounded once.
func (v Value) Put(t Type, dst []byte, i int) {
	switch le := binary.LittleEndian; t {
	case Float32:
		le.PutUint32(dst[4*i:], math.Float32bits(v.float32()))
	case Float16:
		// numpy rounds integers through float32; no integer that float32
		// rounds is below float16's infinity, so one rounding remains.
		d := v.float64()
		if v.kind == integer {
			d = float64(float32(v.i))
		}
		le.PutUint16(dst[2*i:], Float16Bits(d))
	case Bfloat16:
		le.PutUint16(dst[2*i:], Bfloat16Bits(v.float32()))
	case Float64:
		le.PutUint64(dst[8*i:], math.Float64bits(v.float64()))
	case Uint8:
		dst[i] = byte(v.int64())
	case Int16:
		le.PutUint16(dst[2*i:], uint16(v.int64()))
	case Int32:
		le.PutUint32(dst[4*i:], uint32(v.int64()))
	case Int64:
		le.PutUint64(dst[8*i:], uint64(v.int64()))
	}
}

// Float16Bits rounds to the nearest half, ties to even, by arithmetic on the value.
func Float16Bits(d float64) uint16 {
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

// Bfloat16Bits rounds to the nearest bfloat16, ties to even; NaN as torch writes it.
func Bfloat16Bits(f float32) uint16 {
	bits := math.Float32bits(f)
	if f != f {
		return 0x7fc0
	}
	return uint16((bits + 0x7fff + bits>>16&1) >> 16)
}
