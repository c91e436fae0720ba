package jpeg

import (
	"image"
	"math/bits"
	"math/rand/v2"
	"testing"
)

// bitWriter writes entropy-coded data, with a zero behind each 0xff.
type bitWriter struct {
	out  []byte
	bits uint64
	n    int
}

func (w *bitWriter) put(value uint32, n int) {
	w.bits, w.n = w.bits<<n|uint64(value&(1<<n-1)), w.n+n
	for ; w.n >= 8; w.n -= 8 {
		b := byte(w.bits >> (w.n - 8))
		if w.out = append(w.out, b); b == 0xff {
			w.out = append(w.out, 0)
		}
	}
}

func (w *bitWriter) flush() {
	if w.n > 0 {
		w.put(0xff, 8-w.n)
	}
}

// code is a Huffman table.
type code struct {
	symbols []byte
	lengths []int // of the symbols, in order; codes follow each other
}

// newCode has codes of random lengths, up to 16 bits.
func newCode(r *rand.Rand, symbols []byte) code {
	// A random tree: split leaves, then give the deepest to a code that is none.
	leaves := []int{0}
	for len(leaves) <= len(symbols) {
		i := r.IntN(len(leaves))
		if r.IntN(3) == 0 {
			i = len(leaves) - 1
		}
		if leaves[i] == 16 {
			continue
		}
		leaves[i]++
		leaves = append(leaves, leaves[i])
	}
	count := [17]int{}
	longest := 0
	for _, l := range leaves {
		count[l]++
		longest = max(longest, l)
	}
	count[longest]--
	c := code{}
	r.Shuffle(len(symbols), func(i, j int) { symbols[i], symbols[j] = symbols[j], symbols[i] })
	c.symbols = symbols
	for l, n := range count {
		for range n {
			c.lengths = append(c.lengths, l)
		}
	}
	return c
}

func (c code) segment(class, id int) []byte {
	body := make([]byte, 17)
	body[0] = byte(class<<4 | id)
	for _, l := range c.lengths {
		body[l]++
	}
	return segment(0xc4, append(body, c.symbols...)...)
}

func (c code) put(w *bitWriter, i int) {
	value, length := uint32(0), c.lengths[0]
	for k := 0; k < i; k++ {
		value = (value + 1) << (c.lengths[k+1] - length)
		length = c.lengths[k+1]
	}
	w.put(value, length)
}

func (c code) find(symbol byte) int {
	for i, s := range c.symbols {
		if s == symbol {
			return i
		}
	}
	return -1
}

