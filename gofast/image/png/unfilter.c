#include <string.h>

#include "rows.h"

// The plain forms; pixel is the bytes of a pixel, at least 1.

static void sub_plain(uint8_t *row, const uint8_t *above, size_t n, int pixel) {
    (void)above;
    for (size_t i = (size_t)pixel; i < n; i++) row[i] += row[i - (size_t)pixel];
}

static void up_plain(uint8_t *row, const uint8_t *above, size_t n, int pixel) {
    (void)pixel;
    for (size_t i = 0; i < n; i++) row[i] += above[i];
}

static void average_plain(uint8_t *row, const uint8_t *above, size_t n, int pixel) {
    size_t k = (size_t)pixel;
    for (size_t i = 0; i < n && i < k; i++) row[i] += above[i] / 2;
    for (size_t i = k; i < n; i++) row[i] += (row[i - k] + above[i]) / 2;
}

static void paeth_plain(uint8_t *row, const uint8_t *above, size_t n, int pixel) {
    size_t k = (size_t)pixel;
    for (size_t i = 0; i < n && i < k; i++) row[i] += above[i];
    for (size_t i = k; i < n; i++) {
        int a = row[i - k], b = above[i], c = above[i - k];
        int from_a = b - c, from_b = a - c, from_c = from_a + from_b;
        if (from_a < 0) from_a = -from_a;
        if (from_b < 0) from_b = -from_b;
        if (from_c < 0) from_c = -from_c;
        row[i] += (uint8_t)(from_a <= from_b && from_a <= from_c ? a : from_b <= from_c ? b : c);
    }
}

static const gf_png_unfilter_fn plain[5] = {NULL, sub_plain, up_plain, average_plain, paeth_plain};

#if defined(__x86_64__)

#include <immintrin.h>

// One pixel in a step: each needs the one before it, so a wider vector gains nothing. The next pixel is read before this
// one is written, because a pixel of 3 bytes is written as 4. The row's last pixel is written exactly.

static inline __m128i load(const uint8_t *p) {
    int32_t v;
    memcpy(&v, p, 4);
    return _mm_cvtsi32_si128(v);
}

static inline void store(uint8_t *p, __m128i v, size_t bytes) {
    int32_t x = _mm_cvtsi128_si32(v);
    memcpy(p, &x, bytes);
}

#define PIXELS(NAME, SIZE, TARGET, STEP)                                                                               \
    __attribute__((target(TARGET))) static void NAME(uint8_t *row, const uint8_t *above, size_t n, int pixel) {        \
        (void)pixel, (void)above;                                                                                      \
        const __m128i zero = _mm_setzero_si128();                                                                      \
        __m128i a = zero, c = zero, next = load(row);                                                                  \
        (void)c, (void)zero;                                                                                           \
        for (size_t i = 0; i < n; i += SIZE) {                                                                         \
            __m128i x = next;                                                                                          \
            next = load(row + i + SIZE);                                                                               \
            STEP;                                                                                                      \
            if (i + SIZE < n) store(row + i, a, 4);                                                                    \
            else store(row + i, a, SIZE);                                                                              \
        }                                                                                                              \
    }

#define SUB a = _mm_add_epi8(a, x)

// (a + b) / 2 rounded down is the result of pavgb, which rounds up, minus the bit that it added.
#define AVERAGE                                                                                                        \
    __m128i b = load(above + i);                                                                                       \
    __m128i up = _mm_and_si128(_mm_xor_si128(a, b), _mm_set1_epi8(1));                                                 \
    a = _mm_add_epi8(x, _mm_sub_epi8(_mm_avg_epu8(a, b), up))

// Uses words, because distances need 9 bits. a and c are kept as words. If distances are equal, a comes first, then b.
#define PAETH                                                                                                          \
    __m128i b = _mm_unpacklo_epi8(load(above + i), zero);                                                              \
    __m128i to_a = _mm_sub_epi16(b, c), to_b = _mm_sub_epi16(wide, c);                                                 \
    __m128i to_c = _mm_abs_epi16(_mm_add_epi16(to_a, to_b));                                                           \
    to_a = _mm_abs_epi16(to_a), to_b = _mm_abs_epi16(to_b);                                                            \
    __m128i least = _mm_min_epi16(to_c, _mm_min_epi16(to_a, to_b));                                                    \
    __m128i best = _mm_blendv_epi8(c, b, _mm_cmpeq_epi16(least, to_b));                                                \
    best = _mm_blendv_epi8(best, wide, _mm_cmpeq_epi16(least, to_a));                                                  \
    wide = _mm_and_si128(_mm_add_epi16(_mm_unpacklo_epi8(x, zero), best), _mm_set1_epi16(255));                        \
    c = b;                                                                                                             \
    a = _mm_packus_epi16(wide, wide)

PIXELS(sub_3, 3, "sse2", SUB)
PIXELS(sub_4, 4, "sse2", SUB)
PIXELS(average_3, 3, "sse2", AVERAGE)
PIXELS(average_4, 4, "sse2", AVERAGE)

#undef PIXELS
#define PIXELS(NAME, SIZE)                                                                                             \
    __attribute__((target("sse4.1"))) static void NAME(uint8_t *row, const uint8_t *above, size_t n, int pixel) {      \
        (void)pixel;                                                                                                   \
        const __m128i zero = _mm_setzero_si128();                                                                      \
        __m128i a, wide = zero, c = zero, next = load(row);                                                            \
        for (size_t i = 0; i < n; i += SIZE) {                                                                         \
            __m128i x = next;                                                                                          \
            next = load(row + i + SIZE);                                                                               \
            PAETH;                                                                                                     \
            if (i + SIZE < n) store(row + i, a, 4);                                                                    \
            else store(row + i, a, SIZE);                                                                              \
        }                                                                                                              \
    }

PIXELS(paeth_3, 3)
PIXELS(paeth_4, 4)

static const gf_png_unfilter_fn of_3[5] = {NULL, sub_3, up_plain, average_3, paeth_3};
static const gf_png_unfilter_fn of_4[5] = {NULL, sub_4, up_plain, average_4, paeth_4};

const gf_png_unfilter_fn *gf_png_unfilter(int variant, int pixel) {
    if (variant || (pixel != 3 && pixel != 4) || !__builtin_cpu_supports("sse4.1")) return plain;
    return pixel == 3 ? of_3 : of_4;
}

#else

const gf_png_unfilter_fn *gf_png_unfilter(int variant, int pixel) {
    (void)variant, (void)pixel;
    return plain;
}

#endif
