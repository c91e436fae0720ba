// Rows by NEON, eight pixels at a time; what is left of a row is looked up. The arithmetic is that of rows_avx2.c. Its speed
// has not been measured yet: this was tried in an emulator.
#include "rows.h"

#if defined(__aarch64__)
#include <arm_neon.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))

typedef struct {
    float32x4_t mean, hi, lo, unit;
} lanes;

INLINE lanes lanes_of(const gf_normalise *n, int c) {
    int at = n->numbers.last ? c : 16 * c;
    return (lanes){vdupq_n_f32(n->mean[at]), vdupq_n_f32(n->hi[at]), vdupq_n_f32(n->lo[at]), vdupq_n_f32(n->unit)};
}

INLINE float32x4_t value_of(const lanes *l, uint16x4_t v, int divide) {
    const float hi = (float)(1.0 / 255.0), lo = (float)(1.0 / 255.0 - (double)(float)(1.0 / 255.0));
    float32x4_t x = vcvtq_f32_u32(vmovl_u16(v)), product = vmulq_f32(x, divide ? vdupq_n_f32(lo) : l->unit);
    x = divide ? vfmaq_f32(product, x, vdupq_n_f32(hi)) : product;
    x = vsubq_f32(x, l->mean);
    return vfmaq_f32(vmulq_f32(x, l->lo), x, l->hi);
}

INLINE uint16x4_t to_16(float32x4_t x, int as) {
    if (as == GF_FLOAT16) return vreinterpret_u16_f16(vcvt_f16_f32(x));
    uint32x4_t bits = vreinterpretq_u32_f32(x), odd = vandq_u32(vshrq_n_u32(bits, 16), vdupq_n_u32(1));
    return vshrn_n_u32(vaddq_u32(bits, vaddq_u32(odd, vdupq_n_u32(0x7fff))), 16);
}

INLINE void look_up(const gf_normalise *n, int c, uint8_t v, uint8_t *out, int size) {
    memcpy(out, n->codes[c].results + size * v, (size_t)size);
}

// src: planar rows, or pixels. out: planes, or one row of channels last.
INLINE void row(const gf_normalise *n, const uint8_t *const src[3], int pixels, int64_t width, uint8_t *const out[3], int last, int as, int divide) {
    const int size = as == GF_FLOAT32 ? 4 : 2, channels = pixels || last ? 3 : n->numbers.channels;
    lanes l[3];
    for (int c = 0; c < channels; c++) l[c] = lanes_of(n, c);
    int64_t i = 0;
    for (; i + 8 <= width; i += 8) {
        uint8x8x4_t bytes;
        if (pixels) bytes = vld4_u8(src[0] + 4 * i);
        else
            for (int c = 0; c < channels; c++) bytes.val[c] = vld1_u8(src[c] + i);
        float32x4x3_t low, high;
        uint16x8x3_t both;
        for (int c = 0; c < channels; c++) {
            uint16x8_t v = vmovl_u8(bytes.val[c]);
            low.val[c] = value_of(&l[c], vget_low_u16(v), divide);
            high.val[c] = value_of(&l[c], vget_high_u16(v), divide);
            if (as != GF_FLOAT32) both.val[c] = vcombine_u16(to_16(low.val[c], as), to_16(high.val[c], as));
        }
        if (last && as == GF_FLOAT32) {
            vst3q_f32((float *)(out[0] + 12 * i), low);
            vst3q_f32((float *)(out[0] + 12 * i + 48), high);
        } else if (last) {
            vst3q_u16((uint16_t *)(out[0] + 6 * i), both);
        } else {
            for (int c = 0; c < channels; c++) {
                uint8_t *to = out[c] + i * size;
                if (as == GF_FLOAT32) {
                    vst1q_f32((float *)to, low.val[c]);
                    vst1q_f32((float *)(to + 16), high.val[c]);
                } else {
                    vst1q_u16((uint16_t *)to, both.val[c]);
                }
            }
        }
    }
    for (; i < width; i++)
        for (int c = 0; c < channels; c++)
            look_up(n, c, pixels ? src[0][4 * i + c] : src[c][i], last ? out[0] + (3 * i + c) * size : out[c] + i * size, size);
}

#define ROW(NAME, LAST, AS)                                                                                              \
    static void planar_##NAME(const gf_normalise *n, const uint8_t *const src[3], int64_t width, uint8_t *const out[3]) { \
        if (n->numbers.scale == GF_SCALE_DIVIDE) row(n, src, 0, width, out, LAST, AS, 1);                                \
        else row(n, src, 0, width, out, LAST, AS, 0);                                                                    \
    }                                                                                                                    \
    static void rgbx_##NAME(const gf_normalise *n, const uint8_t *src, int64_t width, uint8_t *const out[3]) {           \
        const uint8_t *const from[3] = {src, src, src};                                                                  \
        if (n->numbers.scale == GF_SCALE_DIVIDE) row(n, from, 1, width, out, LAST, AS, 1);                               \
        else row(n, from, 1, width, out, LAST, AS, 0);                                                                   \
    }

ROW(planes_f32, 0, GF_FLOAT32)
ROW(last_f32, 1, GF_FLOAT32)
ROW(planes_f16, 0, GF_FLOAT16)
ROW(last_f16, 1, GF_FLOAT16)
ROW(planes_bf16, 0, GF_BFLOAT16)
ROW(last_bf16, 1, GF_BFLOAT16)

const gf_rows gf_rows_neon[GF_BFLOAT16 + 1][2] = {
    [GF_FLOAT32] = {{planar_planes_f32, rgbx_planes_f32}, {planar_last_f32, rgbx_last_f32}},
    [GF_FLOAT16] = {{planar_planes_f16, rgbx_planes_f16}, {planar_last_f16, rgbx_last_f16}},
    [GF_BFLOAT16] = {{planar_planes_bf16, rgbx_planes_bf16}, {planar_last_bf16, rgbx_last_bf16}},
};
#endif
