// The two passes with AVX2. A tap is split into its high 16 bits (signed) and its low 8 bits. Each part takes one 16-bit
// multiply-add. The high sum shifted left by 8 plus the low sum is the whole sum of products, modulo 2^32 like Pillow's.
#if defined(__x86_64__)
#include <immintrin.h>
#include <string.h>

#include "kernels.h"

#define AVX2 __attribute__((target("avx2")))
#define INLINE AVX2 static inline __attribute__((always_inline))

INLINE __m256i quarter(const uint8_t *p) {
    int64_t v;
    memcpy(&v, p, 8);
    return _mm256_set1_epi64x(v);
}

// One output. The lower lane has the sums of R of taps 0 1, R of 2 3, G of 0 1, G of 2 3; the upper has B and X.
INLINE __m256i output(const gf_axis *axis, int groups, int32_t i, const uint8_t *rgbx, __m256i order) {
    const uint8_t *taps = axis->packed + (int64_t)(i / 8) * groups * 128 + i % 8 * 16;
    const uint8_t *p = rgbx + 4 * (int64_t)axis->first[i];
    __m256i high = _mm256_setzero_si256(), low = high;
    for (int k = 0; k < groups; k++, p += 16, taps += 128) {
        __m256i v = _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(_mm_loadu_si128((const void *)p)), order);
        high = _mm256_add_epi32(high, _mm256_madd_epi16(v, quarter(taps)));
        low = _mm256_add_epi32(low, _mm256_madd_epi16(v, quarter(taps + 8)));
    }
    return _mm256_add_epi32(_mm256_slli_epi32(high, 8), low);
}

INLINE __m256i finish(__m256i a, __m256i b) {
    __m256i sum = _mm256_add_epi32(_mm256_hadd_epi32(a, b), _mm256_set1_epi32(GF_TAP_ONE / 2));
    return _mm256_srai_epi32(sum, GF_TAP_BITS);
}

INLINE void row(const gf_axis *axis, int groups, const uint8_t *rgbx, uint8_t *planes, int64_t plane_bytes) {
    const __m256i order = _mm256_setr_epi8(0, -1, 4, -1, 8, -1, 12, -1, 1, -1, 5, -1, 9, -1, 13, -1,
                                           2, -1, 6, -1, 10, -1, 14, -1, 3, -1, 7, -1, 11, -1, 15, -1);
    const __m256i apart = _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15));
    for (int32_t i = 0; i < axis->count; i += 8) {
        __m256i o[8];
#pragma GCC unroll 8
        for (int j = 0; j < 8; j++) o[j] = output(axis, groups, i + j, rgbx, order);
        __m256i a = _mm256_packs_epi32(finish(o[0], o[1]), finish(o[2], o[3]));
        __m256i b = _mm256_packs_epi32(finish(o[4], o[5]), finish(o[6], o[7]));
        // R G of eight outputs in turn in the lower lane, B X in the upper.
        __m256i v = _mm256_shuffle_epi8(_mm256_packus_epi16(a, b), apart);
        __m128i rg = _mm256_castsi256_si128(v);
        _mm_storel_epi64((void *)(planes + i), rg);
        _mm_storel_epi64((void *)(planes + plane_bytes + i), _mm_unpackhi_epi64(rg, rg));
        _mm_storel_epi64((void *)(planes + 2 * plane_bytes + i), _mm256_extracti128_si256(v, 1));
    }
}

AVX2 void gf_horizontal_avx2(const gf_axis *axis, const uint8_t *rgbx, uint8_t *planes, int64_t plane_bytes) {
    switch (axis->groups) {
    case 1: row(axis, 1, rgbx, planes, plane_bytes); break;
    case 2: row(axis, 2, rgbx, planes, plane_bytes); break;
    default: row(axis, axis->groups, rgbx, planes, plane_bytes);
    }
}

AVX2 void gf_vertical_avx2(const gf_axis *axis, int32_t i, const uint8_t *const *rows, uint8_t *out, int64_t bytes) {
    const uint8_t *taps = axis->packed + (int64_t)(i / 8) * axis->groups * 128 + i % 8 * 16;
    int32_t length = axis->length[i];
    const __m256i zero = _mm256_setzero_si256();
    for (int64_t x = 0; x < bytes; x += 32) {
        __m256i high[4] = {zero, zero, zero, zero}, low[4];
        for (int j = 0; j < 4; j++) low[j] = _mm256_set1_epi32(GF_TAP_ONE / 2);
        for (int32_t t = 0; t < length; t += 2) {
            int32_t h, l;
            memcpy(&h, taps + t / 4 * 128 + t % 4 * 2, 4);
            memcpy(&l, taps + t / 4 * 128 + t % 4 * 2 + 8, 4);
            __m256i wh = _mm256_set1_epi32(h), wl = _mm256_set1_epi32(l);
            __m256i r0 = _mm256_loadu_si256((const void *)(rows[t] + x)), r1 = _mm256_loadu_si256((const void *)(rows[t + 1] + x));
            __m256i a = _mm256_unpacklo_epi8(r0, r1), b = _mm256_unpackhi_epi8(r0, r1);
            __m256i v[4] = {_mm256_unpacklo_epi8(a, zero), _mm256_unpackhi_epi8(a, zero), _mm256_unpacklo_epi8(b, zero), _mm256_unpackhi_epi8(b, zero)};
            for (int j = 0; j < 4; j++) {
                high[j] = _mm256_add_epi32(high[j], _mm256_madd_epi16(v[j], wh));
                low[j] = _mm256_add_epi32(low[j], _mm256_madd_epi16(v[j], wl));
            }
        }
        for (int j = 0; j < 4; j++) low[j] = _mm256_srai_epi32(_mm256_add_epi32(_mm256_slli_epi32(high[j], 8), low[j]), GF_TAP_BITS);
        _mm256_storeu_si256((void *)(out + x), _mm256_packus_epi16(_mm256_packs_epi32(low[0], low[1]), _mm256_packs_epi32(low[2], low[3])));
    }
}
#endif
