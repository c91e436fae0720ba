// Image.transform by the four or sixteen pixels around a place, in doubles, as Pillow computes it. Of 224 x 224, on one thread of
// a busy AMD EPYC with AVX-512 (2026-11-30): by four 170 to 280 us, by sixteen 490 to 740.
#include "warp.h"

#include <string.h>

// Where a run of pixels is seen: between pixel x, y, which may lie one outside, and the next ones.
typedef struct {
    double dx[GF_WARP_RUN], dy[GF_WARP_RUN];
    int32_t x[GF_WARP_RUN], y[GF_WARP_RUN];
    uint8_t inside[GF_WARP_RUN]; // 255, or 0
    uint8_t out[GF_WARP_RUN];    // 255: outside; what is in neither is no number, and black
    int32_t from, to;            // the first that lies inside, and the one behind the last
    int straight;                // those are seen side by side in one row, as where a picture is moved
} run;

// Loops of one kind of number each: no compiler makes vectors of the others.
INLINE void find(const gf_planes *src, const gf_transform *t, int32_t from, int32_t count, int32_t line, int depths, run *r) {
    const double *n = t->numbers;
    double width = src->width, height = src->height, y = line + 0.5, at_x[GF_WARP_RUN], at_y[GF_WARP_RUN];
    for (int32_t i = 0; i < count; i++) {
        double x = from + i + 0.5;
        at_x[i] = n[0] * x + n[1] * y + n[2];
        at_y[i] = n[3] * x + n[4] * y + n[5];
        if (depths) {
            double depth = n[6] * x + n[7] * y + 1;
            at_x[i] /= depth;
            at_y[i] /= depth;
        }
    }
    for (int32_t i = 0; i < count; i++) {
        r->inside[i] = (at_x[i] >= 0) & (at_x[i] < width) & (at_y[i] >= 0) & (at_y[i] < height) ? 255 : 0;
        r->out[i] = (at_x[i] < 0) | (at_x[i] >= width) | (at_y[i] < 0) | (at_y[i] >= height) ? 255 : 0;
    }
    for (r->from = 0; r->from < count && !r->inside[r->from];) r->from++;
    for (r->to = count; r->to > r->from && !r->inside[r->to - 1];) r->to--;
    for (int32_t i = 0; i < count; i++) { // what no pixel follows from is any place
        at_x[i] = r->inside[i] ? at_x[i] : 0.5;
        at_y[i] = r->inside[i] ? at_y[i] : 0.5;
    }
    for (int32_t i = 0; i < count; i++) {
        double to_x = at_x[i] - 0.5, to_y = at_y[i] - 0.5;
        double left = to_x < 0 ? 1 : 0, above = to_y < 0 ? 1 : 0;
        double x_of = (int32_t)to_x - left, y_of = (int32_t)to_y - above;
        r->dx[i] = to_x - x_of;
        r->dy[i] = to_y - y_of;
        r->x[i] = (int32_t)x_of;
        r->y[i] = (int32_t)y_of;
    }
    r->straight = 0;
    if (r->from == r->to) return;
    int32_t bent = 0, first_x = r->x[r->from] - r->from, first_y = r->y[r->from];
    for (int32_t i = r->from; i < r->to; i++) bent |= (r->x[i] - i - first_x) | (r->y[i] - first_y);
    r->straight = !bent;
}

INLINE int32_t clip(int32_t v, int32_t end) { return v < 0 ? 0 : v < end ? v : end - 1; }

INLINE double between(double a, double b, double d) { return a + (b - a) * d; }

// Pixels x..x+count-1 of a row. Those beyond its ends are the last ones.
INLINE void take_row(const uint8_t *row, int32_t width, int32_t x, int32_t count, uint8_t *out) {
    int32_t before = x < 0 ? -x : 0, behind = x + count > width ? x + count - width : 0;
    memset(out, row[0], (size_t)before);
    memcpy(out + before, row + x + before, (size_t)(count - before - behind));
    memset(out + count - behind, row[width - 1], (size_t)behind);
}

