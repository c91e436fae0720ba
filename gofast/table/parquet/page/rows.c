// Columns to rows. A row block is finished before the next is begun, so that
// every cache line of the matrix is written once per tile: 47 MB took 78 ms as
// a simple blocked copy in Go.
#include "page.h"

#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__) // it cannot run before the dynamic linker picks
#define CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define CLONES
#endif

int gf_page_level(void) {
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512vbmi"))
        return GF_AVX512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2")) return GF_AVX2;
#endif
    return GF_PLAIN;
}

typedef int32_t __attribute__((aligned(1))) unaligned32;
typedef int64_t __attribute__((aligned(1))) unaligned64;

CLONES static uint32_t narrow32(const unaligned32 *restrict s, uint8_t *restrict d, int64_t n) {
    uint32_t all = 0;
    for (int64_t i = 0; i < n; i++) {
        all |= (uint32_t)s[i];
        d[i] = (uint8_t)s[i];
    }
    return all;
}

CLONES static uint64_t narrow64(const unaligned64 *restrict s, uint8_t *restrict d, int64_t n) {
    uint64_t all = 0;
    for (int64_t i = 0; i < n; i++) {
        all |= (uint64_t)s[i];
        d[i] = (uint8_t)s[i];
    }
    return all;
}

CLONES static int has_nan32(const float *s, int64_t n) {
    int found = 0;
    for (int64_t i = 0; i < n; i++) found |= s[i] != s[i];
    return found;
}

CLONES static int has_nan64(const double *s, int64_t n) {
    int found = 0;
    for (int64_t i = 0; i < n; i++) found |= s[i] != s[i];
    return found;
}

int gf_has_nan(const void *src, int64_t n, int size) { return size == 4 ? has_nan32(src, n) : has_nan64(src, n); }

int gf_narrow32(const void *src, uint8_t *dst, int64_t n) { return narrow32(src, dst, n) > 255; }
int gf_narrow64(const void *src, uint8_t *dst, int64_t n) { return narrow64(src, dst, n) > 255; }

#define COPY(NAME, T)                                                                                          \
    static void NAME(const uint8_t *src, int64_t column_bytes, int64_t rows, int64_t cols, uint8_t *dst, int64_t row_bytes) { \
        for (int64_t first = 0; first < rows; first += 16) {                                                   \
            int64_t last = first + 16 < rows ? first + 16 : rows;                                              \
            for (int64_t c = 0; c < cols; c++) {                                                               \
                const uint8_t *column = src + c * column_bytes;                                                \
                for (int64_t r = first; r < last; r++)                                                         \
                    memcpy(dst + r * row_bytes + c * (int64_t)sizeof(T), column + r * (int64_t)sizeof(T), sizeof(T)); \
            }                                                                                                  \
        }                                                                                                      \
    }

COPY(copy1, uint8_t)
COPY(copy2, uint16_t)
COPY(copy4, uint32_t)
COPY(copy8, uint64_t)

#if defined(__x86_64__)
// 16 columns x 16 rows of bytes: four rounds of interleaving. Every x86-64 has
// these instructions.
static void block16(const uint8_t *src, int64_t column_bytes, uint8_t *dst, int64_t row_bytes) {
    __m128i a[16], b[16];
    for (int i = 0; i < 16; i++) a[i] = _mm_loadu_si128((const __m128i *)(src + i * column_bytes));
    for (int i = 0; i < 8; i++) {
        b[2 * i] = _mm_unpacklo_epi8(a[i], a[i + 8]);
        b[2 * i + 1] = _mm_unpackhi_epi8(a[i], a[i + 8]);
    }
    for (int i = 0; i < 8; i++) {
        a[2 * i] = _mm_unpacklo_epi8(b[i], b[i + 8]);
        a[2 * i + 1] = _mm_unpackhi_epi8(b[i], b[i + 8]);
    }
    for (int i = 0; i < 8; i++) {
        b[2 * i] = _mm_unpacklo_epi8(a[i], a[i + 8]);
        b[2 * i + 1] = _mm_unpackhi_epi8(a[i], a[i + 8]);
    }
    for (int i = 0; i < 8; i++) {
        _mm_storeu_si128((__m128i *)(dst + 2 * i * row_bytes), _mm_unpacklo_epi8(b[i], b[i + 8]));
        _mm_storeu_si128((__m128i *)(dst + (2 * i + 1) * row_bytes), _mm_unpackhi_epi8(b[i], b[i + 8]));
    }
}

