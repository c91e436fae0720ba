// The row functions: storage type -> output type, with or without arithmetic.
//
// Exactness. Arithmetic is done in float32, in torchvision's order (x / 255,
// then minus mean, then divided by std), every step rounded; then the result is
// converted to the output type. Without arithmetic a value is rounded once, from
// the storage type to the output type, as numpy's astype does.
#include "gather.h"

#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
// One source, three machines; the dynamic linker picks (ifunc).
#define CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define CLONES
#endif

static inline uint16_t to_bfloat16(float f) {
    uint32_t bits;
    memcpy(&bits, &f, 4);
    uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
    return (bits & 0x7fffffff) > 0x7f800000 ? 0x7fc0 : (uint16_t)rounded; // torch's quiet NaN
}

// Round to nearest even, by the bits: vectorises, and needs no half type.
static inline uint16_t to_float16(float f) {
    uint32_t bits;
    memcpy(&bits, &f, 4);
    uint32_t sign = (bits >> 16) & 0x8000, mag = bits & 0x7fffffff;
    uint32_t normal = (mag + 0xc8000fff + ((mag >> 13) & 1)) >> 13; // rebias by -112, round
    // Below 2^-14 the result is subnormal: adding 0.5 leaves the rounded
    // significand in the low bits.
    float magf, sum;
    memcpy(&magf, &mag, 4);
    sum = magf + 0.5f;
    uint32_t sub;
    memcpy(&sub, &sum, 4);
    sub -= 0x3f000000;
    uint32_t h = mag < 0x38800000 ? sub : normal;
    h = mag >= 0x477ff000 ? 0x7c00 : h;  // rounds to infinity
    h = mag > 0x7f800000 ? 0x7e00 : h;   // NaN
    return (uint16_t)(sign | h);
}

// A double rounds to float16 once: rounding to odd in between keeps the bits
// that decide.
static inline uint16_t double_to_float16(double d) {
    float f = (float)d;
    if ((double)f != d && f == f) {
        uint32_t bits;
        memcpy(&bits, &f, 4);
        if ((bits & 0x7fffffff) != 0x7f800000 && !(bits & 1)) {
            double back = (double)f;
            // Step to the odd neighbour on the side of d.
            int away = (d > back) == !(bits >> 31);
            if ((bits & 0x7fffffff) == 0) bits = (d < 0 ? 0x80000001u : 1u);
            else bits += away ? 1 : -1;
            memcpy(&f, &bits, 4);
        } else if ((bits & 0x7fffffff) == 0x7f800000) {
            return (uint16_t)((bits >> 16 & 0x8000) | 0x7c00);
        }
    }
    return to_float16(f);
}

#define AS_FLOAT32(v) ((float)(v))
#define AS_FLOAT64(v) ((double)(v))
#define AS_BFLOAT16(v) to_bfloat16((float)(v))
#define AS_FLOAT16(v) to_float16((float)(v))
#define AS_FLOAT16_D(v) double_to_float16((double)(v))

// Direct conversion, one rounding.
#define DIRECT(NAME, S, D, CONVERT)                                                    \
    CLONES static void NAME(const gf_program *p, const void *src, void *dst) {         \
        const S *restrict s = src;                                                     \
        D *restrict d = dst;                                                           \
        for (int64_t i = 0; i < p->width; i++) d[i] = CONVERT(s[i]);                   \
    }

// (x [/ 255] [- mean) / std] in float32, then to the output type.
#define SCALED(NAME, S, D, CONVERT)                                                    \
    CLONES static void NAME(const gf_program *p, const void *src, void *dst) {         \
        const S *restrict s = src;                                                     \
        D *restrict d = dst;                                                           \
        const float *restrict mean = p->mean, *restrict std = p->std;                  \
        if (!p->normalise) {                                                           \
            for (int64_t i = 0; i < p->width; i++) d[i] = CONVERT((float)s[i] / 255.0f); \
        } else if (p->unit) {                                                          \
            for (int64_t i = 0; i < p->width; i++)                                     \
                d[i] = CONVERT(((float)s[i] / 255.0f - mean[i]) / std[i]);             \
        } else {                                                                       \
            for (int64_t i = 0; i < p->width; i++) d[i] = CONVERT(((float)s[i] - mean[i]) / std[i]); \
        }                                                                              \
    }

