// Rows by AVX-512 with VBMI: one permutation of bytes brings sixteen pixel bytes
// of any layout into the lanes of any other, so that all layouts share one
// arithmetic.
#include "rows.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define TARGET __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi,avx2,fma,f16c")))
#define INLINE static inline __attribute__((always_inline)) TARGET

// One output vector: which bytes of the pixels it takes, and its arithmetic.
typedef struct {
    __m512i index;
    __m512 mean, hi, lo, unit;
} lanes;

void gf_rows_avx512_index(gf_normalise *n) {
    // Division repeats the byte, see value_of; a product needs it once, above zeroes.
    for (int i = 0; i < 64; i++) {
        int lane = i / 4;
        for (int k = 0; k < 4; k++) {
            int value = 16 * k + lane; // of the interleaved output
            if (!n->numbers.last) n->planar_index[k][i] = (uint8_t)value;
            else n->planar_index[k][i] = (uint8_t)(value % 3 * 16 + value / 3); // three rows of 16
            if (k < 3) n->rgbx_index[k][i] = (uint8_t)(n->numbers.last ? value / 3 * 4 + value % 3 : 4 * lane + k);
        }
    }
}

INLINE lanes lanes_at(const gf_normalise *n, const uint8_t index[64], int channel) {
    return (lanes){_mm512_loadu_si512(index), _mm512_loadu_ps(n->mean + 16 * channel), _mm512_loadu_ps(n->hi + 16 * channel),
                   _mm512_loadu_ps(n->lo + 16 * channel), _mm512_set1_ps(n->unit)};
}

// Division by 255 without dividing: the byte v repeated four times is v / 255 *
// 2^32 less a fraction of one. What float32 cuts off begins with v's own top bit, so
// that it is a half or more and v / 255 is always rounded up; the conversion does
// that. mean, hi and lo are scaled accordingly, which is exact.
INLINE __m512 value_of(const lanes *l, __m512i pixels, int divide) {
    __m512i v = _mm512_maskz_permutexvar_epi8(divide ? ~0ULL : 0x1111111111111111ULL, l->index, pixels);
    __m512 x = divide ? _mm512_cvt_roundepu32_ps(v, _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC)
                      : _mm512_mul_ps(_mm512_cvtepi32_ps(v), l->unit);
    x = _mm512_sub_ps(x, l->mean);
    return _mm512_fmadd_ps(x, l->hi, _mm512_mul_ps(x, l->lo)); // (x - mean) / std, see gf_normalise_prepare
}

INLINE __m256i to_16(__m512 x, int as) {
    if (as == GF_FLOAT16) return _mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    __m512i bits = _mm512_castps_si512(x);
    __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
    bits = _mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff)));
    return _mm512_cvtepi32_epi16(_mm512_srli_epi32(bits, 16));
}

// Stores values 0..left-1 of the vector at most; out is 64-byte (float32) or
// 32-byte aligned when streaming.
INLINE void store(uint8_t *out, __m512 x, int64_t left, int as, int stream) {
    if (left <= 0) return;
    __mmask16 mask = left >= 16 ? 0xffff : (__mmask16)((1u << left) - 1);
    if (as == GF_FLOAT32) {
        if (stream && left >= 16) _mm512_stream_ps((float *)out, x);
        else if (left >= 16) _mm512_storeu_ps(out, x);
        else _mm512_mask_storeu_ps(out, mask, x);
        return;
    }
    __m256i half = to_16(x, as);
    if (stream && left >= 16) _mm256_stream_si256((__m256i *)out, half);
    else if (left >= 16) _mm256_storeu_si256((__m256i *)out, half);
    else _mm256_mask_storeu_epi16(out, mask, half);
}

// One channel's row: 64 pixels a turn.
INLINE void plane(const gf_normalise *n, int c, const uint8_t *src, int64_t width, uint8_t *out, int as, int divide, int stream) {
    const int size = as == GF_FLOAT32 ? 4 : 2;
    lanes l[4];
    for (int k = 0; k < 4; k++) l[k] = lanes_at(n, n->planar_index[k], c);
    int64_t i = 0;
    for (; i + 64 <= width; i += 64) {
        __m512i pixels = _mm512_loadu_si512(src + i);
        for (int k = 0; k < 4; k++) store(out + (i + 16 * k) * size, value_of(&l[k], pixels, divide), 16, as, stream);
    }
    if (i < width) {
        __m512i pixels = _mm512_maskz_loadu_epi8(~0ULL >> (64 - (width - i)), src + i);
        for (int k = 0; k < 4; k++) store(out + (i + 16 * k) * size, value_of(&l[k], pixels, divide), width - i - 16 * k, as, stream);
    }
}

