// Package crc computes CRC-32 checksums in parallel. It combines the checksums of blocks.
package crc

import (
	"context"
	"hash/crc32"

	"github.com/gofast-org/gofast/gofast/internal/pool"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Combine is the checksum (that of zip files) of A followed by B, from the checksums of both and
// the length of B: a is multiplied by x^(8*lenB) modulo the polynomial.
func Combine(a, b uint32, lenB int64) uint32 {
	power := uint32(1) << 23 // x^8, bits reversed
	factor := uint32(1) << 31
	for n := lenB; n > 0; n >>= 1 {
		if n&1 != 0 {
			factor = multiply(factor, power)
		}
		power = multiply(power, power)
	}
	return multiply(factor, a) ^ b
}

// multiply multiplies two polynomials with reversed bits modulo poly.
func multiply(a, b uint32) uint32 {
	var product uint32
	for bit := uint32(1) << 31; bit != 0; bit >>= 1 {
		if a&bit != 0 {
			product ^= b
		}
		if b&1 != 0 {
			b = b>>1 ^ crc32.IEEE
		} else {
			b >>= 1
		}
	}
	return product
}

// Masked is the Castagnoli checksum as TFRecord files have it.
func Masked(data []byte) uint32 {
	c := crc32.Checksum(data, castagnoli)
	return (c>>15 | c<<17) + 0xa282ead8
}

const block = 1 << 20

// Parallel is the checksum of size bytes, computed on up to threads goroutines. piece
// returns the bytes from:to.
func Parallel(ctx context.Context, threads int, size int64, piece func(from, to int64) ([]byte, error)) (uint32, error) {
	sums := make([]uint32, (size+block-1)/block)
	length := func(i int) int64 { return min(block, size-int64(i)*block) }
	err := pool.Each(ctx, threads, len(sums), func(_ context.Context, i int) error {
		from := int64(i) * block
		data, err := piece(from, from+length(i))
		if err == nil {
			sums[i] = crc32.ChecksumIEEE(data)
		}
		return err
	})
	var all uint32
	for i, s := range sums {
		all = Combine(all, s, length(i))
	}
	return all, err
}
