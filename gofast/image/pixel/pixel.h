// What is done to pictures between the decoder and the batch: colour and layout
// of uint8 pixels, and uint8 pixels to the numbers that a model is fed.
//
// Pictures are planar here: the resizer emits planar rows, nearly every step is
// then one stream of bytes a channel, and a picture of 224 x 224 stays in L2
// from its first step to its last. Steps that come before a resize go through
// split and join.
//
// No function allocates, locks or keeps anything: threads of the engine and
// forked worker processes use them alike. Users of this header need not link to
// the package: they call through gf_normalise and gf_pixel_ops, whose addresses
// Go hands them.
#ifndef GOFAST_PIXEL_H
#define GOFAST_PIXEL_H

#include <stddef.h>

#include "../../numbers/numbers.h"
#include "../picture/picture.h"

// Instruction sets: gf_pixel_level says which is the best here. NEON, of another processor, has rows of numbers only.
enum { GF_PIXEL_PLAIN, GF_PIXEL_AVX2, GF_PIXEL_AVX512, GF_PIXEL_NEON = GF_PIXEL_AVX2 };

int gf_pixel_level(void);

// ---- to numbers

typedef struct gf_normalise gf_normalise;

// Writes width pixels. Planes: out[c] is where channel c's row begins. Channels
// last: out[0] is where the row's first pixel begins, the others are not read.
typedef void (*gf_planar_fn)(const gf_normalise *, const uint8_t *const src[3], int64_t width, uint8_t *const out[3]);
typedef void (*gf_rgbx_fn)(const gf_normalise *, const uint8_t *src, int64_t width, uint8_t *const out[3]);

// RandomErasing of a finished sample, contiguous at sample: sets a box in every
// channel to that channel's value, converted as torch does. The box lies inside.
typedef void (*gf_erase_fn)(const gf_normalise *, uint8_t *sample, int64_t width, int64_t height, const gf_box *box, const float value[3]);

// Made by gf_normalise_prepare, only read afterwards.
struct gf_normalise {
    gf_planar_fn planar; // from planar rows
    gf_rgbx_fn rgbx;     // from RGBX pixels; three channels only
    gf_erase_fn erase;
    void (*finish)(void); // once after the last row of a sample, by the thread that wrote it: orders the streaming stores
    gf_numbers numbers;  // 3 or 1 channels
    int32_t stream;      // 1: stores bypass the caches
    int32_t tabled;      // 1: looked up, since arithmetic would not give the same bits (or plain C)
    float unit;          // unless the scale is DIVIDE: the factor
    gf_codes_fn look_up; // of a row of one channel
    gf_codes codes[3];   // of each channel
    // The arithmetic is (x - mean) * (hi + lo), in 16 lanes for each channel, or in 48
    // interleaved ones for channels last.
    float mean[48], hi[48], lo[48];
    uint8_t planar_index[4][64], rgbx_index[3][64]; // which pixel bytes an AVX-512 vector takes
};

// Completes what Go laid out, numbers, codes and stream. mean and std: a value a channel, or both NULL. level: at most
// this instruction set. stream: the batches cycle through more memory than the caches hold. A float32
// sample of 3 x 224 x 224 into 77 MB of shared memory then takes 27 us with either
// vector set (bare streaming stores: 26), else 30 with AVX-512 and 35 to 45 with AVX2;
// 12 into one hot buffer (2026-11, one core of a Sapphire Rapids).
void gf_normalise_prepare(gf_normalise *, const float *mean, const float *std, int level);

// ---- uint8 to uint8

// A planar picture; whoever made it owns the memory. Rows may be of any alignment.
typedef struct {
    uint8_t *plane[3];
    int64_t stride; // bytes from a row to the next, in every plane
    int32_t width, height;
    int32_t channels; // 3, or 1: grey, then only plane[0] counts
} gf_planes;

// What lies beyond the edge of a picture: a colour, or what torchvision's edge,
// reflect and symmetric padding repeat.
enum { GF_EDGE_CONSTANT, GF_EDGE_EDGE, GF_EDGE_REFLECT, GF_EDGE_SYMMETRIC };

// Where each pixel of a result comes from: Pillow's Image.transform. A pixel's middle x, y is seen at
// (n0 x + n1 y + n2, n3 x + n4 y + n5), of a perspective each divided by n6 x + n7 y + 1.
enum { GF_SEEN_NEAREST, GF_SEEN_BILINEAR, GF_SEEN_BICUBIC }; // by which filter

typedef struct {
    int32_t filter;
    int32_t perspective; // 0: an affine transform, of six numbers
    int32_t width, height; // of the result
    double numbers[8];     // finite
    uint8_t fill[4];       // where a pixel is seen outside: RGBX
} gf_transform;

// A blur's weights, of the columns and of the rows: odd numbers of them, none negative, with a sum of about 1.
enum { GF_MOST_KERNEL = 63 };

typedef struct {
    int32_t width, height;
    float x[GF_MOST_KERNEL], y[GF_MOST_KERNEL];
} gf_kernel;

