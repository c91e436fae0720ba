// The row functions: storage type -> output type, with or without arithmetic. numbers.h says what is exact.
#include "gather.h"

#include "../../numbers/round.h"

#include <string.h>

#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__) // it cannot run before the dynamic linker picks
// One source, three machines; the dynamic linker picks (ifunc).
#define CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define CLONES
#endif

#define AS_FLOAT32(v) ((float)(v))
#define AS_FLOAT64(v) ((double)(v))
#define AS_BFLOAT16(v) gf_to_bfloat16((float)(v))
#define AS_FLOAT16(v) gf_to_float16((float)(v))
#define AS_FLOAT16_D(v) gf_double_to_float16((double)(v))

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
        if (!p->numbers.normalise) {                                                   \
            for (int64_t i = 0; i < p->width; i++) d[i] = CONVERT((float)s[i] / 255.0f); \
        } else if (p->numbers.scale == GF_SCALE_DIVIDE) {                              \
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

// [storage - 1][type of the results - 1]
static const gf_row_fn whole[4][4] = {
    {copy, whole_u8_i16, whole_u8_i32, whole_u8_i64},
    {whole_i16_u8, copy, whole_i16_i32, whole_i16_i64},
    {whole_i32_u8, whole_i32_i16, copy, whole_i32_i64},
    {whole_i64_u8, whole_i64_i16, whole_i64_i32, copy},
};

// [arithmetic][storage - 1][type of the results - GF_FLOAT32]
#define ALL_OF(NAME) {NAME##_f32, NAME##_f64, NAME##_f16, NAME##_bf16}
static const gf_row_fn general[2][6][4] = {
    {ALL_OF(direct_u8), ALL_OF(direct_i16), ALL_OF(direct_i32), ALL_OF(direct_i64), ALL_OF(direct_f32), ALL_OF(direct_f64)},
    {ALL_OF(scaled_u8), ALL_OF(scaled_i16), ALL_OF(scaled_i32), ALL_OF(scaled_i64), ALL_OF(scaled_f32), ALL_OF(scaled_f64)},
};

// Bytes of which all results are known. A row's channels lie one after the other.
static void coded(const gf_program *p, const void *src, void *dst) {
    int64_t plane = p->width / p->numbers.channels, made = plane * p->numbers.size;
    for (int64_t c = 0; c < p->numbers.channels; c++)
        p->look_up(p->codes + c, (const uint8_t *)src + c * plane, plane, (uint8_t *)dst + c * made);
}

void gf_program_prepare(gf_program *p, int portable) {
    const gf_numbers *n = &p->numbers;
    // The caller allows integers of stored integers without arithmetic only.
    if (n->type < GF_FLOAT32) p->row = whole[p->storage - 1][n->type - 1];
    else p->row = general[n->scale != GF_SCALE_CAST || n->normalise][p->storage - 1][n->type - GF_FLOAT32];
    if (!p->codes || portable) return;
    p->look_up = gf_codes_choose(n, gf_codes_level());
    p->row = coded;
}
