#include "permute.h"

// A Feistel network over the next power of two, walked along its cycle until a number is below n (Black and Rogaway,
// "Ciphers with arbitrary finite domains", 2002). That takes 1 to 2 steps on average. An odd number of bits makes halves
// that differ by one. Four rounds fail statistics of small n, and eight do not: facts of 100,000 keys, 2026-11.

// The upper half of a product depends on all bits of its factors; the second one mixes the first one's halves.
static inline uint64_t mix(uint64_t half, uint64_t key) {
    uint64_t mixed = (half + key) * 0x9E3779B97F4A7C15;
    mixed ^= mixed >> 32;
    return mixed * 0xD6E8FEB86659FD93 >> 32;
}

void gf_permute(int64_t *places, int64_t count, int64_t n, const uint64_t key[GF_ROUNDS]) {
    unsigned bits = 64 - (unsigned)__builtin_clzll((uint64_t)n - 1), low = bits / 2;
    uint64_t low_bits = ((uint64_t)1 << low) - 1, high_bits = ((uint64_t)1 << (bits - low)) - 1;
    for (int64_t i = 0; i < count; i++) {
        uint64_t value = (uint64_t)places[i];
        do {
            uint64_t right = value & low_bits, left = value >> low;
            for (int round = 0; round < GF_ROUNDS; round += 2) {
                left ^= mix(right, key[round]) & high_bits;
                right ^= mix(left, key[round + 1]) & low_bits;
            }
            value = left << low | right;
        } while (value >= (uint64_t)n);
        places[i] = (int64_t)value;
    }
}
