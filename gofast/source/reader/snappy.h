// A part of a block of Snappy.
#ifndef GOFAST_SNAPPY_H
#define GOFAST_SNAPPY_H

#include <stddef.h>
#include <stdint.h>

// The most bytes that pack so many: by the format's own library, and by any.
static inline size_t gf_snappy_usual(size_t plain) { return 32 + plain + plain / 6; }
static inline size_t gf_snappy_most(size_t plain) { return 32 + 6 * plain; }

// Unpacks `wanted` bytes, from the element at src on. Returns their number, or -1 where the elements are broken, are too few, or
// refer to what stands before src.
int64_t gf_snappy_part(const uint8_t *src, size_t size, uint8_t *dst, size_t wanted);

#endif
