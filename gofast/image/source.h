// A picture whose rows are still to come: from a decoder, or from memory.
#ifndef GOFAST_SOURCE_H
#define GOFAST_SOURCE_H

#include "jpeg/jpeg.h"
#include "png/png.h"
#include "webp/webp.h"
#include "image.h"

// What one thread decodes with.
typedef struct {
    gf_jpeg *jpeg;
    gf_png *png;
    gf_webp *webp;
} gf_decoders;

typedef struct {
    gf_jpeg *jpeg;      // rows come from here, unless it is NULL:
    gf_picture picture; // then they are here
    gf_box region;
    int32_t row;        // of the region, that is next
    int32_t width, height;
} gf_source;

enum { GF_SOURCE_ROWS = GF_JPEG_VIEW }; // the most rows of one view

// A file's width and height from its first bytes. 0; GF_JPEG_MORE, with how many bytes are needed in
// fault->offset; or a fault's code.
int32_t gf_source_size(const gf_sample_bytes *, gf_draw_size *size, gf_fault *fault);

// Opens a file that lies in memory. 0, or a fault's code, after which there is nothing to end.
int32_t gf_source_open(gf_source *, gf_decoders *, const gf_sample_bytes *, int64_t max_pixels, gf_fault *fault);

// A picture in memory.
gf_source gf_source_of(gf_picture picture);

// Chooses the part that is wanted.
int32_t gf_source_start(gf_source *, gf_box region, gf_fault *fault);

// The region's next rows, as RGBX; valid until the next call. NULL: see fault.
const uint8_t *gf_source_rows(gf_source *, int32_t rows, int64_t *stride, gf_fault *fault);

// The verdict on the file: 0, or a fault's code.
int32_t gf_source_end(gf_source *, gf_fault *fault);

#endif