#define ALL_OUT(KIND, PREFIX, S, HALF)                   \
    KIND(PREFIX##_f32, S, float, AS_FLOAT32)             \
    KIND(PREFIX##_f16, S, uint16_t, HALF)                \
    KIND(PREFIX##_bf16, S, uint16_t, AS_BFLOAT16)        \
    KIND(PREFIX##_f64, S, double, AS_FLOAT64)

ALL_OUT(DIRECT, direct_u8, uint8_t, AS_FLOAT16)
ALL_OUT(DIRECT, direct_i16, int16_t, AS_FLOAT16)
ALL_OUT(DIRECT, direct_i32, int32_t, AS_FLOAT16)
ALL_OUT(DIRECT, direct_i64, int64_t, AS_FLOAT16)
ALL_OUT(DIRECT, direct_f32, float, AS_FLOAT16)
ALL_OUT(DIRECT, direct_f64, double, AS_FLOAT16_D)
ALL_OUT(SCALED, scaled_u8, uint8_t, AS_FLOAT16)
ALL_OUT(SCALED, scaled_i16, int16_t, AS_FLOAT16)
ALL_OUT(SCALED, scaled_i32, int32_t, AS_FLOAT16)
ALL_OUT(SCALED, scaled_i64, int64_t, AS_FLOAT16)
ALL_OUT(SCALED, scaled_f32, float, AS_FLOAT16)
ALL_OUT(SCALED, scaled_f64, double, AS_FLOAT16)

// Between integer types: the caller has seen that every stored value fits.
#define WHOLE(v) v
DIRECT(whole_u8_i16, uint8_t, int16_t, WHOLE)
DIRECT(whole_u8_i32, uint8_t, int32_t, WHOLE)
DIRECT(whole_u8_i64, uint8_t, int64_t, WHOLE)
DIRECT(whole_i16_u8, int16_t, uint8_t, WHOLE)
DIRECT(whole_i16_i32, int16_t, int32_t, WHOLE)
DIRECT(whole_i16_i64, int16_t, int64_t, WHOLE)
DIRECT(whole_i32_u8, int32_t, uint8_t, WHOLE)
DIRECT(whole_i32_i16, int32_t, int16_t, WHOLE)
DIRECT(whole_i32_i64, int32_t, int64_t, WHOLE)
DIRECT(whole_i64_u8, int64_t, uint8_t, WHOLE)
DIRECT(whole_i64_i16, int64_t, int16_t, WHOLE)
DIRECT(whole_i64_i32, int64_t, int32_t, WHOLE)

static void copy(const gf_program *p, const void *src, void *dst) { memcpy(dst, src, (size_t)p->row_bytes); }

// [storage - 1][out - GF_OUT_UINT8]
static const gf_row_fn whole[4][4] = {
    {copy, whole_u8_i16, whole_u8_i32, whole_u8_i64},
    {whole_i16_u8, copy, whole_i16_i32, whole_i16_i64},
    {whole_i32_u8, whole_i32_i16, copy, whole_i32_i64},
    {whole_i64_u8, whole_i64_i16, whole_i64_i32, copy},
};

// [arithmetic][storage - 1][out]
static const gf_row_fn general[2][6][4] = {
    {
        {direct_u8_f32, direct_u8_f16, direct_u8_bf16, direct_u8_f64},
        {direct_i16_f32, direct_i16_f16, direct_i16_bf16, direct_i16_f64},
        {direct_i32_f32, direct_i32_f16, direct_i32_bf16, direct_i32_f64},
        {direct_i64_f32, direct_i64_f16, direct_i64_bf16, direct_i64_f64},
        {direct_f32_f32, direct_f32_f16, direct_f32_bf16, direct_f32_f64},
        {direct_f64_f32, direct_f64_f16, direct_f64_bf16, direct_f64_f64},
    },
    {
        {scaled_u8_f32, scaled_u8_f16, scaled_u8_bf16, scaled_u8_f64},
        {scaled_i16_f32, scaled_i16_f16, scaled_i16_bf16, scaled_i16_f64},
        {scaled_i32_f32, scaled_i32_f16, scaled_i32_bf16, scaled_i32_f64},
        {scaled_i64_f32, scaled_i64_f16, scaled_i64_bf16, scaled_i64_f64},
        {scaled_f32_f32, scaled_f32_f16, scaled_f32_bf16, scaled_f32_f64},
        {scaled_f64_f32, scaled_f64_f16, scaled_f64_bf16, scaled_f64_f64},
    },
};

#if defined(__x86_64__)
// x / 255 for x in 0..255 equals fma(x, 1/255, x * (1/255 - float(1/255)))
// exactly (a test walks all 256): 2 instructions instead of a division.
__attribute__((target("arch=x86-64-v4"))) static void unit_u8_f32_v4(const gf_program *p, const void *src, void *dst) {
    const uint8_t *s = src;
    float *d = dst;
    const float hi = 1.0f / 255.0f, lo = (float)(1.0 / 255.0 - (double)hi);
    const __m512 vhi = _mm512_set1_ps(hi), vlo = _mm512_set1_ps(lo);
    int64_t i = 0;
    for (; i + 16 <= p->width; i += 16) {
        __m512 v = _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)(s + i))));
        _mm512_storeu_ps(d + i, _mm512_fmadd_ps(v, vhi, _mm512_mul_ps(v, vlo)));
    }
    for (; i < p->width; i++) d[i] = (float)s[i] / 255.0f;
}

