package device

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"unsafe"

	"github.com/gofast-org/gofast/gofast/device/devicetest"
	"github.com/gofast-org/gofast/gofast/engine"
	"github.com/gofast-org/gofast/gofast/numbers"
	"github.com/gofast-org/gofast/gofast/table/gather"
)

// opened is device 0 of the stand-in, with a compiler; the test skips without one.
func opened(t testing.TB, mode int) (*devicetest.Driver, *Device) {
	t.Helper()
	driver := devicetest.New(t, mode)
	d, err := Open(0, Options{Library: driver.Library, Compilers: devicetest.Compilers(), Cache: cache})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	return driver, d
}

// cache is of all tests: a kernel takes 0.1 s to compile. TestMain sets it.
var cache string

func needCompiler(t testing.TB) compiler {
	t.Helper()
	c, err := findCompiler(devicetest.Compilers())
	if err == nil {
		_, options := compilation(numbers.Uint8, numbers.Uint8, 90)
		_, _, err = c.compile(options) // under the address sanitizer it does not find the library that it needs, for one
	}
	if err != nil {
		t.Skipf("%v (or let GOFAST_NVRTC name a library)", err)
	}
	return c
}

// eachPair calls for every stored and made type that a kernel is for.
func eachPair(call func(stored, made numbers.Type)) {
	for stored := numbers.Uint8; stored <= numbers.Bfloat16; stored++ {
		for made := numbers.Uint8; made <= numbers.Bfloat16; made++ {
			if Makes(stored, made) {
				call(stored, made)
			}
		}
	}
}

// A device that the compiler does not know gets the code of an older one of its generation, or else PTX.
func TestDevicesNewerThanTheCompiler(t *testing.T) {
	c := needCompiler(t)
	for capability, want := range map[int]string{75: "sm_75", 90: "sm_90", 99: "sm_90", 31: "sm_31"} {
		if got := c.architecture(capability); got != want {
			t.Errorf("%d: %s, not %s", capability, got, want)
		}
	}
	newest := c.architecture(990)
	if !strings.HasPrefix(newest, "compute_") {
		t.Fatal(newest)
	}
	_, options := compilation(numbers.Uint8, numbers.Float32, newest)
	image, words, err := c.compile(options)
	if err != nil || words != "" || !bytes.Contains(image, []byte(".target sm_")) {
		t.Errorf("%v %s", err, words)
	}
}

// Without a word of the compiler, for every architecture that CUDA 13 knows.
func TestKernelsCompileForEveryArchitecture(t *testing.T) {
	c := needCompiler(t)
	for _, capability := range []int{90, 75, 80, 100, 120} {
		t.Run(fmt.Sprintf("sm_%d", capability), func(t *testing.T) {
			t.Parallel()
			n := 0
			eachPair(func(stored, made numbers.Type) {
				if n++; testing.Short() && (capability != 90 || n%5 > 0) {
					return
				}
				_, options := compilation(stored, made, c.architecture(capability))
				code, said, err := c.compile(options)
				if err != nil || said != "" || len(code) == 0 {
					t.Errorf("%s of %s: %v %s", made, stored, err, said)
				}
			})
			if n != 40 {
				t.Errorf("%d kernels", n)
			}
		})
	}
}

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
			s.spec.Make(numbers.Stored(s.stored, s.features, s.row(sample)*s.width+i), s.channel(i)).Put(s.spec.Type, s.wanted, sample*s.width+i)
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
	p, err := gather.NewProgram(gather.Spec{Spec: s.spec, Width: s.width, Storage: s.stored}, false)
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

func TestKernelsAgreeWithArithmetic(t *testing.T) {
	needCompiler(t)
	_, d := opened(t, devicetest.Late)
	turns := 60
	if testing.Short() {
		turns = 8
	}
	eachPair(func(stored, made numbers.Type) {
		r := rand.New(rand.NewPCG(uint64(stored), uint64(made)))
		for range turns {
			s := randomTrial(r, stored, made)
			s.check(t, d)
		}
	})
}

// A row without values and labels is made by doing nothing.
func TestRowsOfNothing(t *testing.T) {
	needCompiler(t)
	_, d := opened(t, devicetest.Late)
	kernel, err := d.Kernel(1, 5)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range []Making{{Count: 3}, {Width: 3}, {}} {
		if err := d.Launch(kernel, m, 0); err != nil {
			t.Errorf("%+v: %v", m, err)
		}
	}
}

// Closing waits for kernels before it unloads their code.
func TestCloseWithKernelsUnderWay(t *testing.T) {
	needCompiler(t)
	driver, d := opened(t, devicetest.Late)
	other, err := Open(0, Options{}) // the same GPU, for memory that outlives the device
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	m, err := other.Alloc(64)
	if err != nil {
		t.Fatal(err)
	}
	kernel, err := d.Kernel(numbers.Uint8, numbers.Uint8)
	if err != nil {
		t.Fatal(err)
	}
	making := Making{Stored: m.Address, Made: m.Address + 32, Count: 1, Width: 8, Channels: 1}
	if _, err := d.Send(Job{Kernel: kernel, Making: making}, engine.Slot{}); err != nil {
		t.Fatal(err)
	}
	if driver.Pending() == 0 {
		t.Fatal("nothing is under way")
	}
	d.Close()
	if err := m.Free(); err != nil {
		t.Error(err)
	}
}

// More rows, and wider ones, than a grid has threads: each thread makes several.
func TestGridsHaveLimits(t *testing.T) {
	needCompiler(t)
	if testing.Short() {
		t.Skip("rows of 67 MB")
	}
	_, d := opened(t, devicetest.Late)
	for _, shape := range [][2]int{{65535*256 + 777, 1}, {2, 4096*256*4 + 1028}, {3, 4096*256*4 + 1027}} {
		s := trial{spec: numbers.Spec{Type: numbers.Int16, Channels: 1}, stored: numbers.Uint8, tableRows: shape[0], count: shape[0], width: shape[1]}
		s.features = make([]byte, shape[0]*shape[1])
		s.wanted = make([]byte, 2*len(s.features))
		for i := range s.features {
			s.features[i] = byte(i * 31 >> 3)
			s.wanted[2*i] = s.features[i]
		}
		if got, _ := s.run(t, d); !bytes.Equal(got, s.wanted) {
			at := differs(got, s.wanted)
			t.Errorf("%d rows of %d: value %d is %x", shape[0], shape[1], at/2, got[at])
		}
	}
}

func FuzzKernels(f *testing.F) {
	needCompiler(f)
	for seed := range uint64(40) {
		f.Add(seed, byte(seed), byte(seed/3), []byte("gofast"))
	}
	f.Fuzz(func(t *testing.T, seed uint64, stored, made byte, data []byte) {
		from, to := numbers.Uint8+numbers.Type(stored%6), numbers.Uint8+numbers.Type(made%8)
		if !Makes(from, to) {
			return
		}
		_, d := opened(t, devicetest.Late)
		s := randomTrial(rand.New(rand.NewPCG(seed, 1)), from, to)
		copy(s.features, data)
		s.want()
		s.check(t, d)
	})
}
