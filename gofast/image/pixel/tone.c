// Grey, brightness, contrast and saturation, as Pillow computes them. The loops
// are plain C, compiled for each instruction set; rows may be read and written in
// the same place, which ivdep allows.
#include "ops.h"

#include <string.h>

// Pillow's L of an RGB pixel: 65536ths, rounded.
INLINE int luma(int r, int g, int b) { return (19595 * r + 38470 * g + 7471 * b + 32768) >> 16; }

// Image.blend of two bytes: float32, each step rounded, cut off. Pillow clips only
// where alpha is outside of 0 to 1; inside, clipping changes nothing.
INLINE uint8_t blend(int from, int to, float alpha) {
    float x = (float)(to - from) * alpha;
    x = (float)from + x;
    x = x > 0.0f ? x : 0.0f;
    x = x < 255.0f ? x : 255.0f;
    return (uint8_t)(int)x;
}

INLINE void grey_row(const uint8_t *r, const uint8_t *g, const uint8_t *b, int64_t width, uint8_t *out) {
#pragma GCC ivdep
    for (int64_t i = 0; i < width; i++) out[i] = (uint8_t)luma(r[i], g[i], b[i]);
}

INLINE uint64_t grey_sum(const uint8_t *r, const uint8_t *g, const uint8_t *b, int64_t width) {
    const int64_t run = 1 << 20; // whose sum fits 32 bits
    uint64_t total = 0;
    for (int64_t from = 0; from < width; from += run) {
        int64_t to = width - from < run ? width : from + run;
        uint32_t sum = 0;
        for (int64_t i = from; i < to; i++) sum += (uint32_t)luma(r[i], g[i], b[i]);
        total += sum;
    }
    return total;
}

INLINE void saturation_row(uint8_t *r, uint8_t *g, uint8_t *b, int64_t width, float alpha) {
#pragma GCC ivdep
    for (int64_t i = 0; i < width; i++) {
        int grey = luma(r[i], g[i], b[i]);
        uint8_t red = blend(grey, r[i], alpha), green = blend(grey, g[i], alpha), blue = blend(grey, b[i], alpha);
        r[i] = red;
        g[i] = green;
        b[i] = blue;
    }
}

INLINE void blend_row(uint8_t *row, int64_t width, int from, float alpha) {
#pragma GCC ivdep
    for (int64_t i = 0; i < width; i++) row[i] = blend(from, row[i], alpha);
}

// A byte decides the result, so that AVX-512 looks all 256 up.
#if defined(__x86_64__)
#include <immintrin.h>

AVX512 static void look_up(uint8_t *row, int64_t width, const uint8_t table[256]) {
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

INLINE void blend_all(const gf_planes *p, int from, float alpha, int by_table) {
    gf_span s = gf_span_of(p);
    uint8_t table[256];
    for (int i = 0; i < 256; i++) table[i] = (uint8_t)i;
    if (by_table) blend_row(table, 256, from, alpha);
    for (int c = 0; c < p->channels; c++) {
        for (int64_t y = 0; y < s.count; y++) {
            uint8_t *row = p->plane[c] + y * s.stride;
#if defined(__x86_64__)
            if (by_table) {
                look_up(row, s.width, table);
                continue;
            }
#endif
            blend_row(row, s.width, from, alpha);
        }
    }
}

INLINE void contrast(const gf_planes *p, float alpha, int by_table) {
    gf_span s = gf_span_of(p);
    int green = p->channels == 3 ? 1 : 0, blue = p->channels == 3 ? 2 : 0; // grey's own L is itself
    uint64_t sum = 0;
    for (int64_t y = 0; y < s.count; y++)
        sum += grey_sum(p->plane[0] + y * s.stride, p->plane[green] + y * s.stride, p->plane[blue] + y * s.stride, s.width);
    int64_t pixels = s.count * s.width;
    if (!pixels) return;
    blend_all(p, (int)((double)sum / (double)pixels + 0.5), alpha, by_table);
}

INLINE void saturation(const gf_planes *p, float alpha) {
    gf_span s = gf_span_of(p);
    if (p->channels == 1) return;
    for (int64_t y = 0; y < s.count; y++)
        saturation_row(p->plane[0] + y * s.stride, p->plane[1] + y * s.stride, p->plane[2] + y * s.stride, s.width, alpha);
}

INLINE void grey(gf_planes *p, int channels) {
    gf_span s = gf_span_of(p);
    for (int64_t y = 0; y < s.count; y++) {
        int64_t at = y * s.stride;
        if (p->channels == 3) grey_row(p->plane[0] + at, p->plane[1] + at, p->plane[2] + at, s.width, p->plane[0] + at);
        if (channels == 1) continue;
        memcpy(p->plane[1] + at, p->plane[0] + at, (size_t)s.width);
        memcpy(p->plane[2] + at, p->plane[0] + at, (size_t)s.width);
    }
    p->channels = channels;
}

#define BY_TABLE_plain 0
#define BY_TABLE_avx2 0
#define BY_TABLE_avx512 1
#define TONE(LEVEL, TARGET)                                                                                     \
    TARGET void gf_grey_##LEVEL(gf_planes *p, int channels) { grey(p, channels); }                              \
    TARGET void gf_brightness_##LEVEL(const gf_planes *p, float factor) { blend_all(p, 0, factor, BY_TABLE_##LEVEL); } \
    TARGET void gf_contrast_##LEVEL(const gf_planes *p, float factor) { contrast(p, factor, BY_TABLE_##LEVEL); } \
    TARGET void gf_saturation_##LEVEL(const gf_planes *p, float factor) { saturation(p, factor); }

LEVELS(TONE)