__attribute__((target("arch=x86-64-v3"))) static void unit_u8_f32_v3(const gf_program *p, const void *src, void *dst) {
    const uint8_t *s = src;
    float *d = dst;
    const float hi = 1.0f / 255.0f, lo = (float)(1.0 / 255.0 - (double)hi);
    const __m256 vhi = _mm256_set1_ps(hi), vlo = _mm256_set1_ps(lo);
    int64_t i = 0;
    for (; i + 8 <= p->width; i += 8) {
        __m256 v = _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(s + i))));
        _mm256_storeu_ps(d + i, _mm256_fmadd_ps(v, vhi, _mm256_mul_ps(v, vlo)));
    }
    for (; i < p->width; i++) d[i] = (float)s[i] / 255.0f;
}

// Looks 64 bytes up in one 256-byte plane of the table, held in 4 registers.
#define PLANE(t0, t1, t2, t3, index, high)                                                    \
    _mm512_mask_blend_epi8(high, _mm512_permutex2var_epi8(t0, index, t1), _mm512_permutex2var_epi8(t2, index, t3))

// Any function of a byte with float32 results: four byte planes of the table
// looked up 64 values at a time. 2 divisions a value become 0.4 cycles a value.
__attribute__((target("arch=x86-64-v4,avx512vbmi"))) static void table_u8_f32_vbmi(const gf_program *p, const void *src, void *dst) {
    const uint8_t *s = src;
    uint8_t *d = dst;
    // The planes lie behind the table: table[1024 + 256 * plane].
    __m512i t[4][4];
    for (int plane = 0; plane < 4; plane++)
        for (int q = 0; q < 4; q++) t[plane][q] = _mm512_loadu_si512(p->table + 1024 + 256 * plane + 64 * q);
    for (int64_t i = 0; i < p->width; i += 64) {
        int64_t left = p->width - i;
        __mmask64 some = left >= 64 ? ~(__mmask64)0 : ((__mmask64)1 << left) - 1;
        __m512i index = _mm512_maskz_loadu_epi8(some, s + i);
        __mmask64 high = _mm512_movepi8_mask(index);
        __m512i b0 = PLANE(t[0][0], t[0][1], t[0][2], t[0][3], index, high);
        __m512i b1 = PLANE(t[1][0], t[1][1], t[1][2], t[1][3], index, high);
        __m512i b2 = PLANE(t[2][0], t[2][1], t[2][2], t[2][3], index, high);
        __m512i b3 = PLANE(t[3][0], t[3][1], t[3][2], t[3][3], index, high);
        // Bytes to floats, inside each 128-bit lane; then lanes to their places.
        __m512i lo01 = _mm512_unpacklo_epi8(b0, b1), hi01 = _mm512_unpackhi_epi8(b0, b1);
        __m512i lo23 = _mm512_unpacklo_epi8(b2, b3), hi23 = _mm512_unpackhi_epi8(b2, b3);
        __m512i f0 = _mm512_unpacklo_epi16(lo01, lo23), f1 = _mm512_unpackhi_epi16(lo01, lo23);
        __m512i f2 = _mm512_unpacklo_epi16(hi01, hi23), f3 = _mm512_unpackhi_epi16(hi01, hi23);
        __m512i a0 = _mm512_shuffle_i32x4(f0, f1, 0x44), a1 = _mm512_shuffle_i32x4(f2, f3, 0x44);
        __m512i a2 = _mm512_shuffle_i32x4(f0, f1, 0xee), a3 = _mm512_shuffle_i32x4(f2, f3, 0xee);
        __m512i o0 = _mm512_shuffle_i32x4(a0, a1, 0x88), o1 = _mm512_shuffle_i32x4(a0, a1, 0xdd);
        __m512i o2 = _mm512_shuffle_i32x4(a2, a3, 0x88), o3 = _mm512_shuffle_i32x4(a2, a3, 0xdd);
        float *out = (float *)d + i;
        if (left >= 64) {
            _mm512_storeu_si512(out, o0);
            _mm512_storeu_si512(out + 16, o1);
            _mm512_storeu_si512(out + 32, o2);
            _mm512_storeu_si512(out + 48, o3);
        } else {
            _mm512_mask_storeu_epi32(out, (__mmask16)some, o0);
            _mm512_mask_storeu_epi32(out + 16, (__mmask16)(some >> 16), o1);
            _mm512_mask_storeu_epi32(out + 32, (__mmask16)(some >> 32), o2);
            _mm512_mask_storeu_epi32(out + 48, (__mmask16)(some >> 48), o3);
        }
    }
}
#endif

