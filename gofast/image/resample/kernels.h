// The two passes, in three variants each.
#ifndef GOFAST_RESAMPLE_KERNELS_H
#define GOFAST_RESAMPLE_KERNELS_H

#include "resample.h"

enum {
    // Pillow's fixed point: 8 bits are for the result, 2 for filters that exceed 0..1.
    GF_TAP_BITS = 22,
    GF_TAP_ONE = 1 << GF_TAP_BITS,
    // Three signed bytes hold taps up to this, and so does a signed 16-bit high part with an 8-bit low part.
    // Lanczos, the widest, stays below 1.5 * GF_TAP_ONE.
    GF_TAP_FITS = 127 * 65536 + 127 * 256 + 127,
    // Outputs are computed in multiples of this.
    GF_LANES = 16,
    // Tables lay the taps of so many outputs side by side.
    GF_BLOCK = 8,
};

// One row: RGBX pixels from axis->lo on -> axis->count values, rounded up to GF_LANES, for each of three planes.
typedef void (*gf_horizontal_fn)(const gf_axis *axis, const uint8_t *rgbx, uint8_t *planes, int64_t plane_bytes);
// Output row i of the axis from rows[0 .. length), each `bytes` long, a multiple of 64. There are 4 * groups pointers.
typedef void (*gf_vertical_fn)(const gf_axis *axis, int32_t i, const uint8_t *const *rows, uint8_t *out, int64_t bytes);

void gf_horizontal_plain(const gf_axis *axis, const uint8_t *rgbx, uint8_t *planes, int64_t plane_bytes);
void gf_vertical_plain(const gf_axis *axis, int32_t i, const uint8_t *const *rows, uint8_t *out, int64_t bytes);

#if defined(__x86_64__)
void gf_horizontal_avx2(const gf_axis *axis, const uint8_t *rgbx, uint8_t *planes, int64_t plane_bytes);
void gf_vertical_avx2(const gf_axis *axis, int32_t i, const uint8_t *const *rows, uint8_t *out, int64_t bytes);
void gf_horizontal_avx512(const gf_axis *axis, const uint8_t *rgbx, uint8_t *planes, int64_t plane_bytes);
void gf_vertical_avx512(const gf_axis *axis, int32_t i, const uint8_t *const *rows, uint8_t *out, int64_t bytes);

// pack.c: makes axis->packed (and places) of its taps.
void gf_pack_avx2(gf_axis *axis);
void gf_pack_avx512(gf_axis *axis);
#elif defined(__aarch64__)
void gf_horizontal_neon(const gf_axis *axis, const uint8_t *rgbx, uint8_t *planes, int64_t plane_bytes);
void gf_vertical_neon(const gf_axis *axis, int32_t i, const uint8_t *const *rows, uint8_t *out, int64_t bytes);
#endif

#endif
