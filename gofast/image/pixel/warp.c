// Image.transform by the nearest pixel. Pillow walks a scaling in doubles and any other affine transform in 65536ths of a
// pixel where these fit an int, both by adding step after step: so do the loops here.
#include "warp.h"

#include <math.h>
#include <string.h>

INLINE int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
INLINE int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }

// Pillow's (int) of a double that is not negative, -1 of one that is. Beyond an int there is no pixel either.
INLINE int32_t coordinate(double v) { return v >= 0 && v < 0x1p31 ? (int32_t)v : -1; }

static void fill_row(const gf_planes *dst, int32_t y, int64_t from, int64_t to, const uint8_t *fill) {
    for (int c = 0; c < dst->channels; c++) memset(dst->plane[c] + y * dst->stride + from, fill[c], (size_t)(to - from));
}

// Pixels from..to-1 of a row, by their places behind the first. Three channels at once load each place once: with the unrolled
// loop, a rotation of 256 x 256 takes 58 us instead of 78 (one thread of an AMD EPYC, 2026-11-30).
INLINE void take(const gf_planes *src, int64_t first, const int32_t *at, int32_t y, int64_t from, int64_t to, const gf_planes *dst) {
    const uint8_t *in[3];
    uint8_t *restrict out[3];
    for (int c = 0; c < dst->channels; c++) {
        in[c] = src->plane[c] + first;
        out[c] = dst->plane[c] + y * dst->stride + from;
    }
    if (dst->channels == 3) {
#pragma GCC unroll 8
        for (int64_t i = 0; i < to - from; i++) {
            out[0][i] = in[0][at[i]];
            out[1][i] = in[1][at[i]];
            out[2][i] = in[2][at[i]];
        }
    } else {
#pragma GCC unroll 8
        for (int64_t i = 0; i < to - from; i++) out[0][i] = in[0][at[i]];
    }
}

static void copy(const gf_planes *src, int64_t at, int32_t y, int64_t from, int64_t to, const gf_planes *dst) {
    for (int c = 0; c < dst->channels; c++) memcpy(dst->plane[c] + y * dst->stride + from, src->plane[c] + at, (size_t)(to - from));
}

// ---- a scaling

// A few hundred columns are found, for all rows.
INLINE void scale(const gf_planes *src, const gf_transform *t, const gf_planes *dst) {
    const double *n = t->numbers;
    double column = n[2] + n[0] * 0.5;
    for (int64_t from = 0, count; from < dst->width; from += count) {
        int32_t at[GF_WARP_RUN];
        int64_t begin = -1, end = 0, straight = 1; // of what is inside
        count = least(GF_WARP_RUN, dst->width - from);
        for (int64_t i = 0; i < count; i++, column += n[0]) {
            at[i] = coordinate(column);
            if (at[i] < 0 || at[i] >= src->width) continue;
            if (begin < 0) begin = i;
            straight &= at[i] - at[begin] == i - begin;
            end = i + 1;
        }
        if (begin < 0) begin = 0;
        double row = n[5] + n[4] * 0.5;
        for (int32_t y = 0; y < dst->height; y++, row += n[4]) {
            int64_t line = coordinate(row);
            if (line < 0 || line >= src->height || !end) {
                fill_row(dst, y, from, from + count, t->fill);
                continue;
            }
            fill_row(dst, y, from, from + begin, t->fill);
            if (straight) copy(src, line * src->stride + at[begin], y, from + begin, from + end, dst);
            else take(src, line * src->stride, at + begin, y, from + begin, from + end, dst);
            fill_row(dst, y, from + end, from + count, t->fill);
        }
    }
}

// ---- in 65536ths

// As Pillow's conversion, which on x86 makes the least int of what does not fit.
static int32_t fixed(double v) {
    double whole = floor(v * 65536.0 + 0.5);
    return whole >= -0x1p31 && whole < 0x1p31 ? (int32_t)whole : INT32_MIN;
}

static int fits(const double n[6], double x, double y) {
    return fabs(x * n[0] + y * n[1] + n[2]) < 32768.0 && fabs(x * n[3] + y * n[4] + n[5]) < 32768.0;
}

// Which steps from..to-1 leave first + i * step within 0..size-1; no sum overflows.
typedef struct {
    int64_t from, to;
} range;

INLINE int64_t ceiling(int64_t a, int64_t b) { return a / b + (a % b > 0); } // b > 0

INLINE range within(int64_t first, int64_t step, int64_t size, int64_t count) {
    if (step == 0) return first >= 0 && first < size ? (range){0, count} : (range){0, 0};
    if (step < 0) { // seen from the other end
        first = size - 1 - first;
        step = -step;
    }
    return (range){most(0, ceiling(-first, step)), least(count, ceiling(size - first, step))};
}