// The places of two neighbours in the row above and in that below. At a picture's edge the pair lies inside of it, and dx
// picks the one that Pillow takes twice: exactly, since bytes are subtracted and added.
INLINE void pair(const gf_planes *src, run *r, int32_t *upper, int32_t *lower) {
    int32_t stride = (int32_t)src->stride, width = src->width, height = src->height, last = width > 1 ? width - 2 : 0, from = r->from, to = r->to;
    for (int32_t i = from; i < to; i++) {
        int32_t x = r->x[i];
        r->dx[i] = x < 0 ? 0 : x > last ? 1 : r->dx[i];
        x = x < 0 ? 0 : x > last ? last : x;
        upper[i] = clip(r->y[i], height) * stride + x;
        lower[i] = clip(r->y[i] + 1, height) * stride + x;
    }
}

INLINE void load(const uint8_t *plane, const int32_t *at, const run *r, int alone, uint16_t *pairs) {
    int32_t from = r->from, to = r->to;
#pragma GCC unroll 8
    for (int32_t i = from; i < to; i++) {
        if (alone) pairs[i] = (uint16_t)(plane[at[i]] * 257);
        else memcpy(pairs + i, plane + at[i], 2);
    }
}

INLINE void bilinear(const uint8_t *plane, const int32_t *upper, const int32_t *lower, int alone, const run *r, uint8_t *out) {
    int32_t from = r->from, to = r->to;
    uint16_t above[GF_WARP_RUN], below[GF_WARP_RUN];
    load(plane, upper, r, alone, above);
    load(plane, lower, r, alone, below);
    for (int32_t i = from; i < to; i++) {
        double a = between(above[i] & 255, above[i] >> 8, r->dx[i]), b = between(below[i] & 255, below[i] >> 8, r->dx[i]);
        out[i] = (uint8_t)(int32_t)between(a, b, r->dy[i]);
    }
}

INLINE void straight_bilinear(const gf_planes *src, int c, const run *r, uint8_t *out) {
    uint8_t above[GF_WARP_RUN + 1], below[GF_WARP_RUN + 1];
    int32_t from = r->from, x = r->x[from], y = r->y[from], count = r->to - from;
    take_row(src->plane[c] + clip(y, src->height) * src->stride, src->width, x, count + 1, above);
    take_row(src->plane[c] + clip(y + 1, src->height) * src->stride, src->width, x, count + 1, below);
    const double *dx = r->dx + from, *dy = r->dy + from;
    for (int32_t i = 0; i < count; i++) {
        double a = between(above[i], above[i + 1], dx[i]), b = between(below[i], below[i + 1], dx[i]);
        out[from + i] = (uint8_t)(int32_t)between(a, b, dy[i]);
    }
}

INLINE double cubic(double a, double b, double c, double d, double x) {
    double p2 = -a + c, p3 = 2 * (a - b) + c - d, p4 = -a + b - c + d;
    return b + x * (p2 + x * (p3 + x * p4));
}

// As cubic does for doubles: sums of bytes are exact in either, and 16 of them fit a vector. A product changes its sign exactly.
INLINE double cubic_of_bytes(int32_t a, int32_t b, int32_t c, int32_t d, double x) {
    int32_t both = a - b + c - d;
    double p2 = c - a, p3 = a - b + both, minus_p4 = both;
    return b + x * (p2 + x * (p3 - x * minus_p4));
}

INLINE void cubics_of_rows(double v[4][GF_WARP_RUN], const run *r, uint8_t *out) {
    int32_t from = r->from, to = r->to;
    for (int32_t i = from; i < to; i++) {
        double value = cubic(v[0][i], v[1][i], v[2][i], v[3][i], r->dy[i]);
        value = value <= 0 ? 0 : value >= 255 ? 255 : value;
        out[i] = (uint8_t)(int32_t)value;
    }
}

// Where four neighbours side by side begin, in each of four rows; of a row's ends, somewhere. Rows below the last one are like
// it; those above the first one are the first.
typedef struct {
    int32_t at[4][GF_WARP_RUN];
    int32_t ends[GF_WARP_RUN], n_ends; // the pixels whose neighbours are not all there
} quads;

INLINE void find_quads(const gf_planes *src, const run *r, quads *q) {
    int32_t stride = (int32_t)src->stride, width = src->width, height = src->height, from = r->from, to = r->to;
    for (int32_t k = 0; k < 4; k++)
        for (int32_t i = from; i < to; i++) {
            int32_t x = r->x[i] - 1;
            q->at[k][i] = clip(r->y[i] - 1 + k, height) * stride + (x < 0 ? 0 : x > width - 4 ? width - 4 : x);
        }
    q->n_ends = 0;
    for (int32_t i = from; i < to; i++) {
        q->ends[q->n_ends] = i;
        q->n_ends += r->x[i] < 1 || r->x[i] > width - 3;
    }
}