// Pillow's extended box blur along one side: the pixels up to `radius` away weigh `inner` each, the two behind them `outer`, in
// 2^24ths. Each side is blurred so many times, 1 or 3.
typedef struct {
    int32_t radius; // -1: this side is not blurred
    uint32_t inner, outer;
} gf_box_side;

typedef struct {
    gf_box_side x, y; // one of them is
    int32_t passes;
} gf_box_blur;

// An affine grid of torch's grid_sample: the middle of a pixel, from the middle of a picture of the same size, is seen at
// (t0 x + t1 y + t2, t3 x + t4 y + t5), where -1 and 1 are the picture's edges.
typedef struct {
    int32_t bilinear; // else nearest
    int32_t filled;   // 0: black outside; else fill, put there as this version of torchvision does
    int32_t fused;    // t0 x + t1 y rounds t0 x and the sum, as MKL's products of matrices do on Intel; else all three
    float theta[6];   // finite
    float fill[3];    // 0 to 255
} gf_grid;

enum { GF_MOST_MIXED = 4 }; // pictures

// The steps of one instruction set; constant. All but split, join, window and what makes another picture
// change the picture where it is. Results are those of Pillow 13 and torchvision 0.29
// on a PIL image of mode RGB, or L with one channel.
typedef struct {
    int32_t level;
    // Pixels x.., y.. of src, as many as dst holds, all inside of src.
    void (*split)(const gf_picture *src, int32_t x, int32_t y, const gf_planes *dst);
    // All pixels of src (three channels) to a picture of the same size; X is 255.
    void (*join)(const gf_planes *src, const gf_picture *dst);
    void (*hflip)(const gf_planes *);
    void (*vflip)(const gf_planes *);
    // Crop and pad: dst's first pixel is src's pixel x, y, which may lie outside, as may
    // any other; edge says what is there. src is not empty, and no part of dst. Padding by
    // less than nothing: torchvision crops first, so that src is then what is left.
    void (*window)(const gf_planes *src, int32_t x, int32_t y, int edge, const uint8_t fill[3], const gf_planes *dst);
    // channels: 1 makes it a picture of one channel, 3 keeps or makes three equal
    // ones (the planes must be there).
    void (*grey)(gf_planes *, int channels);
    void (*brightness)(const gf_planes *, float factor);
    void (*contrast)(const gf_planes *, float factor);
    void (*saturation)(const gf_planes *, float factor);
    void (*hue)(const gf_planes *, double factor); // -0.5 to 0.5
    // How often each byte comes in each channel.
    void (*histogram)(const gf_planes *, uint32_t counts[3][256]);
    // Every byte becomes what its channel's table has for it.
    void (*look_up)(const gf_planes *, const uint8_t tables[3][256]);
    // What follows makes another picture, dst, with src's channels.
    // torchvision's adjust_sharpness; dst has src's size.
    void (*sharpen)(const gf_planes *src, float factor, const gf_planes *dst);
    // Turns counter-clockwise, once or three times; dst's sides are src's, exchanged.
    void (*turn)(const gf_planes *src, int quarters, const gf_planes *dst);
    // dst has the size that the transform names. No plane of src is 2^31 bytes long.
    void (*warp)(const gf_planes *src, const gf_transform *, const gf_planes *dst);
    // torchvision's gaussian_blur by those weights, where torch's convolution sums fused products row by row. dst is no part
    // of src and has its size; that is more than half of the kernel either way. room is blur_room(kernel, width) bytes.
    void (*blur)(const gf_planes *src, const gf_kernel *, const gf_planes *dst, uint8_t *room);
    size_t (*blur_room)(const gf_kernel *, int32_t width);
    // dst is no part of src, and has its size. src is written to as well. room is box_blur_room(blur, width) bytes, at a
    // multiple of 4.
    void (*box_blur)(const gf_planes *src, const gf_box_blur *, const gf_planes *dst, uint8_t *room);
    size_t (*box_blur_room)(const gf_box_blur *, int32_t width);
    // torchvision's functions of uint8 tensors, of src into dst, which has its size and shares nothing with it.
    // fused: as v2 adds products, with one rounding; v1 with two. rest is 1 - ratio, rounded from a double.
    void (*grid)(const gf_planes *src, const gf_grid *, const gf_planes *dst);
    // Three channels: the sum of grey bytes, and adjust_saturation.
    uint64_t (*tensor_grey_sum)(const gf_planes *, int fused);
    void (*tensor_saturate)(const gf_planes *src, float ratio, float rest, int fused, const gf_planes *dst);
    // At least 3 x 3 pixels; ratio is not used where it is fused.
    void (*tensor_sharpen)(const gf_planes *src, float ratio, float rest, int fused, const gf_planes *dst);
    // Three channels, where they are: adjust_hue of this version by -0.5 to 0.5 of a turn.
    void (*tensor_hue)(const gf_planes *, float turn, int version);
    // The sum of n pictures of one size, 2 to GF_MOST_MIXED, by weights of a sum of about 1. dst may be one of them.
    void (*mix)(const gf_planes *sources, const float *weights, int n, const gf_planes *dst);
} gf_pixel_ops;

// level: at most this instruction set.
const gf_pixel_ops *gf_pixel_choose(int level);

#endif
