// Memory that grows and is used again.
#ifndef GOFAST_BYTES_H
#define GOFAST_BYTES_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

enum { GF_BYTES_SLACK = 64 }; // that may be read behind what was asked for

typedef struct {
    uint8_t *data;
    size_t room;
} gf_bytes;

// Makes room for at least so many bytes, and the slack; 0 when memory is short. What was there is not kept, and steps of
// a half again keep an ever larger file from reallocating each time.
static inline int gf_bytes_reserve(gf_bytes *b, size_t size) {
    if (size + GF_BYTES_SLACK <= b->room) return 1;
    size_t room = size + size / 2 + GF_BYTES_SLACK;
    free(b->data);
    b->data = aligned_alloc(64, (room + 63) / 64 * 64);
    b->room = b->data ? room : 0;
    return b->data != NULL;
}

#endif