INLINE void plane_aligned(const gf_normalise *n, int c, const uint8_t *src, int64_t width, uint8_t *out, int as, int divide) {
    const int size = as == GF_FLOAT32 ? 4 : 2;
    int64_t head = n->stream ? (int64_t)(-(uintptr_t)out & 63) / size : 0;
    if (head > width) head = width;
    if (head) plane(n, c, src, head, out, as, divide, 0);
    if (n->stream) plane(n, c, src + head, width - head, out + head * size, as, divide, 1);
    else plane(n, c, src, width, out, as, divide, 0);
}

// Three channels from 16 pixels a turn: any layout but planes from planes.
INLINE void three(const gf_normalise *n, const uint8_t *const src[3], int from_pixels, int64_t from, int64_t to, uint8_t *const out[3],
                  int as, int last, int divide, int stream) {
    const int size = as == GF_FLOAT32 ? 4 : 2;
    lanes l[3];
    for (int k = 0; k < 3; k++) l[k] = lanes_at(n, from_pixels ? n->rgbx_index[k] : n->planar_index[k], k);
    for (int64_t i = from; i < to; i += 16) {
        int64_t count = to - i < 16 ? to - i : 16;
        __mmask16 mask = (__mmask16)(0xffffu >> (16 - count));
        __m512i pixels;
        if (from_pixels) {
            pixels = _mm512_maskz_loadu_epi32(mask, src[0] + 4 * i);
        } else {
            pixels = _mm512_castsi128_si512(_mm_maskz_loadu_epi8(mask, src[0] + i));
            pixels = _mm512_inserti32x4(pixels, _mm_maskz_loadu_epi8(mask, src[1] + i), 1);
            pixels = _mm512_inserti32x4(pixels, _mm_maskz_loadu_epi8(mask, src[2] + i), 2);
        }
        for (int k = 0; k < 3; k++) {
            __m512 x = value_of(&l[k], pixels, divide);
            if (last) store(out[0] + (3 * i + 16 * k) * size, x, 3 * count - 16 * k, as, stream);
            else store(out[k] + i * size, x, count, as, stream);
        }
    }
}

INLINE void three_aligned(const gf_normalise *n, const uint8_t *const src[3], int from_pixels, int64_t width, uint8_t *const out[3],
                          int as, int last, int divide) {
    const int size = as == GF_FLOAT32 ? 4 : 2;
    if (!n->stream || ((uintptr_t)out[0] & (uintptr_t)(size - 1))) {
        three(n, src, from_pixels, 0, width, out, as, last, divide, 0);
        return;
    }
    // How many pixels lie before the next line: 3 * 11 is 1 modulo the 16 or 32 values of a line.
    int64_t line = 64 / size, head = (int64_t)(-(uintptr_t)out[0] & 63) / size;
    if (last) head = head * 11 % line;
    else if ((((uintptr_t)out[0] ^ (uintptr_t)out[1]) | ((uintptr_t)out[0] ^ (uintptr_t)out[2])) & 63) head = width; // never in step
    if (head > width) head = width;
    three(n, src, from_pixels, 0, head, out, as, last, divide, 0);
    three(n, src, from_pixels, head, width, out, as, last, divide, 1);
}

#define ROWS(NAME, AS)                                                                                                       \
    TARGET static void planes_##NAME(const gf_normalise *n, const uint8_t *const src[3], int64_t width, uint8_t *const out[3]) { \
        for (int c = 0; c < n->numbers.channels; c++) {                                                                              \
            if (n->numbers.scale == GF_SCALE_DIVIDE) plane_aligned(n, c, src[c], width, out[c], AS, 1);                              \
            else plane_aligned(n, c, src[c], width, out[c], AS, 0);                                                          \
        }                                                                                                                    \
    }                                                                                                                        \
    TARGET static void last_##NAME(const gf_normalise *n, const uint8_t *const src[3], int64_t width, uint8_t *const out[3]) { \
        if (n->numbers.scale == GF_SCALE_DIVIDE) three_aligned(n, src, 0, width, out, AS, 1, 1);                                     \
        else three_aligned(n, src, 0, width, out, AS, 1, 0);                                                                 \
    }                                                                                                                        \
    TARGET static void rgbx_planes_##NAME(const gf_normalise *n, const uint8_t *src, int64_t width, uint8_t *const out[3]) { \
        const uint8_t *const from[3] = {src, src, src};                                                                      \
        if (n->numbers.scale == GF_SCALE_DIVIDE) three_aligned(n, from, 1, width, out, AS, 0, 1);                                    \
        else three_aligned(n, from, 1, width, out, AS, 0, 0);                                                                \
    }                                                                                                                        \
    TARGET static void rgbx_last_##NAME(const gf_normalise *n, const uint8_t *src, int64_t width, uint8_t *const out[3]) {   \
        const uint8_t *const from[3] = {src, src, src};                                                                      \
        if (n->numbers.scale == GF_SCALE_DIVIDE) three_aligned(n, from, 1, width, out, AS, 1, 1);                                    \
        else three_aligned(n, from, 1, width, out, AS, 1, 0);                                                                \
    }

