// A stream of 32-bit words and what torch makes of them; shared by torch's generator and the stateless one.
#ifndef GOFAST_DRAW_WORDS_H
#define GOFAST_DRAW_WORDS_H

#include <stdint.h>
#include <string.h>

#include "draw.h"

// No product may be fused into a sum, or the bits would depend on the processor. gcc keeps to that under -std=c11.
#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#endif

enum { GF_MT_WORDS = 624 };

typedef struct gf_words gf_words;
struct gf_words {
    uint32_t out[GF_MT_WORDS]; // words at..end-1 are ready
    int32_t at, end;
    int32_t fused;
    void (*refill)(gf_words *);
    int32_t kept;  // whether a normal number is kept for the next that is drawn,
    double normal; // and which

    // torch's generator
    uint32_t state[GF_MT_WORDS];
    int32_t twisted;               // so often since the mark
    int32_t mark_at, mark_end;
    uint32_t mark[GF_MT_WORDS];    // the state at the mark, if twisted
    int32_t mark_kept;
    double mark_normal;

    // the stateless one
    uint32_t key[2], counter[4];
};

// mt19937.c: the image's words ready to be drawn (0, or 1 where the image is not one), and what is left of them.
int32_t gf_mt_load(gf_words *words, const uint8_t *image);
void gf_mt_store(const gf_words *words, uint8_t *image);
// The same of Python's generator, which is of the same kind: draw.h's GF_PYTHON_WORDS.
int32_t gf_mt_load_python(gf_words *words, const uint32_t *state);
void gf_mt_store_python(const gf_words *words, uint32_t *state);
// Remembers this point of the stream; return to it.
void gf_mt_mark(gf_words *words);
void gf_mt_back(gf_words *words);

// philox.c: the key of an epoch; the start of a sample's stream.
void gf_philox_epoch(gf_words *words, uint64_t seed, uint64_t epoch);
void gf_philox_sample(gf_words *words, int64_t index, int32_t occurrence);

static inline uint32_t gf_next32(gf_words *w) {
    if (w->at == w->end) w->refill(w);
    return w->out[w->at++];
}

// x * y + z with one rounding. The product of two floats is exact in double; the sum is made odd where it is
// inexact, so that rounding it again to float cannot go wrong.
static inline float gf_fused(float x, float y, float z) {
    double product = (double)x * (double)y, addend = z;
    double sum = product + addend;
    double back = sum - product;
    double rest = (product - (sum - back)) + (addend - back);
    uint64_t bits;
    memcpy(&bits, &sum, 8);
    if (rest != 0 && !(bits & 1)) {
        bits += (rest > 0) == (sum > 0) ? 1 : -1;
        memcpy(&sum, &bits, 8);
    }
    return (float)sum;
}

// torch.empty(1).uniform_(from, to), in float32.
static inline float gf_uniform(gf_words *w, float from, float to) {
    float x = (float)(gf_next32(w) & 0xFFFFFF) * 0x1p-24f;
    return w->fused ? gf_fused(x, to - from, from) : x * (to - from) + from;
}

// torch.rand(1).
static inline float gf_rand(gf_words *w) { return (float)(gf_next32(w) & 0xFFFFFF) * 0x1p-24f; }

// at::uniform_real_distribution<double>(0, 1).
static inline double gf_rand_double(gf_words *w) {
    uint64_t word = gf_next32(w);
    word = word << 32 | gf_next32(w);
    return (double)(word & ((1ULL << 53) - 1)) * 0x1p-53;
}

// torch.randint(0, range, (1,)), int64. The second word is drawn from 2^28 on (torch 2.15).
static inline int64_t gf_below(gf_words *w, uint64_t range) {
    uint64_t word = gf_next32(w);
    if (range >= (uint64_t)1 << 28) word = word << 32 | gf_next32(w);
    return (int64_t)(word % range);
}

// Python's random.random().
static inline double gf_python_random(gf_words *w) {
    uint32_t high = gf_next32(w) >> 5, low = gf_next32(w) >> 6;
    return (high * 67108864.0 + low) * 0x1p-53;
}

// Python's random.shuffle of 0..n-1.
static inline void gf_python_shuffle(gf_words *w, int32_t *order, int32_t n) {
    for (int32_t i = 0; i < n; i++) order[i] = i;
    for (int32_t i = n - 1; i > 0; i--) {
        int unused = __builtin_clz((uint32_t)i + 1);
        uint32_t z;
        do z = gf_next32(w) >> unused;
        while (z > (uint32_t)i);
        int32_t swapped = order[i];
        order[i] = order[z];
        order[z] = swapped;
    }
}

// torch.randperm(n), for n well below 2^32 / 20.
static inline void gf_permutation(gf_words *w, int32_t *order, int32_t n) {
    for (int32_t i = 0; i < n; i++) order[i] = i;
    for (int32_t i = 0; i + 1 < n; i++) {
        int32_t z = i + (int32_t)(gf_next32(w) % (uint32_t)(n - i));
        int32_t swapped = order[i];
        order[i] = order[z];
        order[z] = swapped;
    }
}

// gamma.c: torch._sample_dirichlet of n equal parameters above 0, at most GF_MOST_DIRICHLET: torch sums more in another order.
enum { GF_MOST_DIRICHLET = 3 };
void gf_dirichlet(gf_words *w, float alpha, int n, float *out);

// box.c: e^x for |x| <= 80, to about 1 in 2^51, with the same bits on every machine (libm's differ).
double gf_exponential(double x);

// What torch's exp gives.
typedef struct {
    int32_t exact;                  // nobody need be asked: what is computed here is the reference
    const gf_draw_answers *answers; // or NULL
} gf_draw_exp;

#endif