// shaped is a file with any sampling factors, tables, restart intervals and coefficients: more than encoders write.
func shaped(r *rand.Rand) ([]byte, image.Point) {
	components := []int{1, 3, 3, 3, 4}[r.IntN(5)]
	var factors [4][2]int
	for {
		blocks := 0
		for i := range components {
			factors[i] = [2]int{1 + r.IntN(4), 1 + r.IntN(4)}
			if i > 0 && r.IntN(2) == 0 {
				factors[i] = [2]int{1, 1}
			}
			blocks += factors[i][0] * factors[i][1]
		}
		if blocks <= 10 || components == 1 {
			break
		}
	}
	size := image.Pt(1+r.IntN(120), 1+r.IntN(90))
	file := []byte{0xff, 0xd8}
	q := make([]byte, 65)
	for i := range 64 {
		q[i+1] = byte(1 + r.IntN(8))
	}
	file = append(file, segment(0xdb, q...)...)
	frame := []byte{8, byte(size.Y >> 8), byte(size.Y), byte(size.X >> 8), byte(size.X), byte(components)}
	scan := []byte{byte(components)}
	most := [2]int{1, 1}
	var dcs, acs [2]code
	for i := range 2 {
		dc := []byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}[:1+r.IntN(12)]
		var ac []byte
		for run := range 16 {
			for s := 1; s <= 10; s++ {
				if r.IntN(3) > 0 {
					ac = append(ac, byte(run<<4|s))
				}
			}
		}
		r.Shuffle(len(ac), func(i, j int) { ac[i], ac[j] = ac[j], ac[i] })
		ac = append([]byte{0}, ac[:1+r.IntN(len(ac)-1)]...)
		if r.IntN(2) == 0 {
			ac = append(ac, 0xf0)
		}
		dcs[i], acs[i] = newCode(r, dc), newCode(r, ac)
		file = append(file, dcs[i].segment(0, i)...)
		file = append(file, acs[i].segment(1, i)...)
	}
	use := [4][2]int{}
	for i := range components {
		frame = append(frame, byte(i+1), byte(factors[i][0]<<4|factors[i][1]), 0)
		use[i] = [2]int{r.IntN(2), r.IntN(2)}
		scan = append(scan, byte(i+1), byte(use[i][0]<<4|use[i][1]))
		most[0], most[1] = max(most[0], factors[i][0]), max(most[1], factors[i][1])
	}
	file = append(file, segment(0xc0, frame...)...)
	interval := 0
	if r.IntN(2) == 0 {
		interval = 1 + r.IntN(20)
		file = append(file, segment(0xdd, 0, byte(interval))...)
	}
	file = append(file, segment(0xda, append(scan, 0, 63, 0)...)...)
	up := func(n, by int) int { return (n + by - 1) / by }
	mcus := up(size.X, 8*most[0]) * up(size.Y, 8*most[1])
	if components == 1 {
		mcus = up(size.X, 8) * up(size.Y, 8)
		factors[0] = [2]int{1, 1}
	}
	w := &bitWriter{out: file}
	var last [4]int
	extreme := r.IntN(3) == 0
	ending := 1 + r.IntN(30)
	for m := range mcus {
		if interval > 0 && m > 0 && m%interval == 0 {
			w.flush()
			w.out = append(w.out, 0xff, byte(0xd0+(m/interval-1)%8))
			last = [4]int{}
		}
		for i := range components {
			dc, ac := dcs[use[i][0]], acs[use[i][1]]
			for range factors[i][0] * factors[i][1] {
				at := r.IntN(len(dc.symbols))
				s := int(dc.symbols[at])
				v := r.IntN(1 << s)
				diff := v
				if s > 0 && v < 1<<(s-1) {
					diff = v + 1 - 1<<s
				}
				if bits.Len(uint(max(last[i]+diff, -last[i]-diff))) > 15 && !extreme {
					v ^= 1<<s - 1 // towards zero
					diff = -diff
				}
				last[i] += diff
				dc.put(w, at)
				w.put(uint32(v), s)
				for k := 1; k < 64; {
					at := r.IntN(len(ac.symbols))
					if r.IntN(ending) == 0 {
						at = ac.find(0)
					}
					symbol := ac.symbols[at]
					if symbol != 0 && k+int(symbol>>4) > 63 {
						at = ac.find(0)
						symbol = 0
					}
					ac.put(w, at)
					if symbol == 0 {
						break
					}
					w.put(r.Uint32(), int(symbol&15))
					k += int(symbol>>4) + 1
				}
			}
		}
	}
	w.flush()
	return append(w.out, 0xff, 0xd9), size
}

func TestCoefficientsOfAnyShape(t *testing.T) {
	p := newPair(t)
	r := rand.New(rand.NewPCG(21, 22))
	accepted, count := 0, 3000
	for range count {
		file, size := shaped(r)
		if p.agree(t, file, image.Rectangle{}) {
			accepted++
		}
		for range 4 {
			p.agree(t, file, part(r, size))
		}
		bad := damage(r, file)
		if size, err := sizeOf(bad); err == nil && size.X*size.Y <= 1<<20 {
			p.agree(t, bad, part(r, size))
		}
	}
	if accepted < count/2 || exchanged(p.ours) < count {
		t.Errorf("of %d files, %d are accepted, and %d decodes were ours: this tests little", count, accepted, exchanged(p.ours))
	}
}