static void table_u8_16(const gf_program *p, const void *src, void *dst) {
    const uint8_t *restrict s = src;
    uint16_t *restrict d = dst;
    const uint16_t *restrict table = (const uint16_t *)p->table;
    for (int64_t i = 0; i < p->width; i++) d[i] = table[s[i]];
}

static void table_u8_32(const gf_program *p, const void *src, void *dst) {
    const uint8_t *restrict s = src;
    float *restrict d = dst;
    const float *restrict table = (const float *)p->table;
    for (int64_t i = 0; i < p->width; i++) d[i] = table[s[i]];
}

void gf_program_prepare(gf_program *p, int variant) {
    int arithmetic = p->unit || p->normalise;
    if (p->out >= GF_OUT_UINT8) {
        // The caller allows integers of stored integers without arithmetic only.
        p->row = whole[p->storage - 1][p->out - GF_OUT_UINT8];
        return;
    }
    p->row = general[arithmetic][p->storage - 1][p->out];
    if (p->storage != GF_UINT8 || !arithmetic || variant != 0) return;
    if (p->table && p->out == GF_OUT_FLOAT32) p->row = table_u8_32;
    if (p->table && (p->out == GF_OUT_FLOAT16 || p->out == GF_OUT_BFLOAT16)) p->row = table_u8_16;
#if defined(__x86_64__)
    __builtin_cpu_init();
    int v4 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
             __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx2");
    int v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    if (p->out != GF_OUT_FLOAT32) return;
    if (p->table && v4 && __builtin_cpu_supports("avx512vbmi")) p->row = table_u8_f32_vbmi;
    if (!p->normalise && v4) p->row = unit_u8_f32_v4;
    else if (!p->normalise && v3) p->row = unit_u8_f32_v3;
#endif
}
