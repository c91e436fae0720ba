// The steps on uint8 pictures by instruction set, gathered by gf_pixel_choose.
#ifndef GOFAST_PIXEL_OPS_H
#define GOFAST_PIXEL_OPS_H

#include "pixel.h"

#include <stddef.h>

// No step may be fused with the next: gcc keeps to that with -std=c11, clang when asked.
#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#endif

#if defined(__x86_64__)
#define AVX2 __attribute__((target("avx2,fma")))
#define AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi,avx512vnni,avx2,fma,prefer-vector-width=512")))
// One source, three machines.
#define LEVELS(FUNCTION) FUNCTION(plain, ) FUNCTION(avx2, AVX2) FUNCTION(avx512, AVX512)
#else
#define LEVELS(FUNCTION) FUNCTION(plain, )
#endif

#define INLINE static inline __attribute__((always_inline))

// Rows without gaps are one long row.
typedef struct {
    int64_t count, width, stride;
} gf_span;

static inline gf_span gf_span_of(const gf_planes *p) {
    if (p->stride == p->width) return (gf_span){p->height > 0, (int64_t)p->width * p->height, 0};
    return (gf_span){p->height, p->width, p->stride};
}

#define DECLARE(LEVEL, TARGET)                                                           \
    void gf_split_##LEVEL(const gf_picture *, int32_t x, int32_t y, const gf_planes *);  \
    void gf_join_##LEVEL(const gf_planes *, const gf_picture *);                         \
    void gf_hflip_##LEVEL(const gf_planes *);                                            \
    void gf_grey_##LEVEL(gf_planes *, int channels);                                     \
    void gf_brightness_##LEVEL(const gf_planes *, float factor);                         \
    void gf_contrast_##LEVEL(const gf_planes *, float factor);                           \
    void gf_saturation_##LEVEL(const gf_planes *, float factor);                         \
    void gf_hue_##LEVEL(const gf_planes *, double factor);                               \
    void gf_look_up_##LEVEL(const gf_planes *, const uint8_t tables[3][256]);            \
    void gf_sharpen_##LEVEL(const gf_planes *src, float factor, const gf_planes *dst);   \
    void gf_blur_##LEVEL(const gf_planes *, const gf_kernel *, const gf_planes *, uint8_t *room);\
    void gf_box_blur_##LEVEL(const gf_planes *, const gf_box_blur *, const gf_planes *, uint8_t *room);          \
    void gf_grid_##LEVEL(const gf_planes *, const gf_grid *, const gf_planes *);         \
    uint64_t gf_tensor_grey_sum_##LEVEL(const gf_planes *, int fused);                   \
    void gf_tensor_saturate_##LEVEL(const gf_planes *, float ratio, float rest, int fused, const gf_planes *); \
    void gf_tensor_sharpen_##LEVEL(const gf_planes *, float ratio, float rest, int fused, const gf_planes *);  \
    void gf_tensor_hue_##LEVEL(const gf_planes *, float turn, int version);              \
    void gf_mix_##LEVEL(const gf_planes *, const float *weights, int n, const gf_planes *);
LEVELS(DECLARE)
#undef DECLARE

void gf_vflip(const gf_planes *);
void gf_turn(const gf_planes *src, int quarters, const gf_planes *dst);
void gf_histogram(const gf_planes *, uint32_t counts[3][256]);
void gf_window(const gf_planes *src, int32_t x, int32_t y, int edge, const uint8_t fill[3], const gf_planes *dst);
size_t gf_blur_room(const gf_kernel *, int32_t width);
size_t gf_box_blur_room(const gf_box_blur *, int32_t width);

#endif
