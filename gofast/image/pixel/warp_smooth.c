// Image.transform by the four or sixteen pixels around a place, in doubles, as Pillow computes it.
#include "warp.h"

#include <string.h>

// Where a run of pixels is seen: between pixel x, y, which may lie one outside, and the next ones.
typedef struct {
    double dx[GF_WARP_RUN], dy[GF_WARP_RUN];
    int32_t x[GF_WARP_RUN], y[GF_WARP_RUN];
    uint8_t inside[GF_WARP_RUN]; // 255, or 0
    uint8_t out[GF_WARP_RUN];    // what is made of those outside: 255 the colour; 0 black
} run;

// Says whether any lies inside.
INLINE int find(const gf_planes *src, const gf_transform *t, int32_t from, int32_t count, int32_t line, int depths, run *r) {
    const double *n = t->numbers;
    double width = src->width, height = src->height, y = line + 0.5;
    int any = 0;
    for (int32_t i = 0; i < count; i++) {
        double x = from + i + 0.5;
        double at_x = n[0] * x + n[1] * y + n[2], at_y = n[3] * x + n[4] * y + n[5];
        if (depths) {
            double depth = n[6] * x + n[7] * y + 1;
            at_x /= depth;
            at_y /= depth;
            r->out[i] = at_x != at_x && at_y != at_y ? 0 : 255; // to Pillow what is no number is inside, and its colour 0
        }
        int inside = (at_x >= 0) & (at_x < width) & (at_y >= 0) & (at_y < height);
        any |= inside;
        r->inside[i] = (uint8_t)-inside;
        at_x = inside ? at_x - 0.5 : 0;
        at_y = inside ? at_y - 0.5 : 0;
        r->x[i] = (int32_t)at_x - (at_x < 0);
        r->y[i] = (int32_t)at_y - (at_y < 0);
        r->dx[i] = at_x - r->x[i];
        r->dy[i] = at_y - r->y[i];
    }
    return any;
}

INLINE int32_t clip(int32_t v, int32_t end) { return v < 0 ? 0 : v < end ? v : end - 1; }

INLINE double between(double a, double b, double d) { return a + (b - a) * d; }

// The places of two neighbours in the row above and in that below. At a picture's edge the pair lies inside of it, and dx
// picks the one that Pillow takes twice: exactly, since bytes are subtracted and added.
INLINE void pair(const gf_planes *src, int32_t count, run *r, int32_t *upper, int32_t *lower) {
    int32_t stride = (int32_t)src->stride, width = src->width, height = src->height, last = width > 1 ? width - 2 : 0;
    for (int32_t i = 0; i < count; i++) {
        int32_t x = r->x[i];
        r->dx[i] = x < 0 ? 0 : x > last ? 1 : r->dx[i];
        x = x < 0 ? 0 : x > last ? last : x;
        upper[i] = clip(r->y[i], height) * stride + x;
        lower[i] = clip(r->y[i] + 1, height) * stride + x;
    }
}

INLINE void load(const uint8_t *plane, const int32_t *at, int32_t count, int alone, uint16_t *pairs) {
    for (int32_t i = 0; i < count; i++) {
        if (alone) pairs[i] = (uint16_t)(plane[at[i]] * 257);
        else memcpy(pairs + i, plane + at[i], 2);
    }
}

INLINE void bilinear(const uint8_t *plane, const int32_t *upper, const int32_t *lower, int32_t count, int alone, const run *r, uint8_t *out) {
    uint16_t above[GF_WARP_RUN], below[GF_WARP_RUN];
    load(plane, upper, count, alone, above);
    load(plane, lower, count, alone, below);
    for (int32_t i = 0; i < count; i++) {
        double a = between(above[i] & 255, above[i] >> 8, r->dx[i]), b = between(below[i] & 255, below[i] >> 8, r->dx[i]);
        out[i] = (uint8_t)(int32_t)between(a, b, r->dy[i]);
    }
}