ROWS(f32, GF_FLOAT32)
ROWS(f16, GF_FLOAT16)
ROWS(bf16, GF_BFLOAT16)

// ---- bytes: only their places change

// Where each byte of 16 pixels comes from.
static const uint8_t rgb_of_rows[64] = {
    0, 16, 32, 1, 17, 33, 2, 18, 34, 3, 19, 35, 4, 20, 36, 5, 21, 37, 6, 22, 38, 7, 23, 39,
    8, 24, 40, 9, 25, 41, 10, 26, 42, 11, 27, 43, 12, 28, 44, 13, 29, 45, 14, 30, 46, 15, 31, 47,
};
static const uint8_t rgb_of_rgbx[64] = {
    0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, 16, 17, 18, 20, 21, 22, 24, 25, 26, 28, 29, 30,
    32, 33, 34, 36, 37, 38, 40, 41, 42, 44, 45, 46, 48, 49, 50, 52, 53, 54, 56, 57, 58, 60, 61, 62,
};
static const uint8_t rows_of_rgbx[64] = {
    0, 4, 8, 12, 16, 20, 24, 28, 32, 36, 40, 44, 48, 52, 56, 60, 1, 5, 9, 13, 17, 21, 25, 29,
    33, 37, 41, 45, 49, 53, 57, 61, 2, 6, 10, 14, 18, 22, 26, 30, 34, 38, 42, 46, 50, 54, 58, 62,
};

TARGET static void planes_u8(const gf_normalise *n, const uint8_t *const src[3], int64_t width, uint8_t *const out[3]) {
    for (int c = 0; c < n->numbers.channels; c++) __builtin_memcpy(out[c], src[c], (size_t)width);
}

// 16 pixels a turn, 48 bytes.
INLINE void interleave(const uint8_t *const src[3], int from_pixels, int64_t width, uint8_t *out) {
    __m512i order = _mm512_loadu_si512(from_pixels ? rgb_of_rgbx : rgb_of_rows);
    for (int64_t i = 0; i < width; i += 16) {
        int64_t count = width - i < 16 ? width - i : 16;
        __mmask16 mask = (__mmask16)(0xffffu >> (16 - count));
        __m512i pixels;
        if (from_pixels) {
            pixels = _mm512_maskz_loadu_epi32(mask, src[0] + 4 * i);
        } else {
            pixels = _mm512_castsi128_si512(_mm_maskz_loadu_epi8(mask, src[0] + i));
            pixels = _mm512_inserti32x4(pixels, _mm_maskz_loadu_epi8(mask, src[1] + i), 1);
            pixels = _mm512_inserti32x4(pixels, _mm_maskz_loadu_epi8(mask, src[2] + i), 2);
        }
        _mm512_mask_storeu_epi8(out + 3 * i, ~0ULL >> (64 - 3 * count), _mm512_permutexvar_epi8(order, pixels));
    }
}

TARGET static void last_u8(const gf_normalise *n, const uint8_t *const src[3], int64_t width, uint8_t *const out[3]) {
    (void)n;
    interleave(src, 0, width, out[0]);
}

TARGET static void rgbx_last_u8(const gf_normalise *n, const uint8_t *src, int64_t width, uint8_t *const out[3]) {
    (void)n;
    const uint8_t *const from[3] = {src, src, src};
    interleave(from, 1, width, out[0]);
}

TARGET static void rgbx_planes_u8(const gf_normalise *n, const uint8_t *src, int64_t width, uint8_t *const out[3]) {
    (void)n;
    __m512i order = _mm512_loadu_si512(rows_of_rgbx);
    for (int64_t i = 0; i < width; i += 16) {
        __mmask16 mask = (__mmask16)(0xffffu >> (width - i < 16 ? 16 - (width - i) : 0));
        __m512i planar = _mm512_permutexvar_epi8(order, _mm512_maskz_loadu_epi32(mask, src + 4 * i));
        _mm_mask_storeu_epi8(out[0] + i, mask, _mm512_castsi512_si128(planar));
        _mm_mask_storeu_epi8(out[1] + i, mask, _mm512_extracti32x4_epi32(planar, 1));
        _mm_mask_storeu_epi8(out[2] + i, mask, _mm512_extracti32x4_epi32(planar, 2));
    }
}

const gf_rows gf_rows_avx512[GF_BFLOAT16 + 1][2] = {
    [GF_FLOAT32] = {{planes_f32, rgbx_planes_f32}, {last_f32, rgbx_last_f32}},
    [GF_FLOAT16] = {{planes_f16, rgbx_planes_f16}, {last_f16, rgbx_last_f16}},
    [GF_BFLOAT16] = {{planes_bf16, rgbx_planes_bf16}, {last_bf16, rgbx_last_bf16}},
    [GF_UINT8] = {{planes_u8, rgbx_planes_u8}, {last_u8, rgbx_last_u8}},
};
#endif
