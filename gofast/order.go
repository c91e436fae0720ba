package gofast

// Orders of rows for Go callers. Python brings its own order, from torch's samplers.

import "math/rand/v2"

// Sequential is the order 0, 1, ..., n-1.
func Sequential(n int64) []int64 {
	order := make([]int64, max(n, 0))
	for i := range order {
		order[i] = int64(i)
	}
	return order
}

// Shuffled is a permutation of 0..n-1 that depends on seed and epoch only.
func Shuffled(n int64, seed, epoch uint64) []int64 {
	order := Sequential(n)
	rand.New(rand.NewPCG(seed, epoch)).Shuffle(len(order), func(i, j int) {
		order[i], order[j] = order[j], order[i]
	})
	return order
}
