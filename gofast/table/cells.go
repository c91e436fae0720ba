package table

import (
	"math"
	"slices"
	"unsafe"
)

// Cell is what a matrix or a label column can hold.
type Cell interface {
	uint8 | int16 | int32 | int64 | float32 | float64
}

type integer interface {
	uint8 | int8 | uint16 | int16 | uint32 | int32 | uint64 | int64
}

type real interface{ float32 | float64 }

// View views bytes as values of T, which has no pointers.
func View[T any](b []byte) []T {
	size := int(unsafe.Sizeof(*new(T)))
	if len(b) < size {
		return nil // the pointer below would reach past the end, which checkptr refuses under -race
	}
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/size)
}

// Bytes is the inverse of View.
func Bytes[T any](values []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(values))), len(values)*int(unsafe.Sizeof(*new(T))))
}

// TypeOf is the type of a matrix of such cells.
func TypeOf[T Cell]() Type {
	switch any(T(0)).(type) {
	case uint8:
		return Uint8
	case int16:
		return Int16
	case int32:
		return Int32
	case int64:
		return Int64
	case float32:
		return Float32
	default:
		return Float64
	}
}

// IsReal says that T is a float.
func IsReal[T Cell]() bool { return T(1)/2 != 0 }

// FitInt converts an integer when T holds it exactly; the floats those up to 2^24 and
// 2^53: larger ones that happen to be exact would make a table's type depend on luck.
func FitInt[T Cell](v int64) (T, bool) {
	t := T(v)
	if IsReal[T]() {
		most := exactInts[T]()
		return t, -most <= v && v <= most
	}
	return t, int64(t) == v
}

// exactInts is the largest integer up to which all are exact in a float.
func exactInts[T Cell]() int64 {
	if unsafe.Sizeof(T(0)) == 4 {
		return 1 << 24
	}
	return 1 << 53
}

// FitReal converts a float when T holds it exactly. NaN is a value of the floats.
func FitReal[T Cell](v float64) (T, bool) {
	if IsReal[T]() {
		t := T(v)
		return t, float64(t) == v || v != v
	}
	if v != math.Trunc(v) || v < -1<<63 || v >= 1<<63 || v == 0 && math.Signbit(v) { // 2^63 is a float64 and no int64
		return 0, false
	}
	return FitInt[T](int64(v))
}

// Cells is a type that files store numbers in, in the machine's byte order.
type Cells struct {
	// Type is that of a matrix with the same bytes, or Invalid.
	Type Type
	// Note adds values to what was seen. It stops at one that is NaN or above int64, and
	// gives its place, or -1.
	Note func(src []byte, seen *Range) (at int)
	to   [Float64 + 1]func(dst, src []byte) bool
	near [Float64 + 1]func(dst, src []byte)
}

// To is the copy into values of a matrix, of which dst has as many as src. It returns
// false where t does not hold one exactly. It is nil where no value ever fits: floats
// are no integers, 0.0 and 1.0 are not pixel codes.
func (n *Cells) To(t Type) func(dst, src []byte) bool {
	if t == n.Type {
		return func(dst, src []byte) bool { copy(dst, src); return true }
	}
	return n.to[t]
}

// Near is the copy into values of a float type, each rounded once where t does not hold it exactly.
func (n *Cells) Near(t Type) func(dst, src []byte) bool {
	return func(dst, src []byte) bool { n.near[t](dst, src); return true }
}

// CellsOf is the type that files store such values in.
func CellsOf(t Type) *Cells {
	return [...]*Cells{Uint8: &uint8s, Int16: &int16s, Int32: &int32s, Int64: &int64s, Float32: &float32s, Float64: &float64s}[t]
}

