package device

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/gofast-org/gofast/gofast/engine"
	"github.com/gofast-org/gofast/gofast/numbers"
	"github.com/gofast-org/gofast/gofast/numbers/numberstest"
	"github.com/gofast-org/gofast/gofast/table/gather"
)

// special are the values that a type has at its ends.
func special(r *rand.Rand, t numbers.Type, dst []byte, i int) {
	put := func(v numbers.Value) { v.Put(t, dst, i) }
	switch {
	case t.Integer():
		bits := 8 * t.Size()
		low := uint64(0)
		if t != numbers.Uint8 {
			low = ^uint64(0) << (bits - 1)
		}
		ends := []uint64{0, 1, low, low + 1, ^low &^ (low << 1), 255, r.Uint64()}
		v := ends[r.IntN(len(ends))]
		for b := range t.Size() {
			dst[i*t.Size()+b] = byte(v >> (8 * b))
		}
	case t == numbers.Float32 && r.IntN(2) == 0: // infinities, NaNs of every kind, the smallest
		ends := []uint32{0, 0x7f800000, 0x7f800001, 0x7fc00000, 0x7fffffff, 0x7fa12345, 1, 0x7fffff, 0x800000, 0x7f7fffff, 0x477fefff, 0x477ff000, 0x33000000, 0x33000001}
		v := ends[r.IntN(len(ends))] | r.Uint32()&0x80000000
		put(numbers.Single(0))
		dst[4*i], dst[4*i+1], dst[4*i+2], dst[4*i+3] = byte(v), byte(v>>8), byte(v>>16), byte(v>>24)
	case t == numbers.Float32:
		put(numbers.Single(math.Float32frombits(r.Uint32())))
	case r.IntN(2) == 0:
		ends := []uint64{0, 0x7ff0000000000000, 0x7ff0000000000001, 0x7ff8000000000000, 0x7fffffffffffffff, 0x7ff4123456789abc, 1, 0x0010000000000000,
			0x7fefffffffffffff, 0x36a0000000000000, 0x3690000000000001, 0x47efffffe0000000, 0x47effffff0000000, 0x40effdffffffffff, 0x40effe0000000000, 0x3e60000000000001}
		v := ends[r.IntN(len(ends))] | r.Uint64()&(1<<63)
		for b := range 8 {
			dst[8*i+b] = byte(v >> (8 * b))
		}
	case r.IntN(2) == 0:
		put(numbers.Double(r.NormFloat64() * math.Exp2(float64(r.IntN(60)-30))))
	default:
		put(numbers.Double(math.Float64frombits(r.Uint64())))
	}
}

// trial is one call of a kernel and what must come of it.
type trial struct {
	spec                     numbers.Spec
	stored                   numbers.Type
	width, tableRows, count  int
	rows                     []int64 // nil: in their order
	labelBytes, shift        int     // shift moves the samples by so many values: their groups are not aligned
	picture                  int     // the width of a picture with boxes, or 0
	features, labels, wanted []byte
	boxes                    []Erasing
	erased                   [][]float32
}

func randomTrial(r *rand.Rand, stored, made numbers.Type) trial {
	s := trial{spec: numbers.Spec{Type: made, Channels: 1}, stored: stored, width: 1 + r.IntN(90), tableRows: 1 + r.IntN(12), labelBytes: []int{0, 8, 3, 40}[r.IntN(4)], shift: r.IntN(2) * r.IntN(4)}
	channels, height := 1+2*r.IntN(2), 1+r.IntN(6)
	pictures := stored == numbers.Uint8 && !made.Integer() && made != numbers.Float64 && r.IntN(2) == 0
	switch across := 1 + r.IntN(9); {
	case pictures:
		s.width, s.picture = channels*height*across, across
		s.spec.Channels, s.spec.Last, s.spec.Scale = channels, r.IntN(2) == 0, numbers.Scale(r.IntN(3))
	case !made.Integer():
		s.spec.Scale = numbers.Scale(r.IntN(2)) // as tables: cast or divide
		if r.IntN(3) == 0 {
			s.spec.Channels = channels
			s.width = channels * (1 + r.IntN(40))
		} else if r.IntN(2) == 0 {
			s.spec.Channels = s.width
		}
	}
	if !made.Integer() && r.IntN(2) == 0 {
		for range s.spec.Channels {
			s.spec.Mean, s.spec.Std = append(s.spec.Mean, float32(r.NormFloat64())), append(s.spec.Std, r.Float32()+0.01)
		}
	}
	s.count = s.tableRows
	if r.IntN(2) == 0 {
		s.count = r.IntN(20)
		s.rows = make([]int64, s.count)
		for i := range s.rows {
			s.rows[i] = r.Int64N(int64(s.tableRows))
		}
	}
	s.features, s.labels = make([]byte, s.tableRows*s.width*stored.Size()), make([]byte, s.tableRows*s.labelBytes)
	for i := range s.tableRows * s.width {
		special(r, stored, s.features, i)
	}
	for i := range s.labels {
		s.labels[i] = byte(r.Uint32())
	}
	if pictures {
		for range r.IntN(Erasings + 1) {
			s.erased = append(s.erased, []float32{float32(r.NormFloat64()), r.Float32(), -1e6})
		}
		for range s.count * len(s.erased) {
			box := Erasing{}
			if r.IntN(3) > 0 {
				box = Erasing{int32(r.IntN(height)), int32(r.IntN(s.picture)), 0, 0}
				box.Height, box.Width = int32(1+r.IntN(height-int(box.Top))), int32(1+r.IntN(s.picture-int(box.Left)))
			}
			s.boxes = append(s.boxes, box)
		}
	}
	s.want()
	return s
}

