// How the bytes of samples are got: ranges of numbered objects of one kind, files or pieces of memory. A program of samples
// holds one. Built by Go in C memory, then only read: by the engine's threads, and by forked worker processes, where no Go
// is alive.
#ifndef GOFAST_READER_H
#define GOFAST_READER_H

#include "../../internal/fault/fault.h"
#include "bytes.h"
#include "extent.h"
#include "pixels.h"

// The bytes of one sample.
typedef struct {
    const uint8_t *data; // in the memory that was lent, or in the reader's own: valid until that is lent again
    size_t size;
    size_t length; // of the whole sample
    uint32_t comes_again; // 1: for certain, since it is one of a dataset that has epochs
    uint32_t indices;     // 1: of a picture with a palette, its numbers instead of the colours
} gf_sample_bytes;

typedef struct gf_reader gf_reader;

// Each kind has its own structure, which begins with this, and a function in a file of its own that makes it.
struct gf_reader {
    // Gets a sample, or its first `most` bytes. memory is lent for what does not lie in memory yet. 0, or the code of fault.
    int32_t (*read)(const gf_reader *, const gf_extent *, int64_t most, gf_bytes *memory, gf_sample_bytes *, gf_fault *);
    // Begins to fetch a sample that will be read soon, and does not wait for it. What goes wrong is for the read to say.
    // NULL: there is nothing to fetch.
    void (*hint)(const gf_reader *, const gf_extent *);
    // The stamp of a sample's object as it is now; zeros where that cannot change. 0 where there is none, or the read would
    // refuse it.
    int (*stamp)(const gf_reader *, const gf_extent *, gf_stamp *);
    void (*free)(gf_reader *);
    size_t most; // samples with more bytes are GF_FAULT_UNSUPPORTED
};

// Finds the length of a sample in an object of so many bytes; refuses one that is not in it, or too long. 0, or the code of
// fault.
static inline int32_t gf_reader_length(const gf_reader *r, const gf_extent *e, int64_t size, size_t *length, gf_fault *fault) {
    int64_t left = e->offset < 0 ? -1 : size - e->offset, wanted = e->length < 0 ? left : e->length;
    if (left < 0 || wanted > left)
        return gf_fault_set(fault, GF_FAULT_READ, -1, "%lld bytes from %lld on are not in %lld", (long long)wanted, (long long)e->offset, (long long)size);
    *length = (size_t)wanted;
    if (*length <= r->most) return GF_FAULT_NONE;
    return gf_fault_set(fault, GF_FAULT_UNSUPPORTED, -1, "%zu bytes are more than the limit of %zu", *length, r->most);
}

// How many of a picture's bytes are read for the first `most` of its file.
static inline size_t gf_reader_pixels(size_t length, int64_t most) {
    return (uint64_t)most < length && length - (size_t)most > GF_PIXELS_HEAD ? (size_t)most + GF_PIXELS_HEAD : length;
}

// Makes the file of so many of a picture's bytes, in front of which there is room.
static inline int32_t gf_reader_pixels_file(uint8_t *stored, size_t n, size_t length, int64_t most, gf_sample_bytes *out, gf_fault *fault) {
    ptrdiff_t longer;
    const uint8_t *file = gf_pixels_file(stored, n, &longer);
    if (!file) return gf_fault_set(fault, GF_FAULT_READ, -1, "no picture of Pillow's begins there");
    size_t size = n + longer;
    *out = (gf_sample_bytes){.data = file, .size = (uint64_t)most < size ? (size_t)most : size, .length = length + longer};
    return GF_FAULT_NONE;
}

#endif