// 4 columns x 4 rows of four bytes, and 2 x 2 of eight.
static void block4(const uint8_t *src, int64_t column_bytes, uint8_t *dst, int64_t row_bytes) {
    __m128i a[4], b[4];
    for (int i = 0; i < 4; i++) a[i] = _mm_loadu_si128((const __m128i *)(src + i * column_bytes));
    for (int i = 0; i < 2; i++) {
        b[2 * i] = _mm_unpacklo_epi32(a[i], a[i + 2]);
        b[2 * i + 1] = _mm_unpackhi_epi32(a[i], a[i + 2]);
    }
    for (int i = 0; i < 2; i++) {
        _mm_storeu_si128((__m128i *)(dst + 2 * i * row_bytes), _mm_unpacklo_epi32(b[i], b[i + 2]));
        _mm_storeu_si128((__m128i *)(dst + (2 * i + 1) * row_bytes), _mm_unpackhi_epi32(b[i], b[i + 2]));
    }
}

static void block2(const uint8_t *src, int64_t column_bytes, uint8_t *dst, int64_t row_bytes) {
    __m128i a = _mm_loadu_si128((const __m128i *)src), b = _mm_loadu_si128((const __m128i *)(src + column_bytes));
    _mm_storeu_si128((__m128i *)dst, _mm_unpacklo_epi64(a, b));
    _mm_storeu_si128((__m128i *)(dst + row_bytes), _mm_unpackhi_epi64(a, b));
}

// Some rows, N columns at a time. A 64 x 64 block of bytes in AVX-512 registers
// needs fewer instructions and was slower (81 against 68 ms of processor time
// for train.parquet): its unaligned lines of 64 bytes are split in two. 250,000
// rows of 20 floats took 4.1 ms by copy4, 1.7 in blocks, and 1.5 as one memcpy.
#define ROWS(NAME, SIZE, N, SOME, BLOCK, COPIED)                                                                \
    static void NAME(const uint8_t *src, int64_t column_bytes, int64_t rows, int64_t cols, uint8_t *dst, int64_t row_bytes) { \
        int64_t r = 0;                                                                                         \
        for (; r + SOME <= rows; r += SOME) {                                                                  \
            int64_t c = 0;                                                                                     \
            for (; c + N <= cols; c += N)                                                                      \
                for (int k = 0; k < SOME; k += N)                                                              \
                    BLOCK(src + c * column_bytes + (r + k) * SIZE, column_bytes, dst + (r + k) * row_bytes + c * SIZE, row_bytes); \
            COPIED(src + c * column_bytes + r * SIZE, column_bytes, SOME, cols - c, dst + r * row_bytes + c * SIZE, row_bytes); \
        }                                                                                                      \
        COPIED(src + r * SIZE, column_bytes, rows - r, cols, dst + r * row_bytes, row_bytes);                  \
    }

ROWS(rows1, 1, 16, 64, block16, copy1)
ROWS(rows4, 4, 4, 16, block4, copy4)
ROWS(rows8, 8, 2, 16, block2, copy8)
#endif

void gf_rows(int level, const void *src, int64_t column_bytes, int64_t rows, int64_t cols, int size,
             void *dst, int64_t row_bytes) {
    void (*move)(const uint8_t *, int64_t, int64_t, int64_t, uint8_t *, int64_t) =
        size == 1 ? copy1 : size == 2 ? copy2 : size == 4 ? copy4 : copy8;
#if defined(__x86_64__)
    if (level > GF_PLAIN && size != 2) move = size == 1 ? rows1 : size == 4 ? rows4 : rows8;
#endif
    (void)level;
    move(src, column_bytes, rows, cols, dst, row_bytes);
}
