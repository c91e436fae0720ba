package npy

import (
	"math/bits"

	"github.com/gofast-org/gofast/gofast/table"
)

// swapBytes reverses every value of size bytes.
func swapBytes(b []byte, size int) {
	switch size {
	case 2:
		for i, v := range table.View[uint16](b) {
			table.View[uint16](b)[i] = bits.ReverseBytes16(v)
		}
	case 4:
		for i, v := range table.View[uint32](b) {
			table.View[uint32](b)[i] = bits.ReverseBytes32(v)
		}
	case 8:
		for i, v := range table.View[uint64](b) {
			table.View[uint64](b)[i] = bits.ReverseBytes64(v)
		}
	}
}

// firstNaN is the index of the first NaN among floats, or -1. The common case,
// none, is decided on whole words.
func firstNaN(b []byte, t table.Type) int {
	if t == table.Float32 {
		if !anyNaN32(b) {
			return -1
		}
		for i, v := range table.View[float32](b) {
			if v != v {
				return i
			}
		}
		return -1
	}
	for i, v := range table.View[uint64](b) {
		if v&(1<<63-1) > 0x7ff<<52 {
			return i
		}
	}
	return -1
}

// anyNaN32 looks at two floats at once. Without its sign a NaN is more than
// 0x7f800000, so adding 0x007fffff carries into bit 31 and no further.
func anyNaN32(b []byte) bool {
	const clear, add, carry = 0x7fffffff_7fffffff, 0x007fffff_007fffff, 0x80000000_80000000
	words := table.View[uint64](b)
	var seen uint64
	for len(words) >= 4 {
		w := words[:4:4]
		seen |= (w[0]&clear + add) | (w[1]&clear + add) | (w[2]&clear + add) | (w[3]&clear + add)
		words = words[4:]
	}
	for _, w := range words {
		seen |= w&clear + add
	}
	if odd := len(b) % 8; odd != 0 {
		seen |= uint64(table.View[uint32](b[len(b)-odd:])[0])&clear + add
	}
	return seen&carry != 0
}

// notBoolean is the index of the first byte above 1, or -1.
func notBoolean(b []byte) int {
	var seen uint64
	words := table.View[uint64](b)
	for _, w := range words {
		seen |= w
	}
	rest := b[len(words)*8:]
	for _, v := range rest {
		seen |= uint64(v)
	}
	if seen&^0x0101010101010101 == 0 {
		return -1
	}
	for i, v := range b {
		if v > 1 {
			return i
		}
	}
	return -1
}
