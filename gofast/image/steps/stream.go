package steps

import (
	"encoding/binary"
	"math"

	"github.com/gofast-org/gofast/gofast/image/pixel"
)

// stream is the Go twin of gf_words: 32-bit words, and what torch makes of them.
type stream struct {
	next32 func() uint32
	fused  bool
	kept   *float64 // the normal number that comes next
}

// toFloat is torch's float32 of a word, in [0, 1).
func toFloat(word uint32) float32 { return float32(word&0xFFFFFF) * 0x1p-24 }

func (s *stream) rand() float32 { return toFloat(s.next32()) }

func (s *stream) uniform(from, to float64) float32 {
	x, low, width := s.rand(), float32(from), float32(to)-float32(from)
	if s.fused {
		return pixel.Fused(x, width, low)
	}
	return float32(x*width) + low
}

func (s *stream) below(limit int64) int32 {
	word := uint64(s.next32())
	if limit >= 1<<28 {
		word = word<<32 | uint64(s.next32())
	}
	return int32(word % uint64(limit))
}

// The places of a state image; see draw.h.
const (
	imageLeft   = 8
	imageSeeded = 12
	imageNext   = 16
	imageWords  = 24
	imageNormal = 5024
	imageKept   = 5040
	mtWords     = 624
)

var le = binary.LittleEndian

// mersenne is torch's generator, word by word as its own engine does it.
type mersenne struct {
	left, next int
	words      [mtWords]uint32
	kept       *float64
}

func loadMersenne(image *[StateBytes]byte) (mersenne, bool) {
	left, next := int64(int32(le.Uint32(image[imageLeft:]))), le.Uint64(image[imageNext:])
	m := mersenne{left: int(left), next: int(min(next, mtWords+1))}
	for i := range m.words {
		m.words[i] = uint32(le.Uint64(image[imageWords+8*i:]))
	}
	if le.Uint32(image[imageKept:]) != 0 {
		kept := math.Float64frombits(le.Uint64(image[imageNormal:]))
		m.kept = &kept
	}
	seeded := le.Uint32(image[imageSeeded:]) == 1
	return m, seeded && left >= 1 && left <= mtWords+1 && next <= mtWords && int64(next)+left <= mtWords+1
}

func (m *mersenne) store(image *[StateBytes]byte) {
	le.PutUint32(image[imageLeft:], uint32(m.left))
	le.PutUint64(image[imageNext:], uint64(m.next))
	for i, word := range m.words {
		le.PutUint64(image[imageWords+8*i:], uint64(word))
	}
	normal, kept := uint64(0), uint32(0)
	if m.kept != nil {
		normal, kept = math.Float64bits(*m.kept), 1
	}
	le.PutUint64(image[imageNormal:], normal)
	le.PutUint32(image[imageKept:], kept)
}

// loadPython is the same engine, as Python keeps it.
func loadPython(state *[PythonWords]uint32) (mersenne, bool) {
	if state == nil || state[mtWords] > mtWords {
		return mersenne{}, false
	}
	next := int(state[mtWords])
	return mersenne{left: mtWords + 1 - next, next: next, words: [mtWords]uint32(state[:])}, true
}

func (m *mersenne) storePython(state *[PythonWords]uint32) {
	copy(state[:], m.words[:])
	state[mtWords] = uint32(m.next)
}

func (m *mersenne) next32() uint32 {
	m.left--
	if m.left == 0 {
		m.twist()
	}
	y := m.words[m.next]
	m.next++
	y ^= y >> 11
	y ^= y << 7 & 0x9d2c5680
	y ^= y << 15 & 0xefc60000
	return y ^ y>>18
}

func (m *mersenne) twist() {
	for i := range m.words {
		mixed := m.words[i]&0x80000000 | m.words[(i+1)%mtWords]&0x7fffffff
		word := m.words[(i+397)%mtWords] ^ mixed>>1
		if mixed&1 != 0 {
			word ^= 0x9908b0df
		}
		m.words[i] = word
	}
	m.left, m.next = mtWords, 0
}

func seedTwin(image *[StateBytes]byte, seed uint64) {
	m := mersenne{left: 1}
	m.words[0] = uint32(seed)
	for i := 1; i < mtWords; i++ {
		m.words[i] = 1812433253*(m.words[i-1]^m.words[i-1]>>30) + uint32(i)
	}
	le.PutUint64(image[:], seed)
	le.PutUint32(image[imageSeeded:], 1)
	m.store(image)
}

// philox is Philox4x32-10; see philox.c.
func philox(counter [4]uint32, key [2]uint32) [4]uint32 {
	for range 10 {
		left, right := 0xD2511F53*uint64(counter[0]), 0xCD9E8D57*uint64(counter[2])
		counter = [4]uint32{
			uint32(right>>32) ^ counter[1] ^ key[0], uint32(right),
			uint32(left>>32) ^ counter[3] ^ key[1], uint32(left),
		}
		key[0] += 0x9E3779B9
		key[1] += 0xBB67AE85
	}
	return counter
}

func halves(v uint64) (low, high uint32) { return uint32(v), uint32(v >> 32) }

// sampleStream is a sample's own stream.
func sampleStream(seed, epoch uint64, s Sample) *stream {
	var key [2]uint32
	key[0], key[1] = halves(seed)
	var counter [4]uint32
	counter[0], counter[1] = halves(epoch)
	out := philox(counter, key)
	key = [2]uint32{out[0], out[1]}

	counter = [4]uint32{0, uint32(s.Occurrence)}
	counter[2], counter[3] = halves(uint64(s.Index))
	at := 4
	return &stream{next32: func() uint32 {
		if at == 4 {
			out, at = philox(counter, key), 0
			counter[0]++
		}
		at++
		return out[at-1]
	}}
}
