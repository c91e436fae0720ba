package page

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"
)

func levels() []Level {
	var all []Level
	for l := Plain; l <= Best; l++ {
		all = append(all, l)
	}
	return all
}

// encodeRuns writes values as a random mix of repeated and packed runs.
func encodeRuns(rng *rand.Rand, values []uint32, width int) []byte {
	var out []byte
	for len(values) > 0 {
		if rng.IntN(2) == 0 {
			n := 1
			for n < len(values) && values[n] == values[0] {
				n++
			}
			out = binary.AppendUvarint(out, uint64(n)<<1)
			var word [4]byte
			binary.LittleEndian.PutUint32(word[:], values[0])
			out = append(out, word[:(width+7)/8]...)
			values = values[n:]
			continue
		}
		groups := 1 + rng.IntN(40)
		n := min(8*groups, len(values))
		groups = (n + 7) / 8
		if n%8 != 0 && n < len(values) {
			n, groups = n/8*8, n/8
		}
		if groups == 0 {
			continue
		}
		out = binary.AppendUvarint(out, uint64(groups)<<1|1)
		packed := make([]byte, groups*width+8)
		for i, v := range values[:n] {
			bit := i * width
			word := binary.LittleEndian.Uint64(packed[bit>>3:]) | uint64(v)<<(bit&7)
			binary.LittleEndian.PutUint64(packed[bit>>3:], word)
		}
		out = append(out, packed[:groups*width]...)
		values = values[n:]
	}
	return out
}

func randomValues(rng *rand.Rand, n, width int) []uint32 {
	values := make([]uint32, n)
	for i := range values {
		if i > 0 && rng.IntN(3) > 0 {
			values[i] = values[i-1]
		} else {
			values[i] = uint32(rng.Uint64() & (1<<width - 1))
		}
	}
	return values
}

func TestRunsDecodeWhatWasEncoded(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var table [256]byte
	for i := range table {
		table[i] = byte(255 - i)
	}
	for width := 0; width <= 32; width++ {
		for _, n := range []int{0, 1, 7, 8, 9, 63, 64, 65, 200, 1000} {
			values := randomValues(rng, n, width)
			src := encodeRuns(rng, values, width)
			for _, level := range levels() {
				got := make([]uint32, n+16)
				if s := level.Runs32(src, width, got[:n], 1<<width); s != OK {
					t.Fatalf("level %d, width %d, %d values: %v", level, width, n, s)
				}
				if !slices.Equal(got[:n], values) || slices.Max(got[n:]) > 0 {
					t.Fatalf("level %d, width %d: %v, want %v", level, width, got, values)
				}
			}
			if width > 8 {
				continue
			}
			want := make([]byte, n)
			for i, v := range values {
				want[i] = table[v]
			}
			for _, level := range levels() {
				// The canaries around dst must survive.
				canary := bytes.Repeat([]byte{0xAA}, n+128)
				if s := level.Runs8(src, width, canary[64:64+n], &table, 1<<width); s != OK {
					t.Fatalf("level %d, width %d, %d values: %v", level, width, n, s)
				}
				if !bytes.Equal(canary[64:64+n], want) {
					t.Fatalf("level %d, width %d, %d values differ", level, width, n)
				}
				if !bytes.Equal(canary[:64], canary[64+n:]) || canary[0] != 0xAA {
					t.Fatalf("level %d, width %d: wrote outside dst", level, width)
				}
			}
		}
	}
}

// Entries of any size are what the indexes say, and an index without one is refused, wherever it stands.
func TestEntries(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for trial := range 3000 {
		size, width, n := 1<<rng.IntN(4), rng.IntN(17), 1+rng.IntN(2000)
		values := randomValues(rng, n, width)
		src := encodeRuns(rng, values, width)
		src = src[:len(src):len(src)]
		top := int(slices.Max(values))
		table, want := make([]byte, (top+1)*size), []byte(nil)
		for i := range table {
			table[i] = byte(rng.Uint32())
		}
		for _, v := range values {
			want = append(want, table[int(v)*size:][:size]...)
		}
		for _, level := range levels() {
			got := bytes.Repeat([]byte{0xAA}, n*size+64)
			if s := level.Entries(src, width, got[:n*size], table, size); s != OK {
				t.Fatalf("trial %d, level %d, width %d: %v", trial, level, width, s)
			}
			if !bytes.Equal(got[:n*size], want) || !bytes.Equal(got[n*size:], bytes.Repeat([]byte{0xAA}, 64)) {
				t.Fatalf("trial %d, level %d, width %d, %d values of %d bytes differ", trial, level, width, n, size)
			}
			if s := level.Entries(src, width, got[:n*size], table[:top*size], size); s != OutOfRange {
				t.Fatalf("trial %d, level %d, width %d: %v without the largest of its entries", trial, level, width, s)
			}
			if s := level.Entries(src[:rng.IntN(len(src))], width, got[:n*size], table, size); s == Overrun {
				t.Fatalf("trial %d, level %d, width %d: %v of a part", trial, level, width, s)
			}
		}
	}
}

