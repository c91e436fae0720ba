package gather

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/gofast-org/gofast/gofast/engine"
	"github.com/gofast-org/gofast/gofast/numbers"
	"github.com/gofast-org/gofast/gofast/numbers/numberstest"
	"github.com/gofast-org/gofast/gofast/table"
)

func randomRow(r *rand.Rand, storage table.Type, width int) []byte {
	row := make([]byte, width*storage.Size())
	for i := range width {
		special := []float64{0, math.Copysign(0, -1), 1, -1, 65504, 65519.999, 65520, 0x1p-14, 0x1p-24, 0x1p-25,
			0x1.8p-25, 2049, 2051, 1.0009765625, 1.00048828125, 1.00048828126, math.Inf(1), 3.4e38, 1e300, 1e-300,
			5.960464477539063e-08, 0.1, 255, 254.99999}
		d := r.NormFloat64() * math.Pow(10, float64(r.IntN(12)-6))
		if r.IntN(3) == 0 {
			d = special[r.IntN(len(special))]
		}
		switch le := binary.LittleEndian; storage {
		case table.Uint8:
			row[i] = byte(r.Uint32())
		case table.Int16:
			le.PutUint16(row[2*i:], uint16(r.Uint32()))
		case table.Int32:
			le.PutUint32(row[4*i:], r.Uint32()>>r.IntN(32))
		case table.Int64:
			le.PutUint64(row[8*i:], r.Uint64()>>r.IntN(64))
		case table.Float32:
			le.PutUint32(row[4*i:], math.Float32bits(float32(d)))
		case table.Float64:
			le.PutUint64(row[8*i:], math.Float64bits(d))
		}
	}
	return row
}

// made are a row's numbers, one after the other, as package numbers defines them.
func made(spec *Spec, src []byte) []byte {
	dst := make([]byte, spec.Width*spec.Type.Size())
	for i := range spec.Width {
		spec.Make(numberstest.Stored(spec.Storage, src, i), spec.channel(i)).Put(spec.Type, dst, i)
	}
	return dst
}

// every combination of storage, output and arithmetic.
func TestRowsAreTheirNumbers(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for storage := table.Uint8; storage <= table.Float64; storage++ {
		for out := numbers.Uint8; out <= numbers.Bfloat16; out++ {
			for arithmetic := range 8 {
				if out.Integer() && (!storage.Integer() || arithmetic > 0) {
					continue // integers of integers, as they are
				}
				for _, width := range []int{1, 15, 16, 63, 64, 65, 130, 784, 3 * 784} {
					spec := Spec{Storage: storage, Width: width, Spec: numbers.Spec{Type: out, Scale: numbers.Scale(arithmetic % 2), Channels: 1}}
					if arithmetic >= 2 { // of every feature, the same or not, or of three channels
						spec.Channels = width
						if arithmetic >= 6 && width%3 == 0 {
							spec.Channels = 3
						}
						for range spec.Channels {
							mean, std := float32(0.1307), float32(0.3081)
							if arithmetic >= 4 {
								mean, std = r.Float32(), r.Float32()+0.1
							}
							spec.Mean, spec.Std = append(spec.Mean, mean), append(spec.Std, std)
						}
					}
					src := randomRow(r, storage, width)
					want, got := made(&spec, src), make([]byte, width*out.Size())
					p := newProgram(t, spec)
					p.Row(src, got)
					p.Free()
					if !bytes.Equal(got, want) {
						t.Fatalf("storage %s out %s arithmetic %d width %d:\n got %x\nwant %x", storage, out, arithmetic, width, got, want)
					}
				}
			}
		}
	}
}

// kept holds what C has the address of: the collector sees no address, and the
// stack, which moves, must not hold it either.
var kept []any

func address[T any](s []T) uintptr {
	kept = append(kept, s)
	return uintptr(unsafe.Pointer(unsafe.SliceData(s)))
}

func TestFillPartsMapAndBadIndex(t *testing.T) {
	features := []byte{0, 1, 2, 3, 4, 5, 6, 7} // 4 rows x 2
	more := []byte{10, 11, 12, 13}             // 2 rows x 2
	labels := []int64{100, 101, 102, 103}
	moreLabels := []int64{200, 201}
	spec := Spec{Features: address(features), Labels: address(labels), Rows: 4, Width: 2, Storage: table.Uint8,
		Spec: numbers.Spec{Type: numbers.Uint8, Channels: 1}, LabelMode: LabelInt64, LabelFloat: []bool{false}}
	a := newProgram(t, spec)
	spec.Features, spec.Labels, spec.Rows = address(more), address(moreLabels), 2
	b := newProgram(t, spec)
	indexMap := []int64{5, 0, 3}
	for _, c := range []struct {
		indexMap []int64
		length   int64
		indices  []int64
		x        []byte
		y        []int64
		bad      int64
	}{
		{nil, 6, []int64{0, 4, 5, -1, -6}, []byte{0, 1, 10, 11, 12, 13, 12, 13, 0, 1}, []int64{100, 200, 201, 201, 100}, -1},
		{indexMap, 3, []int64{0, 1, 2, -1}, []byte{12, 13, 0, 1, 6, 7, 6, 7}, []int64{201, 100, 103, 103}, -1},
		{nil, 6, []int64{0, 6}, nil, nil, 1},
		{nil, 6, []int64{-7}, nil, nil, 0},
		{indexMap, 3, []int64{3}, nil, nil, 0},
		{nil, 6, []int64{math.MaxInt64}, nil, nil, 0},
		{nil, 6, []int64{math.MinInt64}, nil, nil, 0},
	} {
		var m uintptr
		if c.indexMap != nil {
			m = address(c.indexMap)
		}
		v := newView(t, []part{{a, 4}, {b, 2}}, m, c.length, []int{2})
		x, y := make([]byte, 2*len(c.indices)), make([]int64, len(c.indices))
		bad := v.Fill(c.indices, 0, len(c.indices), address(x), address(y))
		if bad != c.bad || c.bad < 0 && (!bytes.Equal(x, c.x) || fmt.Sprint(y) != fmt.Sprint(c.y)) {
			t.Errorf("%v through %v: bad %d x %v y %v", c.indices, c.indexMap, bad, x, y)
		}
		v.Free()
	}
	a.Free()
	b.Free()
}

