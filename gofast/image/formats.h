// The formats of pictures: a file's is told by its content, as Pillow tells it.
#ifndef GOFAST_FORMATS_H
#define GOFAST_FORMATS_H

#include "image.h"
#include "picture/opened.h"

enum { GF_MOST_FORMATS = 16 };

// In formats.go; NULL behind the last one.
extern const gf_picture_format *const gf_formats[GF_MOST_FORMATS];

// What one thread decodes with: a state for each format that it has met.
typedef struct {
    void *state[GF_MOST_FORMATS];
    void *coefficients; // gf_coefficients_format's
} gf_decoders;

// A picture's width and height from its file's first bytes. 0; GF_FORMAT_MORE, with how many bytes are needed in
// fault->offset; or a fault's code.
int32_t gf_formats_size(const gf_sample_bytes *, gf_size *size, gf_fault *fault);

// Opens a file that lies in memory. 0, or a fault's code, after which there is nothing to end.
int32_t gf_formats_open(gf_opened *, gf_decoders *, const gf_sample_bytes *, int64_t max_pixels, gf_fault *fault);

// The same of a record (keep.h), which may be one of coefficients too. No file may.
int32_t gf_formats_open_record(gf_opened *, gf_decoders *, const gf_sample_bytes *, gf_fault *fault);

// Whether a JPEG in memory, whose scan ends cleanly, has headers of which its decoder certainly makes a picture.
int gf_formats_starts(gf_decoders *, const gf_sample_bytes *, int64_t max_pixels);

// Bytes that are kept for the next picture.
size_t gf_decoders_held(const gf_decoders *);

void gf_decoders_free(gf_decoders *);

#endif
