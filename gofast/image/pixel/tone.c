// Grey, brightness, contrast and saturation, as Pillow computes them. The loops
// are plain C, compiled for each instruction set; rows may be read and written in
// the same place, which ivdep allows.
#include "blend.h"

#include <string.h>

// Pillow's L of an RGB pixel: 65536ths, rounded.
INLINE int luma(int r, int g, int b) { return (19595 * r + 38470 * g + 7471 * b + 32768) >> 16; }

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

// A byte decides the result: where all 256 can be looked up by vectors, that is faster.
INLINE void blend_all(const gf_planes *p, int from, float alpha, void (*by_table)(const gf_planes *, const uint8_t[3][256])) {
    gf_span s = gf_span_of(p);
    if (by_table) {
        uint8_t tables[3][256];
        for (int i = 0; i < 256; i++) tables[0][i] = (uint8_t)i;
        blend_row(tables[0], 256, from, alpha);
        memcpy(tables[1], tables[0], 256);
        memcpy(tables[2], tables[0], 256);
        by_table(p, (const uint8_t(*)[256])tables);
        return;
    }
    for (int c = 0; c < p->channels; c++) {
        for (int64_t y = 0; y < s.count; y++) blend_row(p->plane[c] + y * s.stride, s.width, from, alpha);
    }
}

INLINE void contrast(const gf_planes *p, float alpha, void (*by_table)(const gf_planes *, const uint8_t[3][256])) {
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

#define BY_TABLE_plain NULL
#define BY_TABLE_avx2 NULL
#define BY_TABLE_avx512 gf_look_up_avx512
#define TONE(LEVEL, TARGET)                                                                                     \
    TARGET void gf_grey_##LEVEL(gf_planes *p, int channels) { grey(p, channels); }                              \
    TARGET void gf_brightness_##LEVEL(const gf_planes *p, float factor) { blend_all(p, 0, factor, BY_TABLE_##LEVEL); } \
    TARGET void gf_contrast_##LEVEL(const gf_planes *p, float factor) { contrast(p, factor, BY_TABLE_##LEVEL); } \
    TARGET void gf_saturation_##LEVEL(const gf_planes *p, float factor) { saturation(p, factor); }

LEVELS(TONE)
