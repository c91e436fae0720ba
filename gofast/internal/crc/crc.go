// Package crc computes CRC-32 checksums in parallel. It combines the checksums of blocks.
package crc

import (
	"context"
	"hash/crc32"
	"runtime/debug"

	"github.com/gofast-org/gofast/gofast/internal/pool"
)

// The polynomials, reversed as in hash/crc32.
const (
	IEEE       = crc32.IEEE       // the checksum in zip files
	Castagnoli = crc32.Castagnoli // an independent second opinion
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Combine is the checksum of A followed by B, from the checksums of both and
// the length of B: a is multiplied by x^(8*lenB) modulo the polynomial.
func Combine(poly, a, b uint32, lenB int64) uint32 {
	power := uint32(1) << 23 // x^8, bits reversed
	factor := uint32(1) << 31
	for n := lenB; n > 0; n >>= 1 {
		if n&1 != 0 {
			factor = multiply(poly, factor, power)
		}
		power = multiply(poly, power, power)
	}
	return multiply(poly, factor, a) ^ b
}

// multiply multiplies two polynomials with reversed bits modulo poly.
func multiply(poly, a, b uint32) uint32 {
	var product uint32
	for bit := uint32(1) << 31; bit != 0; bit >>= 1 {
		if a&bit != 0 {
			product ^= b
		}
		if b&1 != 0 {
			b = b>>1 ^ poly
		} else {
			b >>= 1
		}
	}
	return product
}

// Pair is both checksums of the same bytes: together 64 bits.
type Pair struct{ IEEE, Castagnoli uint32 }

// Of is the Pair of one piece.
func Of(data []byte) Pair {
	return Pair{crc32.ChecksumIEEE(data), crc32.Checksum(data, castagnoli)}
}

// Append is the Pair of p's bytes followed by n bytes with the pair next.
func (p Pair) Append(next Pair, n int64) Pair {
	return Pair{Combine(IEEE, p.IEEE, next.IEEE, n), Combine(Castagnoli, p.Castagnoli, next.Castagnoli, n)}
}

// Masked is the Castagnoli checksum as TFRecord files have it.
func Masked(data []byte) uint32 {
	c := crc32.Checksum(data, castagnoli)
	return (c>>15 | c<<17) + 0xa282ead8
}

// block stays in the second-level cache between the two checksums.
const block = 1 << 20

// Parallel is the Pair of size bytes, computed on up to threads goroutines. piece
// returns the bytes from:to.
func Parallel(ctx context.Context, threads int, size int64, piece func(from, to int64) ([]byte, error)) (Pair, error) {
	pairs := make([]Pair, (size+block-1)/block)
	length := func(i int) int64 { return min(block, size-int64(i)*block) }
	err := pool.Each(ctx, threads, len(pairs), func(_ context.Context, i int) error {
		defer debug.SetPanicOnFault(debug.SetPanicOnFault(true)) // of a mapped file that somebody cuts
		from := int64(i) * block
		data, err := piece(from, from+length(i))
		if err == nil {
			pairs[i] = Of(data)
		}
		return err
	})
	var all Pair
	for i, p := range pairs {
		all = all.Append(p, length(i))
	}
	return all, err
}
