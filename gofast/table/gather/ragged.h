// Rows of different lengths, such as the ids of texts, as a batch of one width. Row k is values[ends[k]] to
// values[ends[k + 1] - 1].
#ifndef GOFAST_RAGGED_H
#define GOFAST_RAGGED_H

#include <stdint.h>

typedef struct {
    const void *values; // NULL: each is 1
    const int64_t *ends;
    int64_t size; // bytes of a value: 1 without a sign, 4 or 8 with one
    const int64_t *rows;
    int64_t n;
    const int64_t *places; // in out, of each row; NULL: their order
    int64_t width;         // of a row of out; what a longer one has beyond that is left out
    int64_t blank;         // what fills a shorter one
    int64_t left;          // on its left side
    int64_t *out;
} gf_ragged;

void gf_ragged_pad(const gf_ragged *);

#endif
