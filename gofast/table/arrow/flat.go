package arrow

import "encoding/binary"

// flat reads a flatbuffer. A position that leads outside of it makes it bad, and gives zeros from then on: who reads
// asks once, at the end. So does more than a file of this size has to say: a small one could let a million tables share
// one long text, and each would take memory.
type flat struct {
	b    []byte
	said int // bytes of vectors that were read
	bad  bool
}

// ref is the position of a table; 0: there is none.
type ref int

var zeros [8]byte

// mostShared is how often parts may be shared, on average: writers share few, such as equal names.
const mostShared = 16

func (f *flat) bytes(at, n int) []byte {
	if at < 0 || n < 0 || at > len(f.b)-n {
		f.bad = true
		return zeros[:min(max(n, 0), len(zeros))]
	}
	return f.b[at : at+n]
}

func (f *flat) u16(at int) int { return int(binary.LittleEndian.Uint16(f.bytes(at, 2))) }
func (f *flat) i32(at int) int { return int(int32(binary.LittleEndian.Uint32(f.bytes(at, 4)))) }
func (f *flat) i64(at int) int64 {
	return int64(binary.LittleEndian.Uint64(f.bytes(at, 8)))
}

// follow is the position that an offset leads to, which is always behind it.
func (f *flat) follow(at int) int {
	offset := f.i32(at)
	if offset < 4 {
		f.bad = true
		return 0
	}
	return at + offset
}

func (f *flat) root() ref { return ref(f.follow(0)) }

// field is the position of a field of a table; 0: it has its default.
func (f *flat) field(t ref, number int) int {
	if t == 0 {
		return 0
	}
	vtable := int(t) - f.i32(int(t))
	at := 4 + 2*number
	if at+2 > f.u16(vtable) {
		return 0
	}
	offset := f.u16(vtable + at)
	if offset == 0 {
		return 0
	}
	return int(t) + offset
}

// integer is a field of so many bytes.
func (f *flat) integer(t ref, number, size int, absent int64) int64 {
	at := f.field(t, number)
	switch {
	case at == 0:
		return absent
	case size == 1:
		return int64(int8(f.bytes(at, 1)[0]))
	case size == 2:
		return int64(int16(f.u16(at)))
	case size == 4:
		return int64(f.i32(at))
	default:
		return f.i64(at)
	}
}

func (f *flat) table(t ref, number int) ref {
	if at := f.field(t, number); at != 0 {
		return ref(f.follow(at))
	}
	return 0
}

// vector is the position of the first of n elements of so many bytes, all of which are there.
func (f *flat) vector(t ref, number, size int) (at, n int) {
	if at = f.field(t, number); at == 0 {
		return 0, 0
	}
	at = f.follow(at)
	if n = f.i32(at); n < 0 || n > (len(f.b)-at-4)/size {
		f.bad = true
		return 0, 0
	}
	if f.said += n * size; f.said > mostShared*len(f.b) {
		f.bad = true
		return 0, 0
	}
	return at + 4, n
}

// tables are the elements of a vector of tables.
func (f *flat) tables(t ref, number int) []ref {
	at, n := f.vector(t, number, 4)
	list := make([]ref, n)
	for i := range list {
		list[i] = ref(f.follow(at + 4*i))
	}
	return list
}

func (f *flat) text(t ref, number int) string {
	at, n := f.vector(t, number, 1)
	return string(f.bytes(at, n))
}
