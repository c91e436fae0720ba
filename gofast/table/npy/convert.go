package npy

import (
	"math"
	"math/bits"
	"unsafe"

	"github.com/gofast-org/gofast/gofast/table"
)

type integer interface {
	uint8 | int8 | uint16 | int16 | uint32 | int32 | uint64 | int64
}

type real interface{ float32 | float64 }

// as views bytes as values of T.
func as[T any](b []byte) []T {
	var zero T
	if len(b) < int(unsafe.Sizeof(zero)) {
		return nil // the pointer below would reach past the end, which checkptr refuses under -race
	}
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/int(unsafe.Sizeof(zero)))
}

// converter copies len(src)/size values; false when one does not fit.
type converter func(dst, src []byte) bool

// converterFor is nil where no value ever fits: floats into integers (0.0 and
// 1.0 are not pixel codes).
func converterFor(e elem, to table.Type) converter {
	if e.stored() == to {
		return func(dst, src []byte) bool { copy(dst, src); return true }
	}
	switch e.kind {
	case 'u', 'b':
		switch e.size {
		case 1:
			return fromInt[uint8](to)
		case 2:
			return fromInt[uint16](to)
		case 4:
			return fromInt[uint32](to)
		case 8:
			return fromInt[uint64](to)
		}
	case 'i':
		switch e.size {
		case 1:
			return fromInt[int8](to)
		case 2:
			return fromInt[int16](to)
		case 4:
			return fromInt[int32](to)
		case 8:
			return fromInt[int64](to)
		}
	case 'f':
		switch e.size {
		case 2:
			return fromHalf(to)
		case 4:
			return fromReal[float32](to)
		case 8:
			return fromReal[float64](to)
		}
	}
	return nil
}

func fromInt[S integer](to table.Type) converter {
	switch to {
	case table.Uint8:
		return intToInt[S, uint8]
	case table.Int16:
		return intToInt[S, int16]
	case table.Int32:
		return intToInt[S, int32]
	case table.Int64:
		return intToInt[S, int64]
	case table.Float32:
		return func(dst, src []byte) bool { return intToReal[S, float32](dst, src, 1<<24) }
	case table.Float64:
		return func(dst, src []byte) bool { return intToReal[S, float64](dst, src, 1<<53) }
	}
	return nil
}

func fromReal[S real](to table.Type) converter {
	switch to {
	case table.Float32:
		return realToReal[S, float32]
	case table.Float64:
		return realToReal[S, float64]
	}
	return nil
}

func fromHalf(to table.Type) converter {
	switch to {
	case table.Float32:
		return halfToReal[float32]
	case table.Float64:
		return halfToReal[float64]
	}
	return nil
}

func intToInt[S, D integer](dst, src []byte) bool {
	from := as[S](src)
	into := as[D](dst)[:len(from)]
	for i, v := range from {
		d := D(v)
		if S(d) != v || (d < 0) != (v < 0) {
			return false
		}
		into[i] = d
	}
	return true
}

// intToReal takes integers up to 2^24 (2^53) only, as table.Range.Type does:
// larger ones that happen to be exact would make the type depend on luck.
func intToReal[S integer, D real](dst, src []byte, most int64) bool {
	from := as[S](src)
	into := as[D](dst)[:len(from)]
	for i, v := range from {
		w := int64(v)
		if w > most || w < -most || (w < 0) != (v < 0) {
			return false
		}
		into[i] = D(w)
	}
	return true
}

// realToReal lets NaN pass: missing values are dealt with in the target.
func realToReal[S, D real](dst, src []byte) bool {
	from := as[S](src)
	into := as[D](dst)[:len(from)]
	for i, v := range from {
		d := D(v)
		if S(d) != v && v == v {
			return false
		}
		into[i] = d
	}
	return true
}

func halfToReal[D real](dst, src []byte) bool {
	from := as[uint16](src)
	into := as[D](dst)[:len(from)]
	for i, v := range from {
		into[i] = D(half(v))
	}
	return true
}

// half is the value of an IEEE half-precision float.
func half(h uint16) float32 {
	sign := uint32(h>>15) << 31
	exponent, mantissa := uint32(h>>10)&31, uint32(h)&1023
	switch {
	case exponent == 31:
		return math.Float32frombits(sign | 0xff<<23 | mantissa<<13)
	case exponent == 0: // zero and subnormals: mantissa x 2^-24
		v := float32(mantissa) / (1 << 24)
		return math.Float32frombits(sign | math.Float32bits(v))
	}
	return math.Float32frombits(sign | (exponent+127-15)<<23 | mantissa<<13)
}

// swapBytes reverses every value of size bytes.
func swapBytes(b []byte, size int) {
	switch size {
	case 2:
		for i, v := range as[uint16](b) {
			as[uint16](b)[i] = bits.ReverseBytes16(v)
		}
	case 4:
		for i, v := range as[uint32](b) {
			as[uint32](b)[i] = bits.ReverseBytes32(v)
		}
	case 8:
		for i, v := range as[uint64](b) {
			as[uint64](b)[i] = bits.ReverseBytes64(v)
		}
	}
}

// firstNaN is the index of the first NaN among floats, or -1. The common case,
// none, is decided on whole words.
func firstNaN(b []byte, t table.Type) int {
	if t == table.Float32 {
		if !anyNaN32(b) {
			return -1
		}
		for i, v := range as[float32](b) {
			if v != v {
				return i
			}
		}
		return -1
	}
	for i, v := range as[uint64](b) {
		if v&(1<<63-1) > 0x7ff<<52 {
			return i
		}
	}
	return -1
}

// anyNaN32 looks at two floats at once. Without its sign a NaN is more than
// 0x7f800000, so adding 0x007fffff carries into bit 31 and no further.
func anyNaN32(b []byte) bool {
	const clear, add, carry = 0x7fffffff_7fffffff, 0x007fffff_007fffff, 0x80000000_80000000
	words := as[uint64](b)
	var seen uint64
	for len(words) >= 4 {
		w := words[:4:4]
		seen |= (w[0]&clear + add) | (w[1]&clear + add) | (w[2]&clear + add) | (w[3]&clear + add)
		words = words[4:]
	}
	for _, w := range words {
		seen |= w&clear + add
	}
	if odd := len(b) % 8; odd != 0 {
		seen |= uint64(as[uint32](b[len(b)-odd:])[0])&clear + add
	}
	return seen&carry != 0
}

// notBoolean is the index of the first byte above 1, or -1.
func notBoolean(b []byte) int {
	var seen uint64
	words := as[uint64](b)
	for _, w := range words {
		seen |= w
	}
	rest := b[len(words)*8:]
	for _, v := range rest {
		seen |= uint64(v)
	}
	if seen&^0x0101010101010101 == 0 {
		return -1
	}
	for i, v := range b {
		if v > 1 {
			return i
		}
	}
	return -1
}
