// The row functions of each instruction set, chosen by gf_normalise_prepare.
#ifndef GOFAST_PIXEL_ROWS_H
#define GOFAST_PIXEL_ROWS_H

#include "pixel.h"

// No step may be fused with the next: gcc keeps to that with -std=c11, clang when asked.
#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#endif

void gf_erase(const gf_normalise *, uint8_t *sample, int64_t width, int64_t height, const gf_box *box, const float value[3]);

typedef struct {
    gf_planar_fn planar;
    gf_rgbx_fn rgbx;
} gf_rows;

#if defined(__x86_64__)
// [type][last]: float32, float16, bfloat16, and uint8 with channels last; AVX-512 all of uint8.
extern const gf_rows gf_rows_avx2[GF_BFLOAT16 + 1][2];
extern const gf_rows gf_rows_avx512[GF_BFLOAT16 + 1][2];
void gf_rows_avx512_index(gf_normalise *);

#elif defined(__aarch64__)
extern const gf_rows gf_rows_neon[GF_BFLOAT16 + 1][2]; // as AVX2's
#endif

// AVX-512 computes with x / 255 times 2^32.
#define GF_TWO_32 4294967296.0f

#endif
