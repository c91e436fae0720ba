package gather

import (
	"bytes"
	"testing"

	"github.com/gofast-org/gofast/gofast/numbers"
	"github.com/gofast-org/gofast/gofast/table"
)

// FuzzRow compares the row functions, best and portable, with the Go twin on any
// stored bytes: NaN patterns, subnormals and all.
func FuzzRow(f *testing.F) {
	f.Add([]byte{0, 1, 127, 128, 255, 3, 9, 200}, uint8(1), uint8(0), true, float32(0.1307), float32(0.3081))
	f.Add([]byte{0, 0, 0x80, 0x7f, 1, 0, 0, 0}, uint8(5), uint8(2), false, float32(0), float32(0))
	f.Add([]byte{1, 0, 0, 0, 0, 0, 0xf0, 0x3e}, uint8(6), uint8(2), false, float32(0), float32(1))
	f.Add([]byte{255, 255, 0, 128, 44, 1}, uint8(1), uint8(4), false, float32(0), float32(0))
	f.Fuzz(func(t *testing.T, src []byte, stored, out uint8, unit bool, mean, std float32) {
		storage := table.Type(stored%6 + 1)
		spec := Spec{Spec: numbers.Spec{Type: numbers.Type((out+4)%8 + 1), Channels: 1}}
		if spec.Type.Integer() { // integers of integers, which wrap alike in both where the caller lets them
			storage, unit, std = (storage-1)%4+1, false, 0
		}
		size := storage.Size()
		width := min(len(src)/size, 300)
		if width == 0 {
			return
		}
		src = src[:width*size]
		spec.Storage, spec.Width = storage, width
		if unit {
			spec.Scale = numbers.Divide
		}
		if std != 0 {
			spec.Mean, spec.Std = []float32{mean}, []float32{std}
		}
		want := make([]byte, width*spec.Type.Size())
		RowGeneric(&spec, src, want)
		for _, portable := range []bool{false, true} {
			p := newProgram(t, spec, portable)
			got := make([]byte, len(want))
			p.Row(src, got)
			p.Free()
			if !sameValues(spec.Type, got, want) {
				t.Fatalf("%+v portable %v:\n got %x\nwant %x", spec, portable, got, want)
			}
		}
	})
}

// sameValues compares outputs by their bits, but any NaN equals any other: its
// payload is the hardware's choice, and NaN is a missing value, never stored.
func sameValues(out numbers.Type, a, b []byte) bool {
	size := out.Size()
	for i := 0; i < len(a); i += size {
		x, y := a[i:i+size], b[i:i+size]
		if !bytes.Equal(x, y) && !(isNaN(out, x) && isNaN(out, y)) {
			return false
		}
	}
	return true
}

func isNaN(out numbers.Type, v []byte) bool {
	if out.Integer() {
		return false
	}
	exponent := map[numbers.Type][2]byte{numbers.Float32: {0x7f, 0x80}, numbers.Bfloat16: {0x7f, 0x80}, numbers.Float16: {0x7c, 0x00}, numbers.Float64: {0x7f, 0xf0}}[out]
	n := len(v)
	high, next := v[n-1]&0x7f, v[n-2]
	if high&exponent[0] != exponent[0] || next&exponent[1] != exponent[1] {
		return false
	}
	// Infinity has nothing but exponent bits.
	rest := high&^exponent[0] | next&^exponent[1]
	for _, b := range v[:n-2] {
		rest |= b
	}
	return rest != 0
}