// CellsNamed is a type of so many bytes by numpy's letter: 'u' and 'i' for integers
// without and with a sign, 'f' for floats. nil: there is none.
func CellsNamed(letter byte, size int) *Cells {
	switch {
	case letter == 'f' && size == 2:
		return &halfs
	case letter == 'f' && size == 4:
		return &float32s
	case letter == 'f' && size == 8:
		return &float64s
	case size != 1 && size != 2 && size != 4 && size != 8:
		return nil
	case letter == 'u':
		return [...]*Cells{1: &uint8s, 2: &uint16s, 4: &uint32s, 8: &uint64s}[size]
	case letter == 'i':
		return [...]*Cells{1: &int8s, 2: &int16s, 4: &int32s, 8: &int64s}[size]
	}
	return nil
}

var (
	uint8s, uint16s, uint32s, uint64s = integers[uint8](Uint8), integers[uint16](Invalid), integers[uint32](Invalid), integers[uint64](Invalid)
	int8s, int16s, int32s, int64s     = integers[int8](Invalid), integers[int16](Int16), integers[int32](Int32), integers[int64](Int64)
	float32s, float64s                = reals[float32](Float32), reals[float64](Float64)
	halfs                             = Cells{Invalid, noteHalfs, [...]func(dst, src []byte) bool{
		Float32: halfsTo[float32], Float64: halfsTo[float64]}, [...]func(dst, src []byte){
		Float32: func(dst, src []byte) { halfsTo[float32](dst, src) }, Float64: func(dst, src []byte) { halfsTo[float64](dst, src) }}}
)

func integers[S integer](same Type) Cells {
	return Cells{same, noteInts[S], [...]func(dst, src []byte) bool{
		Uint8: intsToInts[S, uint8], Int16: intsToInts[S, int16], Int32: intsToInts[S, int32], Int64: intsToInts[S, int64],
		Float32: intsToReals[S, float32], Float64: intsToReals[S, float64]}, [...]func(dst, src []byte){
		Float32: nearest[S, float32], Float64: nearest[S, float64]}}
}

func reals[S real](same Type) Cells {
	return Cells{same, noteReals[S], [...]func(dst, src []byte) bool{
		Float32: realsTo[S, float32], Float64: realsTo[S, float64]}, [...]func(dst, src []byte){
		Float32: nearest[S, float32], Float64: nearest[S, float64]}}
}

func intsToInts[S, D integer](dst, src []byte) bool {
	from := View[S](src)
	into := View[D](dst)[:len(from)]
	for i, v := range from {
		d := D(v)
		if S(d) != v || (d < 0) != (v < 0) {
			return false
		}
		into[i] = d
	}
	return true
}

// intsToReals takes those that FitInt does; as a loop over FitInt, and likewise above,
// it would be slower by half.
func intsToReals[S integer, D real](dst, src []byte) bool {
	most := exactInts[D]()
	from := View[S](src)
	into := View[D](dst)[:len(from)]
	for i, v := range from {
		w := int64(v)
		if w > most || w < -most || (w < 0) != (v < 0) {
			return false
		}
		into[i] = D(w)
	}
	return true
}

// realsTo lets NaN pass: missing values are dealt with in the target.
func realsTo[S, D real](dst, src []byte) bool {
	from := View[S](src)
	into := View[D](dst)[:len(from)]
	for i, v := range from {
		d := D(v)
		if unsafe.Sizeof(d) < unsafe.Sizeof(v) && S(d) != v && v == v {
			return false
		}
		into[i] = d
	}
	return true
}

// nearest rounds as numpy's astype does.
func nearest[S integer | real, D real](dst, src []byte) {
	from := View[S](src)
	into := View[D](dst)[:len(from)]
	for i, v := range from {
		into[i] = D(v)
	}
}

func halfsTo[D real](dst, src []byte) bool {
	from := View[uint16](src)
	into := View[D](dst)[:len(from)]
	for i, v := range from {
		into[i] = D(Half(v))
	}
	return true
}

// Half is the value of an IEEE half-precision float.
func Half(h uint16) float32 {
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

// Beyond is the place of the first value above int64; -1 where there is none.
func (n *Cells) Beyond(src []byte) int {
	if n != &uint64s {
		return -1
	}
	return slices.IndexFunc(View[uint64](src), func(v uint64) bool { return v > math.MaxInt64 })
}
