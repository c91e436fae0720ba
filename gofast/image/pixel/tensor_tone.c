// Colour as torchvision computes it for uint8 tensors: float32, cut off. v1 rounds each product and each sum; v2 calls
// torch's add with a factor, which its vector kernels fuse.
#include "ops.h"

#include <string.h>

// x * factor + y.
INLINE float add_product(float y, float x, float factor, int fused) {
    if (fused) return __builtin_fmaf(x, factor, y);
    float product = x * factor;
    return y + product;
}

INLINE uint8_t clamp(float x) {
    x = x > 0.0f ? x : 0.0f;
    x = x < 255.0f ? x : 255.0f;
    return (uint8_t)(int32_t)x;
}

INLINE int32_t luma(uint8_t r, uint8_t g, uint8_t b, int fused) {
    float sum = (float)r * 0.2989f;
    sum = add_product(sum, (float)g, 0.587f, fused);
    sum = add_product(sum, (float)b, 0.114f, fused);
    return (int32_t)sum;
}

INLINE uint64_t grey_sum(const gf_planes *p, int fused) {
    uint64_t total = 0;
    for (int64_t y = 0; y < p->height; y++) {
        const uint8_t *r = p->plane[0] + y * p->stride, *g = p->plane[1] + y * p->stride, *b = p->plane[2] + y * p->stride;
        uint32_t sum = 0;
        for (int32_t i = 0; i < p->width; i++) sum += (uint32_t)luma(r[i], g[i], b[i], fused);
        total += sum;
    }
    return total;
}

INLINE void saturate(const gf_planes *src, float ratio, float rest, int fused, const gf_planes *dst) {
    const int32_t width = src->width; // bytes that are written may lie anywhere, for all that a compiler knows
    for (int64_t y = 0; y < src->height; y++) {
        const uint8_t *r = src->plane[0] + y * src->stride, *g = src->plane[1] + y * src->stride, *b = src->plane[2] + y * src->stride;
        uint8_t *red = dst->plane[0] + y * dst->stride, *green = dst->plane[1] + y * dst->stride, *blue = dst->plane[2] + y * dst->stride;
#pragma GCC ivdep
        for (int32_t i = 0; i < width; i++) {
            float grey = (float)luma(r[i], g[i], b[i], fused);
            red[i] = clamp(add_product((float)r[i] * ratio, grey, rest, fused));
            green[i] = clamp(add_product((float)g[i] * ratio, grey, rest, fused));
            blue[i] = clamp(add_product((float)b[i] * ratio, grey, rest, fused));
        }
    }
}

// v1 blends, at the edges a pixel with itself; v2 adds a part of the difference, and leaves edges alone.
INLINE uint8_t sharpened(float x, float smooth, float ratio, float rest, int fused) {
    return clamp(fused ? add_product(x, smooth - x, rest, 1) : add_product(x * ratio, smooth, rest, 0));
}

// torch rounds a convolution by ones and a five, divided by 13: never within a 26th of a half, so whole numbers give the same.
INLINE void sharpen(const gf_planes *src, float ratio, float rest, int fused, const gf_planes *dst) {
    int32_t last = src->width - 1;
    for (int c = 0; c < src->channels; c++) {
        for (int64_t y = 0; y < src->height; y++) {
            const uint8_t *row = src->plane[c] + y * src->stride, *above = row - src->stride, *below = row + src->stride;
            uint8_t *restrict out = dst->plane[c] + y * dst->stride;
            if (y == 0 || y == src->height - 1) {
                for (int32_t i = 0; i <= last; i++) out[i] = sharpened((float)row[i], (float)row[i], ratio, rest, fused);
                continue;
            }
            out[0] = sharpened((float)row[0], (float)row[0], ratio, rest, fused);
            for (int32_t i = 1; i < last; i++) {
                int32_t sum = above[i - 1] + above[i] + above[i + 1] + row[i - 1] + 5 * row[i] + row[i + 1] + below[i - 1] + below[i] + below[i + 1];
                out[i] = sharpened((float)row[i], (float)((sum + 6) * 5042 >> 16), ratio, rest, fused);
            }
            out[last] = sharpened((float)row[last], (float)row[last], ratio, rest, fused);
        }
    }
}

INLINE void mix_row(const uint8_t *const row[GF_MOST_MIXED], const float *weights, int n, int32_t width, uint8_t *out) {
    const uint8_t *a = row[0], *b = row[1], *c = row[2], *d = row[3];
    const float wa = weights[0], wb = weights[1], wc = n > 2 ? weights[2] : 0.0f, wd = n > 3 ? weights[3] : 0.0f;
#pragma GCC ivdep
    for (int32_t i = 0; i < width; i++) {
        float sum = add_product((float)a[i] * wa, (float)b[i], wb, 0);
        if (n > 2) sum = add_product(sum, (float)c[i], wc, 0);
        if (n > 3) sum = add_product(sum, (float)d[i], wd, 0);
        out[i] = (uint8_t)(int32_t)sum;
    }
}

INLINE void mix(const gf_planes *sources, const float *weights, int n, const gf_planes *dst) {
    for (int c = 0; c < dst->channels; c++) {
        for (int64_t y = 0; y < dst->height; y++) {
            const uint8_t *row[GF_MOST_MIXED];
            for (int k = 0; k < GF_MOST_MIXED; k++) row[k] = sources[k < n ? k : 0].plane[c] + y * sources[k < n ? k : 0].stride;
            uint8_t *out = dst->plane[c] + y * dst->stride;
            if (n == 4) mix_row(row, weights, 4, dst->width, out);
            else if (n == 3) mix_row(row, weights, 3, dst->width, out);
            else mix_row(row, weights, 2, dst->width, out);
        }
    }
}

#define TENSOR_TONE(LEVEL, TARGET)                                                                                             \
    TARGET uint64_t gf_tensor_grey_sum_##LEVEL(const gf_planes *p, int fused) { return fused ? grey_sum(p, 1) : grey_sum(p, 0); } \
    TARGET void gf_tensor_saturate_##LEVEL(const gf_planes *src, float ratio, float rest, int fused, const gf_planes *dst) {   \
        if (fused) saturate(src, ratio, rest, 1, dst);                                                                         \
        else saturate(src, ratio, rest, 0, dst);                                                                               \
    }                                                                                                                          \
    TARGET void gf_tensor_sharpen_##LEVEL(const gf_planes *src, float ratio, float rest, int fused, const gf_planes *dst) {    \
        if (fused) sharpen(src, ratio, rest, 1, dst);                                                                          \
        else sharpen(src, ratio, rest, 0, dst);                                                                                \
    }                                                                                                                          \
    TARGET void gf_mix_##LEVEL(const gf_planes *sources, const float *weights, int n, const gf_planes *dst) { mix(sources, weights, n, dst); }

LEVELS(TENSOR_TONE)
