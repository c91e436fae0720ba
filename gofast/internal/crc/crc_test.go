package crc

import (
	"context"
	"errors"
	"hash/crc32"
	"math/rand/v2"
	"testing"
)

func noise(n int) []byte {
	b := make([]byte, n)
	random := rand.New(rand.NewPCG(1, 2))
	for i := range b {
		b[i] = byte(random.Uint32())
	}
	return b
}

func TestCombine(t *testing.T) {
	data := noise(5000)
	want := crc32.ChecksumIEEE(data)
	for _, cut := range []int{0, 1, 7, 8, 4095, 4999, 5000} {
		a, b := crc32.ChecksumIEEE(data[:cut]), crc32.ChecksumIEEE(data[cut:])
		if got := Combine(a, b, int64(len(data)-cut)); got != want {
			t.Errorf("cut %d: %x, want %x", cut, got, want)
		}
	}
}

func TestParallel(t *testing.T) {
	for _, n := range []int{0, 1, block, block + 1, 3*block - 5} {
		data := noise(n)
		got, err := Parallel(context.Background(), 3, int64(n), func(from, to int64) ([]byte, error) { return data[from:to], nil })
		if err != nil || got != crc32.ChecksumIEEE(data) {
			t.Errorf("%d bytes: %v, %v; want %v", n, got, err, crc32.ChecksumIEEE(data))
		}
	}
	broken := errors.New("broken")
	if _, err := Parallel(context.Background(), 2, 10, func(int64, int64) ([]byte, error) { return nil, broken }); !errors.Is(err, broken) {
		t.Errorf("the error of a piece was lost: %v", err)
	}
}
