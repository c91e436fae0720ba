// Tap tables in the layouts that the vector kernels load.
#include <string.h>

#include "kernels.h"

#if defined(__x86_64__)
// A tap is three signed bytes. Four outputs and four taps have 16 bytes of the high, of the middle and of the low digits.
static inline __attribute__((always_inline)) void pack_digits(gf_axis *axis) {
    int32_t blocks = (axis->count + GF_LANES - 1) / GF_LANES * (GF_LANES / GF_BLOCK);
    for (int32_t b = 0; b < blocks; b++) {
        const int32_t *taps = axis->taps + (int64_t)b * GF_BLOCK * axis->stride;
        for (int32_t k = 0; k < axis->groups; k++) {
            uint32_t digit[3][GF_BLOCK];
            for (int j = 0; j < GF_BLOCK; j++) {
                uint32_t high = 0, middle = 0, low = 0;
                for (int t = 0; t < 4; t++) {
                    int32_t v = taps[(4 * k + t) * GF_BLOCK + j];
                    int32_t d0 = (int32_t)((uint32_t)v << 24) >> 24;
                    v = (v - d0) >> 8;
                    int32_t d1 = (int32_t)((uint32_t)v << 24) >> 24;
                    v = (v - d1) >> 8;
                    low |= (uint32_t)(d0 & 255) << (8 * t);
                    middle |= (uint32_t)(d1 & 255) << (8 * t);
                    high |= (uint32_t)(v & 255) << (8 * t);
                }
                digit[0][j] = high;
                digit[1][j] = middle;
                digit[2][j] = low;
            }
            for (int half = 0; half < 2; half++) {
                uint8_t *to = axis->packed + ((int64_t)(2 * b + half) * axis->groups + k) * 48;
                for (int d = 0; d < 3; d++) memcpy(to + 16 * d, digit[d] + 4 * half, 16);
            }
        }
    }
}

__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,prefer-vector-width=256"))) void gf_pack_avx512(gf_axis *axis) {
    pack_digits(axis);
    if (!axis->spec.horizontal) return;
    int32_t quads = (axis->count + GF_LANES - 1) / GF_LANES * (GF_LANES / 4);
    axis->spread = 0;
    for (int32_t q = 0; q < quads; q++) {
        const int32_t *first = axis->first + 4 * q;
        int32_t base = first[0], end = first[0];
        for (int j = 1; j < 4; j++) {
            base = first[j] < base ? first[j] : base;
            end = first[j] > end ? first[j] : end;
        }
        axis->base[q] = base;
        axis->spread = end - base > axis->spread ? end - base : axis->spread;
        for (uint32_t c = 0; c < 4; c++) {
            for (int j = 0; j < 4; j++) {
                uint32_t place = ((uint32_t)(first[j] - base) * 4 + c) * 0x01010101u + 0x0c080400u;
                memcpy(axis->places + 64 * q + 16 * c + 4 * j, &place, 4);
            }
        }
    }
}

// For eight outputs, for four taps, for each output: the high 16 bits of taps 0 1 2 3, then their low 8 bits as 16 bits.
__attribute__((target("avx2"))) void gf_pack_avx2(gf_axis *axis) {
    int32_t blocks = (axis->count + GF_LANES - 1) / GF_LANES * (GF_LANES / GF_BLOCK);
    for (int32_t b = 0; b < blocks; b++) {
        for (int32_t k = 0; k < axis->groups; k++) {
            const int32_t *taps = axis->taps + ((int64_t)b * axis->stride + 4 * k) * GF_BLOCK;
            uint32_t part[4][GF_BLOCK];
            for (int j = 0; j < GF_BLOCK; j++) {
                uint32_t t0 = (uint32_t)taps[j], t1 = (uint32_t)taps[GF_BLOCK + j], t2 = (uint32_t)taps[2 * GF_BLOCK + j], t3 = (uint32_t)taps[3 * GF_BLOCK + j];
                part[0][j] = (t0 >> 8 & 0xffff) | t1 >> 8 << 16;
                part[1][j] = (t2 >> 8 & 0xffff) | t3 >> 8 << 16;
                part[2][j] = (t0 & 255) | (t1 & 255) << 16;
                part[3][j] = (t2 & 255) | (t3 & 255) << 16;
            }
            uint8_t *to = axis->packed + ((int64_t)b * axis->groups + k) * 16 * GF_BLOCK;
            for (int j = 0; j < GF_BLOCK; j++) {
                uint32_t four[4] = {part[0][j], part[1][j], part[2][j], part[3][j]};
                memcpy(to + 16 * j, four, 16);
            }
        }
    }
}
#endif
