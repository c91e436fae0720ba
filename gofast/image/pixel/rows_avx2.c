// Rows by AVX2 and FMA, eight values a vector; what is left of a row is looked up.
#include "rows.h"

#if defined(__x86_64__)
#include <immintrin.h>
#include <string.h>

#define TARGET __attribute__((target("avx2,fma,f16c")))
#define INLINE static inline __attribute__((always_inline)) TARGET

typedef struct {
    __m256 mean, hi, lo, unit;
} lanes;

INLINE lanes lanes_at(const gf_normalise *n, int first) {
    return (lanes){_mm256_loadu_ps(n->mean + first), _mm256_loadu_ps(n->hi + first), _mm256_loadu_ps(n->lo + first),
                   _mm256_set1_ps(n->unit)};
}

// v holds eight pixel values as integers.
INLINE __m256 value_of(const lanes *l, __m256i v, int divide) {
    const float hi = (float)(1.0 / 255.0), lo = (float)(1.0 / 255.0 - (double)(float)(1.0 / 255.0));
    __m256 x = _mm256_cvtepi32_ps(v), product = _mm256_mul_ps(x, divide ? _mm256_set1_ps(lo) : l->unit);
    x = divide ? _mm256_fmadd_ps(x, _mm256_set1_ps(hi), product) : product;
    x = _mm256_sub_ps(x, l->mean);
    return _mm256_fmadd_ps(x, l->hi, _mm256_mul_ps(x, l->lo));
}

INLINE __m128i to_16(__m256 x, int as) {
    if (as == GF_FLOAT16) return _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    __m256i bits = _mm256_castps_si256(x);
    __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
    bits = _mm256_srli_epi32(_mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff))), 16);
    return _mm_packus_epi32(_mm256_castsi256_si128(bits), _mm256_extracti128_si256(bits, 1));
}

INLINE void store(uint8_t *out, __m256 x, int as, int stream) {
    if (as == GF_FLOAT32) {
        if (stream) _mm256_stream_ps((float *)out, x);
        else _mm256_storeu_ps((float *)out, x);
    } else if (stream) {
        _mm_stream_si128((__m128i *)out, to_16(x, as));
    } else {
        _mm_storeu_si128((__m128i *)out, to_16(x, as));
    }
}

INLINE void look_up(const gf_normalise *n, int c, uint8_t v, uint8_t *out, int as) {
    const int size = as == GF_FLOAT32 ? 4 : 2;
    memcpy(out, n->codes[c].results + size * v, (size_t)size);
}

INLINE void plane(const gf_normalise *n, int c, const uint8_t *src, int64_t width, uint8_t *out, int as, int divide, int stream) {
    const int size = as == GF_FLOAT32 ? 4 : 2;
    lanes l = lanes_at(n, 16 * c);
    int64_t i = 0;
    for (; stream && i < width && ((uintptr_t)(out + i * size) & 31); i++) look_up(n, c, src[i], out + i * size, as);
    for (; i + 8 <= width; i += 8)
        store(out + i * size, value_of(&l, _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(src + i))), divide), as, stream);
    for (; i < width; i++) look_up(n, c, src[i], out + i * size, as);
}

// Eight pixels as 24 bytes RGB: the first 16 and the last 8.
typedef struct {
    __m128i low, high;
} rgb8;

INLINE rgb8 rgb_of_rows(const uint8_t *const src[3], int64_t i) {
    __m128i rg = _mm_unpacklo_epi64(_mm_loadl_epi64((const __m128i *)(src[0] + i)), _mm_loadl_epi64((const __m128i *)(src[1] + i)));
    __m128i b = _mm_loadl_epi64((const __m128i *)(src[2] + i));
    const __m128i low = _mm_setr_epi8(0, 8, -1, 1, 9, -1, 2, 10, -1, 3, 11, -1, 4, 12, -1, 5);
    const __m128i low_b = _mm_setr_epi8(-1, -1, 0, -1, -1, 1, -1, -1, 2, -1, -1, 3, -1, -1, 4, -1);
    const __m128i high = _mm_setr_epi8(13, -1, 6, 14, -1, 7, 15, -1, -1, -1, -1, -1, -1, -1, -1, -1);
    const __m128i high_b = _mm_setr_epi8(-1, 5, -1, -1, 6, -1, -1, 7, -1, -1, -1, -1, -1, -1, -1, -1);
    return (rgb8){_mm_or_si128(_mm_shuffle_epi8(rg, low), _mm_shuffle_epi8(b, low_b)),
                  _mm_or_si128(_mm_shuffle_epi8(rg, high), _mm_shuffle_epi8(b, high_b))};
}

INLINE rgb8 rgb_of_rgbx(const uint8_t *src) {
    const __m128i drop = _mm_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1);
    __m128i a = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)src), drop);
    __m128i b = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)(src + 16)), drop);
    return (rgb8){_mm_or_si128(a, _mm_slli_si128(b, 12)), _mm_srli_si128(b, 4)};
}

