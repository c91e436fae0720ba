// Image.transform by the four or sixteen pixels around a place, in doubles, as Pillow computes it.
#include "warp.h"

#include <string.h>

// Where a run of pixels is seen: between pixel x, y, which may lie one outside, and the next ones.
typedef struct {
    double dx[GF_WARP_RUN], dy[GF_WARP_RUN];
    int32_t x[GF_WARP_RUN], y[GF_WARP_RUN];
    uint8_t inside[GF_WARP_RUN]; // 255, or 0
    uint8_t out[GF_WARP_RUN];    // 255: outside; what is in neither is no number, and black
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
        }
        int inside = (at_x >= 0) & (at_x < width) & (at_y >= 0) & (at_y < height);
        int outside = (at_x < 0) | (at_x >= width) | (at_y < 0) | (at_y >= height);
        any |= inside;
        r->out[i] = (uint8_t)-outside;
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

// Four neighbours side by side, the first in the lowest byte. Those beyond a picture's edge are the edge's.
INLINE void quads(const uint8_t *plane, const int32_t *row, const run *r, int32_t width, int32_t count, uint32_t *four) {
    for (int32_t i = 0; i < count; i++) {
        int32_t x = r->x[i] - 1;
        if (x >= 0 && x + 4 <= width) {
            memcpy(four + i, plane + row[i] + x, 4);
            continue;
        }
        four[i] = 0;
        for (int32_t k = 0; k < 4; k++) four[i] |= (uint32_t)plane[row[i] + clip(x + k, width)] << (8 * k);
    }
}

// As cubic does for doubles: sums of bytes are exact in either, and 16 of them fit a vector.
INLINE void cubics(const uint32_t *four, const double *dx, int32_t count, double *v) {
    for (int32_t i = 0; i < count; i++) {
        int32_t a = four[i] & 255, b = four[i] >> 8 & 255, c = four[i] >> 16 & 255, d = (int32_t)(four[i] >> 24);
        double p2 = c - a, p3 = 2 * (a - b) + c - d, p4 = b - a + d - c;
        v[i] = b + dx[i] * (p2 + dx[i] * (p3 + dx[i] * p4));
    }
}

// Where the four rows begin. Those below the last one are like it; those above the first one are the first.
INLINE void rows(const gf_planes *src, int32_t count, const run *r, int32_t row[4][GF_WARP_RUN]) {
    int32_t stride = (int32_t)src->stride, height = src->height;
    for (int32_t k = 0; k < 4; k++)
        for (int32_t i = 0; i < count; i++) row[k][i] = clip(r->y[i] - 1 + k, height) * stride;
}

INLINE void bicubic(const gf_planes *src, int c, int32_t row[4][GF_WARP_RUN], int32_t count, const run *r, uint8_t *out) {
    double v[4][GF_WARP_RUN];
    for (int32_t k = 0; k < 4; k++) {
        uint32_t four[GF_WARP_RUN];
        quads(src->plane[c], row[k], r, src->width, count, four);
        cubics(four, r->dx, count, v[k]);
    }
    for (int32_t i = 0; i < count; i++) {
        double value = cubic(v[0][i], v[1][i], v[2][i], v[3][i], r->dy[i]);
        value = value <= 0 ? 0 : value >= 255 ? 255 : value;
        out[i] = (uint8_t)(int32_t)value;
    }
}

INLINE void smooth(const gf_planes *src, const gf_transform *t, const gf_planes *dst) {
    run r;
    int32_t row[4][GF_WARP_RUN];
    for (int32_t y = 0; y < dst->height; y++) {
        for (int32_t from = 0, count; from < dst->width; from += count) {
            int32_t upper[GF_WARP_RUN], lower[GF_WARP_RUN];
            count = dst->width - from < GF_WARP_RUN ? dst->width - from : GF_WARP_RUN;
            int any = t->perspective ? find(src, t, from, count, y, 1, &r) : find(src, t, from, count, y, 0, &r);
            if (any && t->filter == GF_SEEN_BILINEAR) pair(src, count, &r, upper, lower);
            if (any && t->filter != GF_SEEN_BILINEAR) rows(src, count, &r, row);
            for (int c = 0; c < dst->channels; c++) {
                uint8_t *out = dst->plane[c] + y * dst->stride + from, fill = t->fill[c];
                if (!any) memset(out, 0, (size_t)count);
                else if (t->filter != GF_SEEN_BILINEAR) bicubic(src, c, row, count, &r, out);
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
