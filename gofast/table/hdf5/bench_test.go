package hdf5

import (
	"math/rand/v2"
	"testing"
)

// The shape and chunks that h5py chooses for 400 pictures.
func BenchmarkPut(b *testing.B) {
	shape, chunk := []int64{400, 224, 224, 3}, []int64{50, 28, 56, 1}
	into, values := make([]byte, 400*224*224*3), make([]byte, 50*28*56)
	for i := range values {
		values[i] = byte(rand.IntN(256))
	}
	axes := axesOf(shape, chunk, 1)
	b.SetBytes(int64(len(values)))
	for i := 0; b.Loop(); i++ {
		put(into, values, axes, []int64{int64(i%8) * 50, int64(i/8%8) * 28, int64(i/64%4) * 56, int64(i % 3)})
	}
}

func BenchmarkUnshuffle(b *testing.B) {
	into, data := make([]byte, 1<<20), make([]byte, 1<<20)
	b.SetBytes(1 << 20)
	for b.Loop() {
		unshuffle(into, data, 4)
	}
}
