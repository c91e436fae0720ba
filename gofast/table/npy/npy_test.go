package npy

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/table"
	"github.com/gofast-org/gofast/gofast/table/tabletest"
)

func upTo(n int) []int {
	s := make([]int, n)
	for i := range s {
		s[i] = i
	}
	return s
}

func TestTypes(t *testing.T) {
	little, big := binary.ByteOrder(binary.LittleEndian), binary.ByteOrder(binary.BigEndian)
	for _, c := range []struct {
		descr  string
		order  binary.ByteOrder
		values any
		want   []float64
		kind   table.Type
	}{
		{"|u1", little, []uint8{0, 1, 255, 7}, []float64{0, 1, 255, 7}, table.Uint8},
		{"|b1", little, []uint8{0, 1, 1, 0}, []float64{0, 1, 1, 0}, table.Uint8},
		{"|i1", little, []int8{0, 1, 127, 7}, []float64{0, 1, 127, 7}, table.Uint8},
		{"|i1", little, []int8{0, -1, 127, 7}, []float64{0, -1, 127, 7}, table.Int16},
		{"<u2", little, []uint16{0, 1, 255, 7}, []float64{0, 1, 255, 7}, table.Uint8},
		{">u2", big, []uint16{0, 1, 65535, 7}, []float64{0, 1, 65535, 7}, table.Int32},
		{"<i2", little, []int16{0, -300, 255, 7}, []float64{0, -300, 255, 7}, table.Int16},
		{">i4", big, []int32{0, -1 << 31, 255, 7}, []float64{0, -1 << 31, 255, 7}, table.Int32},
		{"<u4", little, []uint32{0, 1<<32 - 1, 255, 7}, []float64{0, 1<<32 - 1, 255, 7}, table.Int64},
		{"<i8", little, []int64{0, 255, 1, 7}, []float64{0, 255, 1, 7}, table.Uint8},
		{">i8", big, []int64{0, -1 << 40, 1, 7}, []float64{0, -1 << 40, 1, 7}, table.Int64},
		{"<u8", little, []uint64{0, 1 << 60, 1, 7}, []float64{0, 1 << 60, 1, 7}, table.Int64},
		{"<f2", little, []uint16{0x3c00, 0xc000, 0x7bff, 0x0001}, []float64{1, -2, 65504, 1.0 / (1 << 24)}, table.Float32},
		{">f2", big, []uint16{0x3555, 0x8000, 0x7c00, 0x0400}, []float64{0.333251953125, 0, math.Inf(1), 1.0 / (1 << 14)}, table.Float32},
		{"<f4", little, []float32{0.5, -1, 3, 1e30}, []float64{0.5, -1, 3, float64(float32(1e30))}, table.Float32},
		{">f4", big, []float32{0.5, -1, 3, 9}, []float64{0.5, -1, 3, 9}, table.Float32},
		{"<f8", little, []float64{0.5, -1, 3, 9}, []float64{0.5, -1, 3, 9}, table.Float32},
		{">f8", big, []float64{0.1, -1, 3, 9}, []float64{0.1, -1, 3, 9}, table.Float64},
	} {
		for _, shape := range []string{"(4,)", "(2, 2)", "(2, 2L)", "(4, 1, 1)"} {
			r := mustOpen(t, npyOf(c.descr, false, shape, c.order, c.values))
			got, err := readAll(r, table.Selection{Features: upTo(len(r.Columns()))})
			if err != nil || !slices.Equal(got.features, c.want) || got.Type != c.kind {
				t.Errorf("%s %s: %v %v %v; want %v %v", c.descr, shape, got.Type, got.features, err, c.kind, c.want)
			}
		}
	}
}

func TestColumnsOf2D(t *testing.T) {
	r := mustOpen(t, npyOf("<i4", false, "(3, 4)", binary.LittleEndian, []int32{9, 1, 2, 3, 8, 4, 5, 6, -7, 70, 80, 90}))
	if c := r.Columns(); len(c) != 4 || c[3].Name != "3" || c[3].Shape != nil || c[3].Hint != table.Uint8 {
		t.Errorf("columns %v", c)
	}
	got, err := readAll(r, table.Selection{Features: []int{3, 1, 2}, Labels: []int{0}})
	want := []float64{3, 1, 2, 6, 4, 5, 90, 70, 80}
	if err != nil || !slices.Equal(got.features, want) || !slices.Equal(table.View[int64](got.Labels), []int64{9, 8, -7}) {
		t.Errorf("%v %v %v", got.features, table.View[int64](got.Labels), err)
	}
	for _, sel := range []table.Selection{{Features: []int{4}}, {Features: []int{0}, Labels: []int{-1}}} {
		_, err := decodeRaw(r, sel)
		tabletest.WantError(t, err, errs.ErrSchema)
	}
}

// decodeRaw passes a selection that is out of range.
func decodeRaw(r table.Reader, sel table.Selection) (int64, error) {
	return r.Decode(context.Background(), sel, table.Target{})
}

