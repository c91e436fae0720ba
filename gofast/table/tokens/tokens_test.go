package tokens

import (
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"github.com/gofast-org/gofast/gofast/engine"
	"github.com/gofast-org/gofast/gofast/internal/errs"
)

// put writes a token as numpy does, and gives what numpy's int64 of it is.
func put(r *rand.Rand, kind string, at []byte) int64 {
	v := r.Uint64()
	switch le := binary.LittleEndian; kind {
	case "uint8":
		at[0] = uint8(v)
		return int64(uint8(v))
	case "int8":
		at[0] = uint8(v)
		return int64(int8(v))
	case "uint16":
		le.PutUint16(at, uint16(v))
		return int64(uint16(v))
	case "int16":
		le.PutUint16(at, uint16(v))
		return int64(int16(v))
	case "uint32":
		le.PutUint32(at, uint32(v))
		return int64(uint32(v))
	case "int32":
		le.PutUint32(at, uint32(v))
		return int64(int32(v))
	default:
		le.PutUint64(at, v)
		return int64(v)
	}
}

// kept holds what C has the address of, and keeps it off the stack.
var kept []any

func address[T any](s []T) uintptr {
	kept = append(kept, s)
	return uintptr(unsafe.Pointer(unsafe.SliceData(s)))
}

func TestWindowsOfEveryType(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, kind := range types {
		for range 60 {
			n, block, stride, offset := 2+r.Int64N(300), 1+r.Int64N(70), 1+r.Int64N(90), r.Int64N(9)
			block = min(block, n-1)
			data, want := make([]byte, offset+n*kind.size), make([]int64, n)
			for i := range want {
				want[i] = put(r, kind.name, data[offset+int64(i)*kind.size:])
			}
			w := Windows{First: address(data) + uintptr(offset), Tokens: n, Type: kind.name, Block: block, Stride: stride}
			starts := []int64{}
			for at := int64(0); at+block < n; at += stride {
				starts = append(starts, at)
			}
			if w.Count() != int64(len(starts)) {
				t.Fatalf("%+v: %d windows instead of %d", w, w.Count(), len(starts))
			}
			p, sample, err := NewProgram(w)
			if err != nil {
				t.Fatal(err)
			}
			view, err := engine.NewView(p.Address(), w.Count(), sample)
			if err != nil {
				t.Fatal(err)
			}
			indices := []int64{r.Int64N(w.Count()), -1, 0}
			x, y := make([]int64, 3*block), make([]int64, 3*block)
			if bad := view.Fill(indices, 0, 3, address(x), address(y)); bad >= 0 {
				t.Fatalf("%+v: %d is bad", w, bad)
			}
			for i, index := range indices {
				at := starts[(index+w.Count())%w.Count()]
				from := int64(i) * block
				if !slices.Equal(x[from:from+block], want[at:at+block]) || !slices.Equal(y[from:from+block], want[at+1:at+block+1]) {
					t.Fatalf("%+v: window %d is wrong", w, index)
				}
			}
			if bad := view.Fill([]int64{0, w.Count()}, 0, 2, address(x), address(y)); bad != 1 {
				t.Errorf("%+v: beyond the end: %d", w, bad)
			}
			view.Free()
			p.Free()
		}
	}
}

func TestRefused(t *testing.T) {
	for _, c := range []struct {
		w    Windows
		want error
	}{
		{Windows{Tokens: 9, Type: "uint64", Block: 1, Stride: 1}, errs.ErrUnsupported},
		{Windows{Tokens: 9, Type: "uint16", Block: 0, Stride: 1}, errs.ErrConfig},
		{Windows{Tokens: 9, Type: "uint16", Block: 1, Stride: 0}, errs.ErrConfig},
		{Windows{Tokens: 9, Type: "uint16", Block: 1 << 31, Stride: 1}, errs.ErrConfig},
		{Windows{Tokens: math.MaxInt64, Type: "uint16", Block: 1, Stride: 1}, errs.ErrConfig},
	} {
		if p, _, err := NewProgram(c.w); !errors.Is(err, c.want) {
			t.Errorf("%+v: %v, program %v", c.w, err, p)
		}
	}
}