INLINE void last(const gf_normalise *n, const uint8_t *const src[3], int from_pixels, int64_t width, uint8_t *out, int as, int divide, int stream) {
    const int size = as == GF_FLOAT32 ? 4 : 2;
    lanes l[3] = {lanes_at(n, 0), lanes_at(n, 8), lanes_at(n, 16)};
    // Eight pixels are 24 values: a step keeps the alignment that the first has.
    stream = stream && !((uintptr_t)out & 31);
    int64_t i = 0;
    for (; i + 8 <= width; i += 8) {
        rgb8 p = from_pixels ? rgb_of_rgbx(src[0] + 4 * i) : rgb_of_rows(src, i);
        __m256i v[3] = {_mm256_cvtepu8_epi32(p.low), _mm256_cvtepu8_epi32(_mm_srli_si128(p.low, 8)), _mm256_cvtepu8_epi32(p.high)};
        for (int k = 0; k < 3; k++) {
            if (stream) store(out + (3 * i + 8 * k) * size, value_of(&l[k], v[k], divide), as, 1);
            else store(out + (3 * i + 8 * k) * size, value_of(&l[k], v[k], divide), as, 0);
        }
    }
    for (; i < width; i++)
        for (int c = 0; c < 3; c++) look_up(n, c, from_pixels ? src[0][4 * i + c] : src[c][i], out + (3 * i + c) * size, as);
}

// Planes from RGBX pixels.
INLINE void part(const gf_normalise *n, const uint8_t *src, int64_t width, uint8_t *const out[3], int as, int divide, int stream) {
    const int size = as == GF_FLOAT32 ? 4 : 2;
    lanes l[3] = {lanes_at(n, 0), lanes_at(n, 16), lanes_at(n, 32)};
    stream = stream && !(((uintptr_t)out[0] | (uintptr_t)out[1] | (uintptr_t)out[2]) & 31);
    int64_t i = 0;
    for (; i + 8 <= width; i += 8) {
        __m256i pixels = _mm256_loadu_si256((const __m256i *)(src + 4 * i));
        for (int c = 0; c < 3; c++) {
            __m256i v = _mm256_and_si256(_mm256_srli_epi32(pixels, 8 * c), _mm256_set1_epi32(255));
            if (stream) store(out[c] + i * size, value_of(&l[c], v, divide), as, 1);
            else store(out[c] + i * size, value_of(&l[c], v, divide), as, 0);
        }
    }
    for (; i < width; i++)
        for (int c = 0; c < 3; c++) look_up(n, c, src[4 * i + c], out[c] + i * size, as);
}

#define ROWS(NAME, AS)                                                                                                           \
    TARGET static void planes_##NAME(const gf_normalise *n, const uint8_t *const src[3], int64_t width, uint8_t *const out[3]) { \
        for (int c = 0; c < n->numbers.channels; c++) {                                                                                  \
            if (n->numbers.scale != GF_SCALE_DIVIDE) plane(n, c, src[c], width, out[c], AS, 0, n->stream);                               \
            else if (n->stream) plane(n, c, src[c], width, out[c], AS, 1, 1);                                                    \
            else plane(n, c, src[c], width, out[c], AS, 1, 0);                                                                   \
        }                                                                                                                        \
    }                                                                                                                            \
    TARGET static void last_##NAME(const gf_normalise *n, const uint8_t *const src[3], int64_t width, uint8_t *const out[3]) {   \
        last(n, src, 0, width, out[0], AS, n->numbers.scale == GF_SCALE_DIVIDE, n->stream);                                              \
    }                                                                                                                            \
    TARGET static void rgbx_planes_##NAME(const gf_normalise *n, const uint8_t *src, int64_t width, uint8_t *const out[3]) {     \
        part(n, src, width, out, AS, n->numbers.scale == GF_SCALE_DIVIDE, n->stream);                                                    \
    }                                                                                                                            \
    TARGET static void rgbx_last_##NAME(const gf_normalise *n, const uint8_t *src, int64_t width, uint8_t *const out[3]) {       \
        const uint8_t *const from[3] = {src, src, src};                                                                          \
        last(n, from, 1, width, out[0], AS, n->numbers.scale == GF_SCALE_DIVIDE, n->stream);                                             \
    }

ROWS(f32, GF_FLOAT32)
ROWS(f16, GF_FLOAT16)
ROWS(bf16, GF_BFLOAT16)

// Bytes, channels last: only their places change.
INLINE void interleave(const uint8_t *const src[3], int from_pixels, int64_t width, uint8_t *out) {
    int64_t i = 0;
    for (; i + 8 <= width; i += 8) {
        rgb8 p = from_pixels ? rgb_of_rgbx(src[0] + 4 * i) : rgb_of_rows(src, i);
        _mm_storeu_si128((__m128i *)(out + 3 * i), p.low);
        _mm_storel_epi64((__m128i *)(out + 3 * i + 16), p.high);
    }
    for (; i < width; i++)
        for (int c = 0; c < 3; c++) out[3 * i + c] = from_pixels ? src[0][4 * i + c] : src[c][i];
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

const gf_rows gf_rows_avx2[GF_BFLOAT16 + 1][2] = {
    [GF_UINT8] = {{NULL, NULL}, {last_u8, rgbx_last_u8}},
    [GF_FLOAT32] = {{planes_f32, rgbx_planes_f32}, {last_f32, rgbx_last_f32}},
    [GF_FLOAT16] = {{planes_f16, rgbx_planes_f16}, {last_f16, rgbx_last_f16}},
    [GF_BFLOAT16] = {{planes_bf16, rgbx_planes_bf16}, {last_bf16, rgbx_last_bf16}},
};
#endif
