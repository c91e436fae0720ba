// The two passes without vector instructions written by hand.
#include "kernels.h"

static inline uint8_t clip(uint32_t sum) {
    int32_t v = (int32_t)sum >> GF_TAP_BITS;
    return v < 0 ? 0 : v > 255 ? 255 : (uint8_t)v;
}

void gf_horizontal_plain(const gf_axis *axis, const uint8_t *rgbx, uint8_t *planes, int64_t plane_bytes) {
    for (int32_t i = 0; i < axis->count; i++) {
        const uint8_t *p = rgbx + (int64_t)axis->first[i] * 4;
        const int32_t *tap = axis->taps + (int64_t)(i / GF_BLOCK) * axis->stride * GF_BLOCK + i % GF_BLOCK;
        uint32_t r = GF_TAP_ONE / 2, g = r, b = r;
        for (int32_t t = 0; t < axis->length[i]; t++, p += 4) {
            uint32_t w = (uint32_t)tap[t * GF_BLOCK];
            r += p[0] * w;
            g += p[1] * w;
            b += p[2] * w;
        }
        planes[i] = clip(r);
        planes[plane_bytes + i] = clip(g);
        planes[2 * plane_bytes + i] = clip(b);
    }
}

void gf_vertical_plain(const gf_axis *axis, int32_t i, const uint8_t *const *rows, uint8_t *out, int64_t bytes) {
    const int32_t *tap = axis->taps + (int64_t)(i / GF_BLOCK) * axis->stride * GF_BLOCK + i % GF_BLOCK;
    for (int64_t x = 0; x < bytes; x += 64) {
        uint32_t sum[64];
        for (int j = 0; j < 64; j++) sum[j] = GF_TAP_ONE / 2;
        for (int32_t t = 0; t < axis->length[i]; t++) {
            const uint8_t *row = rows[t] + x;
            uint32_t w = (uint32_t)tap[t * GF_BLOCK];
            for (int j = 0; j < 64; j++) sum[j] += row[j] * w;
        }
        for (int j = 0; j < 64; j++) out[x + j] = clip(sum[j]);
    }
}
