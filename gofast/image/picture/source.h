// A picture whose rows are still to come: from a decoder, or from memory.
#ifndef GOFAST_SOURCE_H
#define GOFAST_SOURCE_H

#include "format.h"

typedef struct {
    const gf_picture_format *format; // rows come from here, unless it is NULL:
    void *state;
    gf_picture picture; // then they are here
    gf_box region;
    int32_t row; // of the region, that is next
} gf_source;

// Opens a file that lies in memory. 0, or a fault's code, after which there is nothing to end.
int32_t gf_source_open(gf_source *, const gf_picture_format *, void *state, const uint8_t *data, size_t n, int64_t max_pixels, gf_fault *);

// A picture in memory.
gf_source gf_source_of(gf_picture picture);

// Chooses the part that is wanted.
int32_t gf_source_start(gf_source *, gf_box region, gf_fault *fault);

// The region's next rows, at most GF_FORMAT_ROWS, as RGBX; valid until the next call. NULL: see fault.
const uint8_t *gf_source_rows(gf_source *, int32_t rows, int64_t *stride, gf_fault *fault);

// The verdict on the file: 0, or a fault's code.
int32_t gf_source_end(gf_source *, gf_fault *fault);

// Starts, and puts all rows of a region at the caller's memory.
int32_t gf_source_read(gf_source *, gf_box region, uint8_t *at, int64_t stride, gf_fault *fault);

#endif
