// Pictures that are made lazy: a caller holds a file's bytes, or pixels, and what was recorded meanwhile. The pixels are those
// of all of the file, or what the certain part of a plan made of it: Plan.Split's rest goes on from them.
// Plain C: a forked worker makes them too.
#ifndef GOFAST_LATE_H
#define GOFAST_LATE_H

#include "image.h"
#include "steps/recorded.h"

// The caller owns all of it.
typedef struct {
    const uint8_t *data; // a file, or RGBX rows with GF_FORMAT_SLACK readable bytes behind them; none: the file of a program that keeps records
    size_t size;
    int32_t width, height; // of the rows; 0 of a file
    const gf_recorded *recorded;
    int64_t n;
    int32_t info;   // GF_INFO_..., what was done to the rows already
    gf_size sample; // of a tensor of any size; else 0 x 0
} gf_lazy;

// Makes a sample of a program: the record's steps come behind what was recorded. Returns GF_FAULT_... .
int32_t gf_lazy_sample(const gf_image_program *, const gf_lazy *, const int32_t *record, uint8_t *x, gf_fault *);

// The same within a fill, whose time is measured already.
int32_t gf_lazy_fill(const gf_image_program *, const gf_lazy *, const int32_t *record, uint8_t *x, gf_fault *);

// A program of pixels, of this size or of each one's own: what gf_lazy_pixels runs.
void gf_lazy_of_pixels(gf_image_program *, int32_t pass_order, int64_t max_pixels, int32_t width, int32_t height, int32_t channels);

// Makes its pixels at x: width x height, which they must come to, of 4 bytes (RGBX), 3 (RGB) or 1 (the first channel).
int32_t gf_lazy_pixels(const gf_lazy *, int32_t pass_order, int64_t max_pixels, int32_t width, int32_t height, int32_t channels, uint8_t *x, gf_fault *);

// Whether a decoder makes a picture of a JPEG, however damaged: one of one scan, which begins there, and whose headers are
// right. All that stands before the marker of its end is bits and restarts, and these make no decoder fail.
int gf_lazy_is_certain(const uint8_t *data, size_t size, size_t scan, int64_t max_pixels);

#endif
