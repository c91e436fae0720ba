// Pillow's resize of 8-bit RGB pictures, to the last bit, as a stream: source rows go in, finished rows come out, and
// nothing leaves the caches in between. It is plain C, for the engine's threads and for forked workers.
//
//     gf_resize r = {0};                       once a thread; reused for every picture; gf_resize_free at the end
//     gf_resize_begin(&r, &plan)               0, or a GF_FAULT_...
//     for each source row y in [r.y.lo, r.y.hi):
//         gf_resize_push(&r, row)              row: RGBX, pointing at column r.x.lo
//         while (gf_resize_pull(&r, planes))   planes: R, G and B of the next row of the window
//             ...
//
// Only columns [r.x.lo, r.x.hi) of a row are used, but GF_RESIZE_SLACK bytes after them must be readable; their values
// do not matter. Before the next row is pushed, all finished rows must be pulled.
#ifndef GOFAST_RESAMPLE_H
#define GOFAST_RESAMPLE_H

#include <stddef.h>
#include <stdint.h>

#include "../picture/picture.h"

// Filters. torch's do what interpolate(antialias=True) does to uint8
// tensors: they have the same weights as Pillow's, but with fewer bits, so that each fits an int16.
enum {
    GF_FILTER_NEAREST, GF_FILTER_BOX, GF_FILTER_BILINEAR, GF_FILTER_HAMMING, GF_FILTER_BICUBIC, GF_FILTER_LANCZOS,
    GF_FILTER_TORCH_BILINEAR, GF_FILTER_TORCH_BICUBIC,
    GF_FILTERS
};

// Which pass comes first. This matters, because the picture between the passes is rounded to uint8. torch's filters are
// always horizontal first.
enum {
    GF_ORDER_PILLOW_13,  // vertical first if the height loses more than twice as many pixels as the width
    GF_ORDER_PILLOW_12_2, // 12.2 and 12.3: vertical first for a shrinking picture more than 100 times as high as wide
    GF_ORDER_HORIZONTAL, // up to 12.1: always horizontal first
    GF_ORDERS
};

// Kernels. GF_RESIZE_BEST is the best for the processor. The others are for tests, and fall back to simpler ones if the
// processor lacks the instructions.
enum { GF_RESIZE_BEST, GF_RESIZE_PLAIN, GF_RESIZE_AVX2, GF_RESIZE_AVX512, GF_RESIZE_NEON = GF_RESIZE_AVX2 };

enum { GF_RESIZE_SLACK = 64 };

// The work of one axis: outputs from..to-1 (backwards with flip) of in_size inputs resized to out_size. in0..in1 is the
// part of the input to resize: 0..in_size for a whole picture, Pillow's `box` otherwise.
typedef struct {
    float in0, in1; // single precision, as Pillow hands them to its C code
    int32_t in_size, out_size;
    int32_t from, to;
    int32_t filter;
    int32_t flip;
    int32_t variant;    // of the kernels that will use the table; not GF_RESIZE_BEST
    int32_t horizontal; // inputs lie side by side in memory: keep their loads inside the row
} gf_axis_spec;

// The taps of one axis, in 22-bit fixed point. Memory is kept from one picture to the next.
typedef struct {
    gf_axis_spec spec;
    int32_t count;   // outputs, to - from
    int32_t lo, hi;  // the inputs that they need
    int32_t groups;  // the most taps of an output, in fours, rounded up
    int32_t span;    // the most inputs between what an output needs first and what it or an earlier one needs last
    int32_t spread;  // the most inputs between the first taps of four neighbouring outputs
    int32_t largest; // magnitude of the largest tap
    int32_t stride;  // taps that an output has room for
    int32_t bits;    // of a tap after the point; with fewer than 22, taps end in zero bits
    // For each output, rounded up to 16 outputs; inputs count from lo.
    int32_t *first, *length;
    int32_t *keep;   // the first input that this output or a later one needs
    int32_t *taps;   // tap t of output i: taps[(i / 8 * stride + t) * 8 + i % 8]; zero beyond its length
    uint8_t *packed; // the same for the vector kernels, in their own layouts
    uint8_t *places; // AVX-512: for each four outputs the permutation of the 64 bytes from pixel base on
    int32_t *base;
    double *weights;
    void *memory;
    size_t memory_size;
} gf_axis;

// Makes the tables. axis->memory grows if it must. If the spec is that of the last call, there is nothing to do. Returns
// 0, GF_FAULT_MEMORY, or GF_FAULT_UNSUPPORTED for enormous tables (2^24 taps), which are left to Pillow.
int gf_axis_build(gf_axis *axis, const gf_axis_spec *spec);
void gf_axis_free(gf_axis *axis);

// One picture. The source is the whole picture that Pillow would resize: after a crop, the crop.
typedef struct {
    int32_t in_width, in_height;
    int32_t out_width, out_height;
    gf_box window; // the part of the output that is wanted, before the flip
    int32_t filter, order;
    int32_t flip;  // mirror the window left to right
    float part[4]; // left, upper, right and lower end of what is resized, within the source; taps reach beyond. All 0: the whole
} gf_resize_plan;

typedef struct {
    int32_t variant; // set it before the first gf_resize_begin, to force a kernel
    int32_t vertical_first;
    gf_axis x, y;
    // Private from here on.
    int32_t next_in, next_out;
    int32_t capacity;    // rows in the ring
    int64_t row_bytes;   // from one row of the ring to the next
    int64_t plane_bytes; // from one plane to the next
    uint8_t *ring, *between, *out;
    const uint8_t **rows;
    void *memory;
    size_t memory_size;
} gf_resize;

// Returns 0, GF_FAULT_MEMORY or GF_FAULT_UNSUPPORTED. Sizes are 1..2^26; the window lies inside the output.
int gf_resize_begin(gf_resize *r, const gf_resize_plan *plan);
void gf_resize_push(gf_resize *r, const uint8_t *rgbx);
// Returns 1 and the next row of the window, r->x.count values a plane with GF_RESIZE_SLACK readable bytes after them,
// valid until the next call; or 0.
int gf_resize_pull(gf_resize *r, const uint8_t *planes[3]);
// How many of the next source rows are not needed, as those between nearest neighbours; so many may be left out.
int32_t gf_resize_idle(const gf_resize *r);
void gf_resize_skip(gf_resize *r, int32_t rows);
void gf_resize_free(gf_resize *r);

// The variant that GF_RESIZE_BEST means here.
int gf_resize_best(void);

#endif
