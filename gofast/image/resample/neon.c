// The two passes with NEON: 32-bit sums, four at a time, modulo 2^32 like Pillow's. Their speed has not been measured yet:
// this was tried in an emulator.
#if defined(__aarch64__)
#include <arm_neon.h>

#include "kernels.h"

#define INLINE static inline __attribute__((always_inline))

// Adds sixteen bytes times a tap to their sums.
INLINE void add(uint32x4_t sum[4], uint8x16_t v, uint32_t tap) {
    uint16x8_t low = vmovl_u8(vget_low_u8(v)), high = vmovl_u8(vget_high_u8(v));
    sum[0] = vmlaq_n_u32(sum[0], vmovl_u16(vget_low_u16(low)), tap);
    sum[1] = vmlaq_n_u32(sum[1], vmovl_u16(vget_high_u16(low)), tap);
    sum[2] = vmlaq_n_u32(sum[2], vmovl_u16(vget_low_u16(high)), tap);
    sum[3] = vmlaq_n_u32(sum[3], vmovl_u16(vget_high_u16(high)), tap);
}

// Eight sums as bytes.
INLINE uint8x8_t finish(uint32x4_t a, uint32x4_t b) {
    int16x4_t low = vmovn_s32(vshrq_n_s32(vreinterpretq_s32_u32(a), GF_TAP_BITS));
    int16x4_t high = vmovn_s32(vshrq_n_s32(vreinterpretq_s32_u32(b), GF_TAP_BITS));
    return vqmovun_s16(vcombine_s16(low, high));
}

// The sums of R, G, B and X of one output. Four pixels are loaded: taps beyond an output's last are zero.
INLINE uint32x4_t output(const gf_axis *axis, int32_t i, const uint8_t *rgbx) {
    const uint8_t *p = rgbx + 4 * (int64_t)axis->first[i];
    const int32_t *tap = axis->taps + (int64_t)(i / GF_BLOCK) * axis->stride * GF_BLOCK + i % GF_BLOCK;
    uint32x4_t sum = vdupq_n_u32(GF_TAP_ONE / 2);
    for (int32_t k = 0; k < axis->groups; k++, p += 16, tap += 4 * GF_BLOCK) {
        uint8x16_t v = vld1q_u8(p);
        uint16x8_t low = vmovl_u8(vget_low_u8(v)), high = vmovl_u8(vget_high_u8(v));
        sum = vmlaq_n_u32(sum, vmovl_u16(vget_low_u16(low)), (uint32_t)tap[0]);
        sum = vmlaq_n_u32(sum, vmovl_u16(vget_high_u16(low)), (uint32_t)tap[GF_BLOCK]);
        sum = vmlaq_n_u32(sum, vmovl_u16(vget_low_u16(high)), (uint32_t)tap[2 * GF_BLOCK]);
        sum = vmlaq_n_u32(sum, vmovl_u16(vget_high_u16(high)), (uint32_t)tap[3 * GF_BLOCK]);
    }
    return sum;
}

void gf_horizontal_neon(const gf_axis *axis, const uint8_t *rgbx, uint8_t *planes, int64_t plane_bytes) {
    for (int32_t i = 0; i < axis->count; i += 8) {
        uint8_t pixels[32];
        for (int j = 0; j < 8; j += 2) vst1_u8(pixels + 4 * j, finish(output(axis, i + j, rgbx), output(axis, i + j + 1, rgbx)));
        uint8x8x4_t made = vld4_u8(pixels);
        for (int c = 0; c < 3; c++) vst1_u8(planes + c * plane_bytes + i, made.val[c]);
    }
}

void gf_vertical_neon(const gf_axis *axis, int32_t i, const uint8_t *const *rows, uint8_t *out, int64_t bytes) {
    const int32_t *tap = axis->taps + (int64_t)(i / GF_BLOCK) * axis->stride * GF_BLOCK + i % GF_BLOCK;
    for (int64_t x = 0; x < bytes; x += 32) {
        uint32x4_t sum[8];
        for (int j = 0; j < 8; j++) sum[j] = vdupq_n_u32(GF_TAP_ONE / 2);
        for (int32_t t = 0; t < axis->length[i]; t++) {
            uint32_t w = (uint32_t)tap[t * GF_BLOCK];
            add(sum, vld1q_u8(rows[t] + x), w);
            add(sum + 4, vld1q_u8(rows[t] + x + 16), w);
        }
        for (int j = 0; j < 8; j += 2) vst1_u8(out + x + 4 * j, finish(sum[j], sum[j + 1]));
    }
}
#endif
