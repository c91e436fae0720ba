// A picture that is open, and whose rows are still to come: from a decoder, or from memory.
#ifndef GOFAST_OPENED_H
#define GOFAST_OPENED_H

#include "format.h"

typedef struct {
    const gf_picture_format *format; // rows come from here, unless it is NULL:
    void *state;
    gf_picture picture; // then they are here
    gf_box region;
    int32_t row; // of the region, that is next
} gf_opened;

// Opens a file that lies in memory. 0, or a fault's code, after which there is nothing to end.
int32_t gf_picture_open(gf_opened *, const gf_picture_format *, void *state, const gf_sample_bytes *file, int64_t max_pixels, gf_fault *);

// A picture in memory.
gf_opened gf_opened_of(gf_picture picture);

// Chooses the part that is wanted.
int32_t gf_opened_start(gf_opened *, gf_box region, gf_fault *fault);

// The region's next rows, at most GF_FORMAT_ROWS, as RGBX; valid until the next call. NULL: see fault.
const uint8_t *gf_opened_rows(gf_opened *, int32_t rows, int64_t *stride, gf_fault *fault);

// Leaves out the region's next rows. 0 where that would save nothing: then it has not.
int gf_opened_skip(gf_opened *, int32_t rows);

// The verdict on the file: 0, or a fault's code.
int32_t gf_opened_end(gf_opened *, gf_fault *fault);

// Starts, and puts all rows of a region at the caller's memory.
int32_t gf_opened_read(gf_opened *, gf_box region, uint8_t *at, int64_t stride, gf_fault *fault);

#endif