// channel is that of value i.
func (s *trial) channel(i int) int {
	if s.spec.Last {
		return i % s.spec.Channels
	}
	return i * s.spec.Channels / s.width
}

func (s *trial) row(sample int) int {
	if s.rows == nil {
		return sample
	}
	return int(s.rows[sample])
}

// want makes samples by the plain arithmetic.
func (s *trial) want() {
	size := s.spec.Type.Size()
	s.wanted = make([]byte, s.count*s.width*size)
	for sample := range s.count {
		for i := range s.width {
			s.spec.Make(numberstest.Stored(s.stored, s.features, s.row(sample)*s.width+i), s.channel(i)).Put(s.spec.Type, s.wanted, sample*s.width+i)
		}
		for e := range s.erased {
			box := s.boxes[sample*len(s.erased)+e]
			for i := range s.width {
				pixel := i / s.spec.Channels
				if !s.spec.Last {
					pixel = i % (s.width / s.spec.Channels)
				}
				y, x := int32(pixel/s.picture), int32(pixel%s.picture)
				if y >= box.Top && y < box.Top+box.Height && x >= box.Left && x < box.Left+box.Width {
					numbers.Single(s.erased[e][s.channel(i)]).Put(s.spec.Type, s.wanted, sample*s.width+i)
				}
			}
		}
	}
}

// gathered is what the CPU's kernels of tables make of the same.
func (s *trial) gathered(t testing.TB) []byte {
	t.Helper()
	p, err := gather.NewProgram(gather.Spec{Spec: s.spec, Width: s.width, Storage: s.stored})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Free()
	out := make([]byte, len(s.wanted))
	from, to := s.width*s.stored.Size(), s.width*s.spec.Type.Size()
	for sample := range s.count {
		p.Row(s.features[s.row(sample)*from:][:from], out[sample*to:][:to])
	}
	return out
}

func (s *trial) String() string {
	return fmt.Sprintf("%s of %s: %+v, %d x %d of %d rows %v, %d bytes of labels, shifted by %d, picture %d, boxes %v", s.spec.Type, s.stored, s.spec, s.count, s.width,
		s.tableRows, s.rows, s.labelBytes, s.shift, s.picture, s.boxes)
}

// run lets the device make the samples and labels.
func (s *trial) run(t testing.TB, d *Device) (samples, labels []byte) {
	t.Helper()
	var all []*Memory
	defer func() {
		if err := d.Drain(); err != nil {
			t.Error(err)
		}
		for _, m := range all {
			if err := m.Free(); err != nil {
				t.Error(err)
			}
		}
	}()
	up := func(values []byte) uint64 {
		m, _, err := d.Upload(values)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, m)
		return m.Address
	}
	size := s.spec.Type.Size()
	before, behind := s.shift*size, s.shift*s.stored.Size()
	making, tables, ok := Of(s.spec, s.stored, s.width)
	if !ok {
		t.Fatalf("no kernel for %v", s)
	}
	making.Place(up(tables))
	making.Count, making.LabelBytes = int64(s.count), int64(s.labelBytes)
	making.Stored = up(append(make([]byte, behind), s.features...)) + uint64(behind)
	making.Made = up(bytes.Repeat([]byte{0xee}, before+len(s.wanted)+16)) + uint64(before)
	making.Labels, making.LabelsMade = up(s.labels), up(make([]byte, s.count*s.labelBytes+16))
	if s.rows != nil {
		making.Rows = up(unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s.rows))), 8*len(s.rows)))
	}
	for _, values := range s.erased {
		making.Erase(s.spec.Type, s.spec.Channels, s.picture, values)
	}
	if len(s.erased) > 0 {
		making.Boxes = up(unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s.boxes))), 16*len(s.boxes)))
	}
	kernel, err := d.Kernel(s.stored, s.spec.Type)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Send(Job{Kernel: kernel, Making: making}, engine.Slot{}); err != nil {
		t.Fatal(err)
	}
	samples, labels = make([]byte, before+len(s.wanted)+16), make([]byte, s.count*s.labelBytes+16)
	if err := d.CopyOut(samples, making.Made-uint64(before)); err != nil {
		t.Fatal(err)
	}
	if err := d.CopyOut(labels, making.LabelsMade); err != nil {
		t.Fatal(err)
	}
	if beside := append(append([]byte{}, samples[:before]...), samples[before+len(s.wanted):]...); !bytes.Equal(beside, bytes.Repeat([]byte{0xee}, before+16)) {
		t.Errorf("written beside the samples: %v", s)
	}
	return samples[before : before+len(s.wanted)], labels[:s.count*s.labelBytes]
}

func (s *trial) check(t testing.TB, d *Device) {
	t.Helper()
	got, labels := s.run(t, d)
	if at := differs(got, s.wanted); at >= 0 {
		size := s.spec.Type.Size()
		i := at / size
		t.Fatalf("value %d is %x, not %x: %v", i, got[i*size:][:size], s.wanted[i*size:][:size], s)
	}
	if s.picture == 0 {
		if at := differs(s.gathered(t), s.wanted); at >= 0 {
			t.Fatalf("byte %d of the CPU's is another: %v", at, s)
		}
	}
	for sample := range s.count {
		if !bytes.Equal(labels[sample*s.labelBytes:][:s.labelBytes], s.labels[s.row(sample)*s.labelBytes:][:s.labelBytes]) {
			t.Fatalf("label %d: %v", sample, s)
		}
	}
}

func differs(a, b []byte) int {
	for i := range b {
		if a[i] != b[i] {
			return i
		}
	}
	return -1
}