func TestHasNaN(t *testing.T) {
	for n := range 70 {
		small, large := make([]float32, n), make([]float64, n)
		ask := func() [2]bool {
			return [2]bool{Best.HasNaN(bytesOf(small), 4), Best.HasNaN(bytesOf(large), 8)}
		}
		for i := range n {
			small[i], large[i] = float32(math.Inf(i%2-1)), math.MaxFloat64
		}
		if ask() != [2]bool{} {
			t.Fatalf("a NaN in %d numbers", n)
		}
		for i := range n {
			small[i], large[i] = float32(math.NaN()), math.NaN()
			if ask() != [2]bool{true, true} {
				t.Fatalf("no NaN at %d of %d", i, n)
			}
			small[i], large[i] = 0, 0
		}
	}
}

func bytesOf[T any](values []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(values))), len(values)*int(unsafe.Sizeof(*new(T))))
}

func TestRunsRefuse(t *testing.T) {
	var table [256]byte
	cases := []struct {
		name  string
		src   []byte
		width int
		size  int
		want  Status
	}{
		{"empty", nil, 4, 16, Short},
		{"header cut", []byte{0x80}, 4, 16, Short},
		{"2^31 repeats", []byte{0xfe, 0xff, 0xff, 0xff, 0x1f, 1}, 4, 16, Overrun},
		{"8 repeats too many", []byte{216, 1, 1}, 4, 16, Overrun},
		{"7 repeats too many", []byte{214, 1, 1}, 4, 16, OK},
		{"endless header", bytes.Repeat([]byte{0xff}, 12), 4, 16, Overrun},
		{"packed beyond the input", []byte{0xff, 0x01, 1, 2}, 8, 256, Short},
		{"repeat outside", []byte{200, 1, 9}, 4, 9, OutOfRange},
		{"packed outside", append([]byte{27}, bytes.Repeat([]byte{0x90}, 60)...), 4, 9, OutOfRange},
		{"no dictionary", []byte{200, 1, 0}, 0, 0, OutOfRange},
	}
	for _, c := range cases {
		for _, level := range levels() {
			if got := level.Runs8(c.src, c.width, make([]byte, 100), &table, c.size); got != c.want {
				t.Errorf("%s, level %d: %v, want %v", c.name, level, got, c.want)
			}
		}
		for _, level := range levels() {
			if got := level.Runs32(c.src, c.width, make([]uint32, 100), uint64(c.size)); got != c.want {
				t.Errorf("%s, 32 bits, level %d: %v, want %v", c.name, level, got, c.want)
			}
			if got := level.Entries(c.src, c.width, make([]byte, 400), make([]byte, 4*c.size), 4); got != c.want {
				t.Errorf("%s, entries, level %d: %v, want %v", c.name, level, got, c.want)
			}
		}
	}
}

func TestNarrow(t *testing.T) {
	for _, n := range []int{0, 1, 15, 16, 17, 100} {
		wide, narrow := make([]byte, 8*n+1)[1:], make([]byte, 4*n+1)[1:] // unaligned
		got, want := make([]byte, n), make([]byte, n)
		for i := range n {
			want[i] = byte(i * 37)
			binary.LittleEndian.PutUint64(wide[8*i:], uint64(want[i]))
			binary.LittleEndian.PutUint32(narrow[4*i:], uint32(want[i]))
		}
		if !Best.Narrow64(wide, got) || !bytes.Equal(got, want) {
			t.Fatalf("64 bits, %d values: %v", n, got)
		}
		clear(got)
		if !Best.Narrow32(narrow, got) || !bytes.Equal(got, want) {
			t.Fatalf("32 bits, %d values: %v", n, got)
		}
		for i := range n {
			wide[8*i+7], narrow[4*i+1] = 128, 1
			if Best.Narrow64(wide, got) || Best.Narrow32(narrow, got) {
				t.Fatalf("value %d of %d is out of range and was accepted", i, n)
			}
			wide[8*i+7], narrow[4*i+1] = 0, 0
		}
	}
}

func TestRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for _, size := range []int{1, 2, 4, 8} {
		const rows, cols = 70, 81
		tile := Tile{make([]byte, cols*(rows*size+3)), rows*size + 3, rows, cols, size}
		for i := range tile.Data {
			tile.Data[i] = byte(rng.Uint32())
		}
		for _, level := range levels() {
			got := make([]byte, rows*(cols*size+5))
			level.Rows(tile, got, cols*size+5)
			for r := range rows {
				for c := range cols {
					if !bytes.Equal(got[r*(cols*size+5)+c*size:][:size], tile.Data[c*(rows*size+3)+r*size:][:size]) {
						t.Fatalf("level %d: row %d, column %d of %d bytes differs", level, r, c, size)
					}
				}
				if !bytes.Equal(got[r*(cols*size+5)+cols*size:][:5], make([]byte, 5)) {
					t.Fatalf("level %d: wrote behind row %d", level, r)
				}
			}
		}
	}
}