func TestMissing(t *testing.T) {
	nan := float32(math.NaN())
	r := mustOpen(t, npyOf("<f4", false, "(3, 3)", binary.LittleEndian, []float32{1, 2, 3, 4, 5, nan, nan, 8, 9}))
	sel := table.Selection{Features: []int{0, 1, 2}}
	_, err := readAll(r, sel)
	tabletest.WantError(t, err, errs.ErrMissing)
	if e := err.(*errs.Error); e.Row != 1 || e.Column != "2" {
		t.Errorf("wrong place: %v", err)
	}
	_, err = r.Range(context.Background(), sel)
	tabletest.WantError(t, err, errs.ErrMissing)
	for fill, kind := range map[float64]table.Type{-1: table.Float32, 0.1: table.Float64} {
		sel.Fill = &fill
		got, err := readAll(r, sel)
		if err != nil || got.Type != kind || !slices.Equal(got.features, []float64{1, 2, 3, 4, 5, fill, fill, 8, 9}) {
			t.Errorf("fill %v: %v %v %v", fill, got.Type, got.features, err)
		}
	}
	keep := math.NaN()
	sel.Fill = &keep
	if got, err := readAll(r, sel); err != nil || !math.IsNaN(got.features[5]) || got.features[7] != 8 {
		t.Errorf("fill NaN: %v %v", got.features, err)
	}
	_, err = readAll(r, table.Selection{Features: []int{1}, Labels: []int{2}})
	tabletest.WantError(t, err, errs.ErrMissing)
	if e := err.(*errs.Error); e.Row != 1 || e.Column != "2" {
		t.Errorf("wrong place: %v", err)
	}
}

// TestNaNKernel puts one NaN at every place of words and of their rest.
func TestNaNKernel(t *testing.T) {
	for n := 1; n < 40; n++ {
		for at := -1; at < n; at++ {
			small, large := make([]float32, n), make([]float64, n)
			for i := range small {
				small[i], large[i] = float32(math.Inf(-1)), math.MaxFloat64
			}
			if at >= 0 {
				small[at] = math.Float32frombits(0xff800001)
				large[at] = math.Float64frombits(0x7ff0000000000001)
			}
			if got := firstNaN(bytesOf32(small), table.Float32); got != at {
				t.Fatalf("float32: %d of %d found at %d", at, n, got)
			}
			if got := firstNaN(table.Bytes(large), table.Float64); got != at {
				t.Fatalf("float64: %d of %d found at %d", at, n, got)
			}
		}
	}
}

func TestValueErrors(t *testing.T) {
	huge := npyOf("<u8", false, "(2, 2)", binary.LittleEndian, []uint64{1, 2, 3, 1 << 63})
	_, err := readAll(mustOpen(t, huge), table.Selection{Features: []int{0, 1}})
	tabletest.WantError(t, err, errs.ErrValue)
	if e := err.(*errs.Error); e.Row != 1 || e.Column != "1" {
		t.Errorf("wrong place: %v", err)
	}
	_, err = readAll(mustOpen(t, huge), table.Selection{Features: []int{0}, Labels: []int{1}})
	tabletest.WantError(t, err, errs.ErrValue)
	boolean := npyOf("|b1", false, "(2, 2)", binary.LittleEndian, []uint8{1, 0, 2, 1})
	_, err = readAll(mustOpen(t, boolean), table.Selection{Features: []int{0, 1}})
	tabletest.WantError(t, err, errs.ErrDamaged)
	if e := err.(*errs.Error); e.Row != 1 || e.Column != "0" {
		t.Errorf("wrong place: %v", err)
	}
}

// TestLarge reads an array of many blocks through every path: direct, converted,
// with a label beside the features, and its range.
func TestLarge(t *testing.T) {
	const n, w = 9000, 301
	values := make([]uint8, n*w)
	wide := make([]int64, n*w)
	for i := range values {
		values[i] = uint8(i * 31 >> 3)
		wide[i] = int64(values[i])
	}
	shape := fmt.Sprintf("(%d, %d)", n, w)
	for _, content := range [][]byte{
		npyOf("|u1", false, shape, binary.LittleEndian, values),
		npyOf("<i8", false, shape, binary.LittleEndian, wide),
	} {
		r := mustOpen(t, content)
		target := table.Target{
			Features: table.Matrix{Data: make([]byte, n*w), Type: table.Uint8, Width: w},
			Labels:   make([]byte, n*8), Kinds: []table.LabelKind{table.IntLabel},
		}
		sel := table.Selection{Features: upTo(w)}
		for range 2 {
			clear(target.Features.Data)
			if rows, err := r.Decode(context.Background(), sel, target); err != nil || rows != n || !slices.Equal(target.Features.Data, values) {
				t.Fatalf("%d rows, %v", rows, err)
			}
			sel.Labels = []int{7}
		}
		for i, v := range table.View[int64](target.Labels) {
			if v != wide[i*w+7] {
				t.Fatalf("label %d is %d, want %d", i, v, wide[i*w+7])
			}
		}
		seen, err := r.Range(context.Background(), sel)
		if want := (table.Range{Seen: true, Min: 0, Max: 255}); err != nil || seen != want {
			t.Errorf("range %v %v", seen, err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if _, err := r.Decode(ctx, sel, target); err == nil {
			t.Error("a cancelled decode succeeded")
		}
	}
}

func bytesOf32(values []float32) []byte {
	b := make([]byte, 0, 4*len(values))
	for _, v := range values {
		b = binary.NativeEndian.AppendUint32(b, math.Float32bits(v))
	}
	return b
}
