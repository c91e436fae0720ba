// A permutation that needs no memory, and gives what stands at any place at once: the order of gofast.Sampler.
#ifndef GOFAST_PERMUTE_H
#define GOFAST_PERMUTE_H

#include <stdint.h>

enum { GF_ROUNDS = 8 };

// Replaces places of 0..n-1 by what the permutation of the key has there; 1 < n < 2^62.
void gf_permute(int64_t *places, int64_t count, int64_t n, const uint64_t key[GF_ROUNDS]);

#endif
