// Files of pictures and the plan that makes samples of them. Built by Go in C memory, then only read: by the
// engine's threads, and by forked worker processes, where no Go is alive.
#ifndef GOFAST_IMAGE_H
#define GOFAST_IMAGE_H

#include <stdint.h>

#include "picture/picture.h"
#include "pixel/pixel.h"
#include "resample/resample.h"
#include "steps/canvas.h"
#include "steps/draw.h"
#include "../engine/view.h"
#include "../source/reader/reader.h"

// What a sample is.
enum {
    GF_IMAGE_TENSOR,  // height x width values in `channels` planes, or interleaved
    GF_IMAGE_PICTURE, // a gf_made_picture: of any size, for Python to go on with
};

// A finished picture in memory of its own, RGBX; free() it. data is NULL where there is none.
typedef struct {
    uint8_t *data;
    int32_t width, height;
    int32_t info; // GF_INFO_..., several: canvas.h
} gf_made_picture;

typedef struct gf_image_program gf_image_program;
struct gf_image_program {
    const gf_pixel_ops *pixels;
    const gf_steps *steps;
    int32_t output; // GF_IMAGE_...
    int32_t width, height, channels, channels_last; // of a tensor
    const gf_normalise *normalise;
    int32_t pass_order;      // resample.h's
    int64_t max_pixels;      // more are left to Pillow, which warns or refuses
    // The samples. The reader is the program's own; its arrays, targets and sizes outlive the program.
    int64_t count;
    gf_reader *reader;
    const int32_t *targets; // or NULL
    gf_draw_size *sizes;    // of each picture, 8-byte aligned; 0 x 0 while unknown. Shared between processes
};

// A gf_fill_fn: makes samples.
int64_t gf_image_fill(const gf_view *, const gf_batch *, int64_t from, int64_t to);

// The view's hint for that: the sample's bytes begin their way into memory.
void gf_image_hint(const gf_view *, int64_t index);

// A gf_fill_fn whose samples are gf_draw_size: reads headers as far as sizes are not known.
int64_t gf_image_probe(const gf_view *, const gf_batch *, int64_t from, int64_t to);

// The view's hint for that: the whole file, since it is made next; nothing where the size is known.
void gf_image_probe_hint(const gf_view *, int64_t index);

// The size of a sample's picture, from its header where it is not known yet. Returns GF_FAULT_... .
int32_t gf_image_size(const gf_image_program *, int64_t sample, gf_draw_size *, gf_fault *);

// Makes a sample of a picture that somebody else has decoded, at x. Returns GF_FAULT_... .
int32_t gf_image_from_picture(const gf_image_program *, gf_picture, const int32_t *record, uint8_t *x, gf_fault *);

#endif
