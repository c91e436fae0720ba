package npy

import (
	"encoding/binary"
	"math"
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

func bytesOf32(values []float32) []byte {
	b := make([]byte, 0, 4*len(values))
	for _, v := range values {
		b = binary.NativeEndian.AppendUint32(b, math.Float32bits(v))
	}
	return b
}
