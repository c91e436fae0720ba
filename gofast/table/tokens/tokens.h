// How a window of tokens becomes a sample: a plain C structure in C memory, as gather.h's.
#ifndef GOFAST_TOKENS_H
#define GOFAST_TOKENS_H

#include <stdint.h>

#include "../../engine/view.h"

// The types that tokens are stored in, in the order of tokens.go.
enum { GF_TOKENS_UINT8, GF_TOKENS_UINT16, GF_TOKENS_UINT32, GF_TOKENS_INT8, GF_TOKENS_INT16, GF_TOKENS_INT32, GF_TOKENS_INT64, GF_TOKENS_TYPES };

// One file. Whoever made the program keeps its tokens mapped.
typedef struct {
    const uint8_t *first; // token 0
    int64_t stride;       // bytes from one window to the next
    int64_t block;        // tokens of a sample
    int64_t size;         // bytes of a token
    int32_t type;         // GF_TOKENS_...
} gf_tokens;

// A gf_fill_fn for views whose parts are gf_tokens: a sample is block tokens as int64, its label those one token later.
int64_t gf_tokens_fill(const gf_view *, const gf_batch *, int64_t from, int64_t to);

#endif