// Four neighbours, the first in the lowest byte. Those beyond a picture's edge are the edge's.
INLINE void load_quads(const gf_planes *src, int c, int k, const run *r, const quads *q, uint32_t *four) {
    const uint8_t *plane = src->plane[c];
    int32_t from = r->from, to = r->to;
    if (src->width >= 4) {
#pragma GCC unroll 8
        for (int32_t i = from; i < to; i++) memcpy(four + i, plane + q->at[k][i], 4);
    }
    for (int32_t j = 0; j < q->n_ends; j++) {
        int32_t i = q->ends[j];
        const uint8_t *row = plane + clip(r->y[i] - 1 + k, src->height) * src->stride;
        four[i] = 0;
        for (int32_t b = 0; b < 4; b++) four[i] |= (uint32_t)row[clip(r->x[i] - 1 + b, src->width)] << (8 * b);
    }
}

INLINE void bicubic(const gf_planes *src, int c, const run *r, const quads *q, uint8_t *out) {
    int32_t from = r->from, to = r->to;
    double v[4][GF_WARP_RUN];
    for (int32_t k = 0; k < 4; k++) {
        uint32_t four[GF_WARP_RUN];
        load_quads(src, c, k, r, q, four);
        for (int32_t i = from; i < to; i++)
            v[k][i] = cubic_of_bytes(four[i] & 255, four[i] >> 8 & 255, four[i] >> 16 & 255, (int32_t)(four[i] >> 24), r->dx[i]);
    }
    cubics_of_rows(v, r, out);
}

INLINE void straight_bicubic(const gf_planes *src, int c, const run *r, uint8_t *out) {
    int32_t from = r->from, count = r->to - from;
    double v[4][GF_WARP_RUN];
    for (int32_t k = 0; k < 4; k++) {
        uint8_t row[GF_WARP_RUN + 3];
        int32_t y = clip(r->y[from] - 1 + k, src->height);
        take_row(src->plane[c] + y * src->stride, src->width, r->x[from] - 1, count + 3, row);
        for (int32_t i = 0; i < count; i++)
            v[k][from + i] = cubic_of_bytes(row[i], row[i + 1], row[i + 2], row[i + 3], r->dx[from + i]);
    }
    cubics_of_rows(v, r, out);
}

INLINE void smooth(const gf_planes *src, const gf_transform *t, const gf_planes *dst) {
    run r;
    quads q = {.n_ends = 0};
    int32_t upper[GF_WARP_RUN], lower[GF_WARP_RUN];
    int linear = t->filter == GF_SEEN_BILINEAR;
    for (int32_t y = 0; y < dst->height; y++) {
        for (int32_t from = 0, count; from < dst->width; from += count) {
            count = dst->width - from < GF_WARP_RUN ? dst->width - from : GF_WARP_RUN;
            if (t->perspective) find(src, t, from, count, y, 1, &r);
            else find(src, t, from, count, y, 0, &r);
            if (!r.straight && linear) pair(src, &r, upper, lower);
            else if (!r.straight) find_quads(src, &r, &q);
            for (int c = 0; c < dst->channels; c++) {
                uint8_t *out = dst->plane[c] + y * dst->stride + from, fill = t->fill[c];
                if (r.straight && linear) straight_bilinear(src, c, &r, out);
                else if (r.straight) straight_bicubic(src, c, &r, out);
                else if (!linear) bicubic(src, c, &r, &q, out);
                else if (src->width == 1) bilinear(src->plane[c], upper, lower, 1, &r, out);
                else bilinear(src->plane[c], upper, lower, 0, &r, out);
                for (int32_t i = 0; i < count; i++) out[i] = (out[i] & r.inside[i]) | (fill & r.out[i] & ~r.inside[i]);
            }
        }
    }
}

#define SMOOTH(LEVEL, TARGET) \
    TARGET void gf_warp_smooth_##LEVEL(const gf_planes *src, const gf_transform *t, const gf_planes *dst) { smooth(src, t, dst); }

LEVELS(SMOOTH)
