// Files of pictures and the plan that makes samples of them. Built by Go in C memory, then only read: by the
// engine's threads, and by forked worker processes, where no Go is alive.
#ifndef GOFAST_IMAGE_H
#define GOFAST_IMAGE_H

#include <stdint.h>

#include "draw/draw.h"
#include "picture/picture.h"
#include "pixel/pixel.h"
#include "resample/resample.h"
#include "../engine/view.h"

// What a step does to the picture. Those that draw or change its size are in draw.h too.
enum {
    GF_OP_RESIZE = 1,
    GF_OP_CENTER_CROP,
    GF_OP_PAD,
    GF_OP_RANDOM_CROP,
    GF_OP_RANDOM_RESIZED_CROP,
    GF_OP_HFLIP,
    GF_OP_VFLIP,
    GF_OP_GRAYSCALE,
    GF_OP_RANDOM_GRAYSCALE,
    GF_OP_COLOR_JITTER,
    GF_OP_RANDOM_ERASING,
    GF_OP_RANDOM_APPLY,
};

// In a plan. Colour factors within this keep sums of bytes exact in a float, and in an int.
enum { GF_MOST_ERASURES = 8, GF_MOST_FACTOR = 1000000 };

// One step; draws[i] of the plan says what is drawn for it.
typedef struct {
    int32_t op;
    int32_t filter;   // resize, random_resized_crop: resample.h's
    int32_t mode;     // pad, random_crop: pixel.h's
    int32_t channels; // grayscale
    uint8_t fill[4];  // pad, random_crop, center_crop: RGBX
    float value[3];   // random_erasing: as it stands in the finished sample
} gf_image_step;

// What a sample is.
enum {
    GF_IMAGE_TENSOR,  // height x width values in `channels` planes, or interleaved
    GF_IMAGE_PICTURE, // a gf_made_picture: of any size, for Python to go on with
};

// What torchvision's steps would have done to what a PIL image says beside pixels, its info.
enum {
    GF_INFO_PADDED = 1, // Pillow has expanded it
    GF_INFO_GREYED = 2, // Pillow has converted it to grey and back
    GF_INFO_LOST = 4,   // pixels alone were taken over
};

// A finished picture in memory of its own, RGBX; free() it. data is NULL where there is none.
typedef struct {
    uint8_t *data;
    int32_t width, height;
    int32_t info; // GF_INFO_..., several
} gf_made_picture;

typedef struct gf_image_program gf_image_program;
struct gf_image_program {
    const gf_pixel_ops *pixels;
    const gf_draw_step *draws;
    const gf_image_step *steps;
    int32_t n_steps, record_words;
    int32_t output; // GF_IMAGE_...
    int32_t width, height, channels, channels_last; // of a tensor
    const gf_normalise *normalise;
    int32_t pass_order;      // resample.h's
    int64_t max_pixels;      // more are left to Pillow, which warns or refuses
    int64_t max_file_bytes;
    // The files. They and the sizes outlive the program.
    int64_t count;
    const char *root;        // ends in '/', or is empty
    const char *paths;       // NUL-terminated, relative to root
    const uint64_t *offsets; // of each path
    const int32_t *targets;  // or NULL
    gf_draw_size *sizes;     // of each picture, 8-byte aligned; 0 x 0 while unknown. Shared between processes
};

// A gf_fill_fn: makes samples.
int64_t gf_image_fill(const gf_view *, const gf_batch *, int64_t from, int64_t to);

// The view's hint for that: the file's bytes begin their way into memory.
void gf_image_hint(const gf_view *, int64_t index);

// A picture whose size nobody can tell: any crop can be drawn in it, and nothing will be made of it.
enum { GF_ANY_SIDE = 1 << 14 };

// A view of the same pictures whose samples are gf_draw_size, from headers as far as they are not known; -1 x -1 where a
// header cannot be read. Its hint is for the whole file, since it is made next. free() it; NULL when memory is short.
gf_view *gf_image_sizes_view(const gf_view *);

// Fills in the sizes of a batch's pictures that are known, where the caller has 0 x 0. Returns how many stay 0 x 0, or
// -1 where indices[*bad] is none.
int64_t gf_image_known_sizes(const gf_view *, const int64_t *indices, int64_t n, gf_draw_size *sizes, int64_t *bad);

struct gf_crew;

// Fills in the others as the sizes view does: with most threads of the crew, or on this thread alone where there is none.
// Asks stopped() every 0.1 s. 0 when it said yes, or when memory is short.
int gf_image_find_sizes(const gf_view *, struct gf_crew *, int most, const int64_t *indices, int64_t n, gf_draw_size *sizes,
                        int (*stopped)(void));

// Draws for n pictures of these sizes, each from a stream of its own: see gf_draw_stateless. Seeds and epochs are those
// of the view's parts. Returns GF_DRAW_..., -1 when memory is short, or -2 where indices[result->done] is none.
int32_t gf_image_draw_stateless(const gf_view *, const uint64_t *seeds, const uint64_t *epochs, const int64_t *indices,
                                int64_t n, const gf_draw_size *sizes, int32_t *records, gf_draw_result *result);

// The size of a sample's picture, from its header where it is not known yet. Returns GF_FAULT_... .
int32_t gf_image_size(const gf_image_program *, int64_t sample, gf_draw_size *, gf_fault *);

// Makes a sample of a picture that somebody else has decoded, at x. Returns GF_FAULT_... .
int32_t gf_image_from_picture(const gf_image_program *, gf_picture, const int32_t *record, uint8_t *x, gf_fault *);

#endif