INLINE double cubic(double a, double b, double c, double d, double x) {
    double p2 = -a + c, p3 = 2 * (a - b) + c - d, p4 = -a + b - c + d;
    return b + x * (p2 + x * (p3 + x * p4));
}

// Of each place the four pixels of one of its rows, as the bytes of a number. Beyond an edge pixels are like those at it.
INLINE void load_four(const uint8_t *plane, const int32_t *rows, const int32_t *x, int32_t count, int32_t width, uint32_t *four) {
    for (int32_t i = 0; i < count; i++) {
        const uint8_t *row = plane + rows[i];
        int32_t at = x[i] - 1;
        if (at >= 0 && at < width - 3) memcpy(four + i, row + at, 4);
        else four[i] = row[clip(at, width)] | row[clip(at + 1, width)] << 8 | row[clip(at + 2, width)] << 16 | (uint32_t)row[clip(at + 3, width)] << 24;
    }
}

INLINE void rows_around(const gf_planes *src, int32_t count, const run *r, int32_t rows[4][GF_WARP_RUN]) {
    int32_t stride = (int32_t)src->stride, height = src->height;
    for (int32_t k = 0; k < 4; k++)
        for (int32_t i = 0; i < count; i++) rows[k][i] = clip(r->y[i] - 1 + k, height) * stride;
}

// A loop for each stage: gcc makes vectors of all but the loads.
INLINE void bicubic(const uint8_t *plane, int32_t rows[4][GF_WARP_RUN], int32_t count, int32_t width, const run *r, uint8_t *out) {
    double v[4][GF_WARP_RUN];
    for (int32_t k = 0; k < 4; k++) {
        uint32_t four[GF_WARP_RUN];
        load_four(plane, rows[k], r->x, count, width, four);
        for (int32_t i = 0; i < count; i++) {
            uint32_t f = four[i];
            v[k][i] = cubic((int32_t)(f & 255), (int32_t)(f >> 8 & 255), (int32_t)(f >> 16 & 255), (int32_t)(f >> 24), r->dx[i]);
        }
    }
    for (int32_t i = 0; i < count; i++) {
        double value = cubic(v[0][i], v[1][i], v[2][i], v[3][i], r->dy[i]);
        out[i] = (uint8_t)(int32_t)(value <= 0 ? 0 : value >= 255 ? 255 : value);
    }
}

INLINE void smooth(const gf_planes *src, const gf_transform *t, const gf_planes *dst) {
    run r;
    memset(r.out, 255, sizeof r.out);
    for (int32_t y = 0; y < dst->height; y++) {
        for (int32_t from = 0, count; from < dst->width; from += count) {
            int32_t rows[4][GF_WARP_RUN], *upper = rows[0], *lower = rows[1];
            count = dst->width - from < GF_WARP_RUN ? dst->width - from : GF_WARP_RUN;
            int any = t->perspective ? find(src, t, from, count, y, 1, &r) : find(src, t, from, count, y, 0, &r);
            if (any && t->filter == GF_SEEN_BILINEAR) pair(src, count, &r, upper, lower);
            else if (any) rows_around(src, count, &r, rows);
            for (int c = 0; c < dst->channels; c++) {
                uint8_t *out = dst->plane[c] + y * dst->stride + from, fill = t->fill[c];
                if (!any) memset(out, 0, (size_t)count);
                else if (t->filter != GF_SEEN_BILINEAR) bicubic(src->plane[c], rows, count, src->width, &r, out);
                else if (src->width == 1) bilinear(src->plane[c], upper, lower, count, 1, &r, out);
                else bilinear(src->plane[c], upper, lower, count, 0, &r, out);
                for (int32_t i = 0; i < count; i++) out[i] = (out[i] & r.inside[i]) | (fill & r.out[i] & ~r.inside[i]);
            }
        }
    }
}

#define SMOOTH(LEVEL, TARGET) \
    TARGET void gf_warp_smooth_##LEVEL(const gf_planes *src, const gf_transform *t, const gf_planes *dst) { smooth(src, t, dst); }

LEVELS(SMOOTH)