// Sums wrap around as Pillow's do. That matters to pictures of more than 32767 pixels a side only.
INLINE void fixed_wide(const gf_planes *src, const gf_transform *t, const uint32_t a[6], const gf_planes *dst) {
    uint32_t first_x = a[2], first_y = a[5];
    for (int32_t y = 0; y < dst->height; y++, first_x += a[1], first_y += a[4]) {
        uint32_t at_x = first_x, at_y = first_y;
        for (int32_t x = 0; x < dst->width; x++, at_x += a[0], at_y += a[3]) {
            int64_t column = (int32_t)at_x >> 16, row = (int32_t)at_y >> 16;
            int inside = column >= 0 && column < src->width && row >= 0 && row < src->height;
            for (int c = 0; c < dst->channels; c++)
                dst->plane[c][y * dst->stride + x] = inside ? src->plane[c][row * src->stride + column] : t->fill[c];
        }
    }
}

INLINE void fixed_affine(const gf_planes *src, const gf_transform *t, const int32_t a[6], const gf_planes *dst) {
    int32_t stride = (int32_t)src->stride;
    int64_t first_x = a[2], first_y = a[5];
    for (int32_t y = 0; y < dst->height; y++, first_x += a[1], first_y += a[4]) {
        range x_in = within(first_x, a[0], (int64_t)src->width << 16, dst->width);
        range y_in = within(first_y, a[3], (int64_t)src->height << 16, dst->width);
        int64_t begin = least(most(x_in.from, y_in.from), dst->width), end = most(begin, least(x_in.to, y_in.to));
        fill_row(dst, y, 0, begin, t->fill);
        fill_row(dst, y, end, dst->width, t->fill);
        if (a[0] == 1 << 16 && a[3] == 0) {
            if (end > begin) copy(src, (first_y >> 16) * stride + (first_x >> 16) + begin, y, begin, end, dst);
            continue;
        }
        for (int64_t from = begin, count; from < end; from += count) {
            int32_t at[GF_WARP_RUN], at_x = (int32_t)(first_x + from * a[0]), at_y = (int32_t)(first_y + from * a[3]);
            count = least(GF_WARP_RUN, end - from);
            for (int32_t i = 0; i < (int32_t)count; i++) at[i] = ((at_y + i * a[3]) >> 16) * stride + ((at_x + i * a[0]) >> 16);
            take(src, 0, at, y, from, from + count, dst);
        }
    }
}

// ---- anything else

INLINE void walk(const gf_planes *src, const gf_transform *t, const gf_planes *dst) {
    const double *n = t->numbers;
    double row_x = n[2] + n[1] * 0.5 + n[0] * 0.5, row_y = n[5] + n[4] * 0.5 + n[3] * 0.5;
    for (int32_t y = 0; y < dst->height; y++, row_x += n[1], row_y += n[4]) {
        double at_x = row_x, at_y = row_y;
        for (int32_t x = 0; x < dst->width; x++, at_x += n[0], at_y += n[3]) {
            int64_t column = coordinate(at_x), row = coordinate(at_y);
            int inside = column >= 0 && column < src->width && row >= 0 && row < src->height;
            for (int c = 0; c < dst->channels; c++)
                dst->plane[c][y * dst->stride + x] = inside ? src->plane[c][row * src->stride + column] : t->fill[c];
        }
    }
}

INLINE void perspective(const gf_planes *src, const gf_transform *t, const gf_planes *dst) {
    const double *n = t->numbers;
    for (int32_t y = 0; y < dst->height; y++) {
        for (int32_t x = 0; x < dst->width; x++) {
            double at_x = x + 0.5, at_y = y + 0.5, depth = n[6] * at_x + n[7] * at_y + 1;
            int64_t column = coordinate((n[0] * at_x + n[1] * at_y + n[2]) / depth);
            int64_t row = coordinate((n[3] * at_x + n[4] * at_y + n[5]) / depth);
            int inside = column >= 0 && column < src->width && row >= 0 && row < src->height;
            for (int c = 0; c < dst->channels; c++)
                dst->plane[c][y * dst->stride + x] = inside ? src->plane[c][row * src->stride + column] : t->fill[c];
        }
    }
}

INLINE void nearest(const gf_planes *src, const gf_transform *t, const gf_planes *dst) {
    const double *n = t->numbers;
    if (t->perspective) {
        perspective(src, t, dst);
    } else if (n[1] == 0 && n[3] == 0) {
        scale(src, t, dst);
    } else if (fits(n, 0, 0) && fits(n, dst->width, dst->height) && fits(n, 0, dst->height) && fits(n, dst->width, 0)) {
        int32_t a[6] = {fixed(n[0]), fixed(n[1]), fixed(n[2] + n[0] * 0.5 + n[1] * 0.5),
                        fixed(n[3]), fixed(n[4]), fixed(n[5] + n[3] * 0.5 + n[4] * 0.5)};
        uint32_t wrapping[6];
        memcpy(wrapping, a, sizeof a);
        if (src->width > 32767 || src->height > 32767) fixed_wide(src, t, wrapping, dst);
        else fixed_affine(src, t, a, dst);
    } else {
        walk(src, t, dst);
    }
}

#define WARP(LEVEL, TARGET)                                                                                   \
    TARGET void gf_warp_##LEVEL(const gf_planes *src, const gf_transform *t, const gf_planes *dst) {           \
        if (t->filter == GF_SEEN_NEAREST) nearest(src, t, dst);                                                \
        else gf_warp_smooth_##LEVEL(src, t, dst);                                                              \
    }

LEVELS(WARP)
