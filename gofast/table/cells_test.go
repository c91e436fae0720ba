package table

import (
	"math"
	"testing"
)

// bounds are the first and last integer that each type takes; those of the floats
// are 2^24 and 2^53.
var bounds = map[Type][2]int64{
	Uint8: {0, 255}, Int16: {math.MinInt16, math.MaxInt16}, Int32: {math.MinInt32, math.MaxInt32},
	Int64: {math.MinInt64, math.MaxInt64}, Float32: {-1 << 24, 1 << 24}, Float64: {-1 << 53, 1 << 53},
}

// TestIntegersFit tries every stored type, every type of a matrix, and the integers
// around each bound.
func TestIntegersFit(t *testing.T) {
	var tried []int64
	for _, b := range bounds {
		for _, v := range b {
			tried = append(tried, v-1, v, v+1)
		}
	}
	for _, v := range tried {
		for to, b := range bounds {
			want := b[0] <= v && v <= b[1]
			dst := make([]byte, to.Size())
			if got := CellsOf(Int64).To(to)(dst, Bytes([]int64{v})); got != want {
				t.Errorf("int64 %d as %v: %v", v, to, got)
			} else if seen := (Range{}); got && CellsOf(to).Note(dst, &seen) < 0 && !seen.Float && seen.Min != v {
				t.Errorf("int64 %d as %v became %d", v, to, seen.Min)
			}
			if got := CellsNamed('u', 8).To(to)(dst, Bytes([]int64{v})); got != (want && v >= 0) {
				t.Errorf("uint64 %d as %v: %v", uint64(v), to, got)
			}
			if v == int64(int32(v)) {
				if got := CellsNamed('i', 4).To(to)(dst, Bytes([]int32{int32(v)})); got != want {
					t.Errorf("int32 %d as %v: %v", v, to, got)
				}
			}
		}
		for to, got := range map[Type]bool{Uint8: fits[uint8](v), Int16: fits[int16](v), Int32: fits[int32](v), Int64: fits[int64](v),
			Float32: fits[float32](v), Float64: fits[float64](v)} {
			if got != (bounds[to][0] <= v && v <= bounds[to][1]) {
				t.Errorf("FitInt of %d as %v: %v", v, to, got)
			}
		}
	}
}

func fits[T Cell](v int64) bool {
	made, ok := FitInt[T](v)
	return ok && int64(made) == v
}

func TestRealsFit(t *testing.T) {
	for _, c := range []struct {
		v                          float64
		bytes, longs, short, large bool
	}{
		{1, true, true, true, true}, {255, true, true, true, true}, {256, false, true, true, true}, {-1, false, true, true, true},
		{0.5, false, false, true, true}, {0.1, false, false, false, true}, {1 << 62, false, true, true, true},
		{1 << 63, false, false, true, true}, {-1 << 63, false, true, true, true}, {1e300, false, false, false, true},
		{math.Inf(1), false, false, true, true}, {math.NaN(), false, false, true, true},
	} {
		_, bytes := FitReal[uint8](c.v)
		_, longs := FitReal[int64](c.v)
		_, short := FitReal[float32](c.v)
		_, large := FitReal[float64](c.v)
		if bytes != c.bytes || longs != c.longs || short != c.short || large != c.large {
			t.Errorf("%v: %v %v %v %v", c.v, bytes, longs, short, large)
		}
		dst := make([]byte, 4)
		if got := CellsOf(Float64).To(Float32)(dst, Bytes([]float64{c.v})); got != c.short {
			t.Errorf("%v as float32: %v", c.v, got)
		}
		if CellsOf(Float64).To(Uint8) != nil {
			t.Error("a float became a byte")
		}
	}
}

// TestNoteStops where a value cannot be noted, behind those that can.
func TestNoteStops(t *testing.T) {
	for _, c := range []struct {
		numbers *Cells
		src     []byte
		at      int
		seen    Range
	}{
		{CellsOf(Float64), Bytes([]float64{1, math.NaN(), 2}), 1, Range{Float: true}},
		{CellsOf(Float32), Bytes([]float32{1, 2}), -1, Range{Float: true}},
		{CellsOf(Float64), Bytes([]float64{0.1}), -1, Range{Float: true, Wide: true}},
		{CellsNamed('f', 2), Bytes([]uint16{0x3c00, 0x7e00}), 1, Range{Float: true}},
		{CellsNamed('u', 8), Bytes([]uint64{7, 1 << 63}), 1, Range{}},
		{CellsNamed('u', 8), Bytes([]uint64{7, 1<<63 - 1}), -1, Range{Seen: true, Min: 7, Max: math.MaxInt64}},
		{CellsNamed('i', 1), Bytes([]int8{7, -8}), -1, Range{Seen: true, Min: -8, Max: 7}},
		{CellsOf(Int16), nil, -1, Range{}},
	} {
		var seen Range
		if at := c.numbers.Note(c.src, &seen); at != c.at || seen != c.seen {
			t.Errorf("%v: %d %+v", c.src, at, seen)
		}
	}
}

// TestHalf goes through every half-precision value, by the definition.
func TestHalf(t *testing.T) {
	for i := range 1 << 16 {
		h := uint16(i)
		exponent, mantissa := int(h>>10)&31, float64(h&1023)
		want := math.Ldexp(1+mantissa/1024, exponent-15)
		switch {
		case exponent == 0:
			want = math.Ldexp(mantissa, -24)
		case exponent == 31 && mantissa != 0:
			want = math.NaN()
		case exponent == 31:
			want = math.Inf(1)
		}
		if h>>15 == 1 {
			want = -want
		}
		got := float64(Half(h))
		if got != want && (got == got || want == want) || math.Signbit(got) != math.Signbit(want) && want == want {
			t.Fatalf("Half(%#x) = %v, want %v", h, got, want)
		}
	}
}