func newProgram(t testing.TB, spec Spec) Program {
	t.Helper()
	p, err := NewProgram(spec)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// part is one program of a view, with its rows.
type part struct {
	Program Program
	Rows    int64
}

func newView(t testing.TB, parts []part, indexMap uintptr, length int64, shape []int) engine.View {
	t.Helper()
	views := make([]engine.View, len(parts))
	for i, p := range parts {
		var err error
		if views[i], err = engine.NewView(p.Program.Address(), p.Rows, p.Program.Sample(shape)); err != nil {
			t.Fatal(err)
		}
		defer views[i].Free()
	}
	joined, err := engine.Join(views, indexMap, length)
	if err != nil {
		t.Fatal(err)
	}
	return joined
}

// Labels in every mode, with gaps between rows.
func TestFillLabels(t *testing.T) {
	labels := []int64{3, int64(math.Float64bits(0.1)), 77, 1<<62 + 1, int64(math.Float64bits(-2.5)), 77}
	le := binary.LittleEndian
	word := func(v ...uint64) (out []byte) {
		for _, v := range v {
			out = le.AppendUint64(out, v)
		}
		return out
	}
	half := func(v ...float32) (out []byte) {
		for _, v := range v {
			out = le.AppendUint32(out, math.Float32bits(v))
		}
		return out
	}
	for _, c := range []struct {
		mode    LabelMode
		float   []bool
		size    int
		classes int
		want    []byte // of rows 1 and 0
		bad     int64
	}{
		{LabelNone, nil, 0, 0, nil, -1},
		{LabelMissing, nil, 0, 0, word(math.MaxUint64, math.MaxUint64), -1},
		{LabelInt64, []bool{false}, 0, 0, word(1<<62+1, 3), -1},
		{LabelFloat32, []bool{false, true}, 0, 0, half(0x1p62, -2.5, 3, 0.1), -1},
		{LabelFloat64, []bool{false, true}, 0, 0, word(math.Float64bits(0x1p62), math.Float64bits(-2.5), math.Float64bits(3), math.Float64bits(0.1)), -1},
		{LabelOneHot, []bool{false}, 0, 4, nil, 0},
		{LabelOneHot, []bool{false}, 0, 3, nil, 0},
		{LabelCopy, nil, 9, 0, append(append(word(1<<62+1), word(math.Float64bits(-2.5))[0]), append(word(3), word(math.Float64bits(0.1))[0])...), -1},
	} {
		features := []int16{1, 2, 99, -3, 4, 99}
		spec := Spec{Features: address(features), Labels: address(labels), Rows: 2, Width: 2, Storage: table.Int16, RowStride: 6, LabelStride: 24, LabelSize: c.size,
			Spec: numbers.Spec{Type: numbers.Float32, Channels: 1}, LabelMode: c.mode, LabelFloat: c.float, MissingLabel: -1, Classes: c.classes}
		p := newProgram(t, spec)
		v := newView(t, []part{{p, 2}}, 0, 2, []int{2})
		x, y := make([]byte, 16), make([]byte, len(c.want)+64)
		bad := v.Fill([]int64{1, 0}, 0, 2, address(x), address(y))
		if bad != c.bad || bad < 0 && (!bytes.Equal(x, half(-3, 4, 1, 2)) || !bytes.Equal(y[:len(c.want)], c.want)) {
			t.Errorf("mode %d: bad %d, samples %x, labels %x", c.mode, bad, x, y)
		}
		if c.mode == LabelOneHot { // row 0 has a class where there are four
			bad, want := v.Fill([]int64{0}, 0, 1, address(x), address(y)), half(0, 0, 0, 1)
			if (bad < 0) != (c.classes == 4) || bad < 0 && !bytes.Equal(y[:16], want) {
				t.Errorf("one of %d classes: bad %d, labels %x", c.classes, bad, y)
			}
		}
		v.Free()
		p.Free()
	}
}

func BenchmarkFill512(b *testing.B) {
	const rows, width, batch = 60000, 784, 512
	features := make([]byte, rows*width)
	labels := make([]int64, rows)
	for _, normalise := range []bool{false, true} {
		spec := Spec{Features: address(features), Labels: address(labels), Rows: rows, Width: width, Storage: table.Uint8,
			Spec: numbers.Spec{Scale: numbers.Divide, Type: numbers.Float32, Channels: 1}, LabelMode: LabelInt64, LabelFloat: []bool{false}}
		if normalise {
			spec.Mean, spec.Std = []float32{0.1307}, []float32{0.3081}
		}
		b.Run(fmt.Sprintf("normalise=%v", normalise), func(b *testing.B) {
			p := newProgram(b, spec)
			v := newView(b, []part{{p, rows}}, 0, 0, []int{width})
			x, y := make([]float32, batch*width), make([]int64, batch)
			xAt, yAt := address(x), address(y)
			indices := make([]int64, batch)
			r := rand.New(rand.NewPCG(1, 2))
			b.SetBytes(batch * width)
			for b.Loop() {
				for i := range indices {
					indices[i] = int64(r.IntN(rows))
				}
				v.Fill(indices, 0, batch, xAt, yAt)
			}
			v.Free()
			p.Free()
		})
	}
}
