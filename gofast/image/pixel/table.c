// Histograms, and bytes by table: what equalising, stretching and blending with one colour come to.
#include "ops.h"

#include <string.h>

// Four counts side by side: equal neighbours would wait for one another.
void gf_histogram(const gf_planes *p, uint32_t counts[3][256]) {
    gf_span s = gf_span_of(p);
    memset(counts, 0, 3 * sizeof counts[0]);
    for (int c = 0; c < p->channels; c++) {
        uint32_t parts[4][256] = {{0}};
        for (int64_t y = 0; y < s.count; y++) {
            const uint8_t *row = p->plane[c] + y * s.stride;
            int64_t i = 0;
            for (; i + 4 <= s.width; i += 4) {
                for (int k = 0; k < 4; k++) parts[k][row[i + k]]++;
            }
            for (; i < s.width; i++) parts[0][row[i]]++;
        }
        for (int v = 0; v < 256; v++) counts[c][v] = parts[0][v] + parts[1][v] + parts[2][v] + parts[3][v];
    }
}

#define PLAINLY(LEVEL)                                                                      \
    static void look_up_row_##LEVEL(uint8_t *row, int64_t width, const uint8_t table[256]) { \
        for (int64_t i = 0; i < width; i++) row[i] = table[row[i]];                          \
    }

PLAINLY(plain)

#if defined(__x86_64__)
#include <immintrin.h>

PLAINLY(avx2)

AVX512 static void look_up_row_avx512(uint8_t *row, int64_t width, const uint8_t table[256]) {
    __m512i t0 = _mm512_loadu_si512(table), t1 = _mm512_loadu_si512(table + 64);
    __m512i t2 = _mm512_loadu_si512(table + 128), t3 = _mm512_loadu_si512(table + 192);
    for (int64_t i = 0; i < width; i += 64) {
        __mmask64 mask = width - i >= 64 ? ~0ULL : ~0ULL >> (64 - (width - i));
        __m512i v = _mm512_maskz_loadu_epi8(mask, row + i);
        __m512i low = _mm512_permutex2var_epi8(t0, v, t1), high = _mm512_permutex2var_epi8(t2, v, t3);
        _mm512_mask_storeu_epi8(row + i, mask, _mm512_mask_blend_epi8(_mm512_movepi8_mask(v), low, high));
    }
}
#endif

#define LOOK_UP(LEVEL, TARGET)                                                                                             \
    void gf_look_up_##LEVEL(const gf_planes *p, const uint8_t tables[3][256]) {                                            \
        gf_span s = gf_span_of(p);                                                                                         \
        for (int c = 0; c < p->channels; c++)                                                                              \
            for (int64_t y = 0; y < s.count; y++) look_up_row_##LEVEL(p->plane[c] + y * s.stride, s.width, tables[c]);     \
    }

LEVELS(LOOK_UP)
