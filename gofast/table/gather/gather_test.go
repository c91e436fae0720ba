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

// every combination of storage, output and arithmetic, fast and portable,
// against the Go twin.
func TestRowsAgreeWithTwin(t *testing.T) {
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
					want := make([]byte, width*out.Size())
					RowGeneric(&spec, src, want)
					for _, portable := range []bool{false, true} {
						p := newProgram(t, spec, portable)
						got := make([]byte, len(want))
						p.Row(src, got)
						p.Free()
						if !bytes.Equal(got, want) {
							t.Fatalf("storage %s out %s arithmetic %d width %d portable %v:\n got %x\nwant %x", storage, out, arithmetic, width, portable, got, want)
						}
					}
				}
			}
		}
	}
}

// The fused form of x / 255 and the table must be exact for all 256 codes.
func TestUnitIsExactForEveryCode(t *testing.T) {
	src := make([]byte, 256)
	for i := range src {
		src[i] = byte(i)
	}
	for _, mean := range []bool{false, true} {
		spec := Spec{Storage: table.Uint8, Width: 256, Spec: numbers.Spec{Scale: numbers.Divide, Type: numbers.Float32, Channels: 1}}
		if mean {
			spec.Mean, spec.Std = []float32{0.5}, []float32{0.25}
		}
		p := newProgram(t, spec, false)
		got := make([]byte, 1024)
		p.Row(src, got)
		p.Free()
		for i := range 256 {
			want := float32(i) / 255
			if mean {
				want = (want - 0.5) / 0.25
			}
			if g := math.Float32frombits(binary.LittleEndian.Uint32(got[4*i:])); g != want {
				t.Errorf("mean %v code %d: got %v, want %v", mean, i, g, want)
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
	a := newProgram(t, spec, false)
	spec.Features, spec.Labels, spec.Rows = address(more), address(moreLabels), 2
	b := newProgram(t, spec, false)
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

func newProgram(t testing.TB, spec Spec, portable bool) Program {
	t.Helper()
	p, err := NewProgram(spec, portable)
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

// Whole batches, labels included, through maps and parts: C against the Go twin.
func TestFillAgreesWithTwin(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	modes := []LabelMode{LabelNone, LabelMissing, LabelInt64, LabelFloat32, LabelFloat64, LabelOneHot, LabelCopy}
	for _, mode := range modes {
		for range 20 {
			columns := 1 + r.IntN(3)
			if mode == LabelOneHot {
				columns = 1
			}
			float := make([]bool, columns)
			for i := range float {
				float[i] = r.IntN(2) == 1 && (mode == LabelFloat32 || mode == LabelFloat64)
			}
			specs := map[uintptr]*Spec{}
			var parts []part
			start := int64(0)
			width := 1 + r.IntN(70)
			gap, labelGap, labelSize := r.IntN(2)*r.IntN(9), r.IntN(2)*r.IntN(3), 1+r.IntN(8*columns) // between rows
			for range 1 + r.IntN(3) {
				rows := int64(1 + r.IntN(9))
				features, labels := randomRow(r, table.Int16, (width+gap)*int(rows)), make([]int64, int(rows)*(columns+labelGap))
				for i := range labels {
					labels[i] = r.Int64() >> r.IntN(64)
					if mode == LabelOneHot && r.IntN(50) > 0 { // others have no place
						labels[i] = r.Int64N(5)
					}
					if float[i%(columns+labelGap)%columns] {
						labels[i] = int64(math.Float64bits(r.NormFloat64() * 1e3))
					}
				}
				raw := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(labels))), 8*len(labels))
				spec := &Spec{Features: address(features), Labels: address(raw), Rows: rows, Width: width, Storage: table.Int16,
					RowStride: int64(2 * (width + gap)), LabelStride: int64(8 * (columns + labelGap)), LabelSize: labelSize,
					Spec: numbers.Spec{Type: numbers.Float32, Channels: 1}, LabelMode: mode, LabelFloat: float, MissingLabel: -1, Classes: 5}
				p := newProgram(t, *spec, false)
				specs[p.Address()] = spec
				parts, start = append(parts, part{p, rows}), start+rows
			}
			var positions []int64
			length, at := start, uintptr(0)
			if r.IntN(2) == 1 {
				length = int64(1 + r.IntN(12))
				for range length {
					positions = append(positions, r.Int64N(start))
				}
				at = address(positions)
			}
			v := newView(t, parts, at, length, []int{width})
			indices := make([]int64, 40)
			for i := range indices {
				indices[i] = r.Int64N(2*length) - length
			}
			if r.IntN(4) == 0 {
				indices[r.IntN(40)] = length
			}
			var x, y [2][]byte
			for k := range 2 {
				x[k], y[k] = make([]byte, 40*v.RowBytes()), make([]byte, 40*v.LabelBytes()+1)
			}
			got := v.Fill(indices, 0, 40, address(x[0]), address(y[0]))
			want := fillGeneric(v, indices, 0, 40, address(x[1]), address(y[1]), func(program uintptr) *Spec { return specs[program] })
			if got != want || !bytes.Equal(x[0], x[1]) || !bytes.Equal(y[0], y[1]) {
				t.Fatalf("mode %d: C returned %d, the twin %d; samples equal %v, labels equal %v", mode, got, want, bytes.Equal(x[0], x[1]), bytes.Equal(y[0], y[1]))
			}
			v.Free()
			for _, part := range parts {
				part.Program.Free()
			}
		}
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
		for _, portable := range []bool{false, true} {
			b.Run(fmt.Sprintf("normalise=%v/portable=%v", normalise, portable), func(b *testing.B) {
				p := newProgram(b, spec, portable)
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
}
