//go:build cgo

// Tap tables: Pillow's arithmetic, double by double, on eight outputs side by side.
//
// An output's weights are summed in the order of its taps and divided by the sum, so lanes are outputs, not taps: every
// lane does exactly what Pillow's loop does, and lanes whose taps have ended add zeros.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels.h"

// Strict C11 (not gnu11) keeps GCC from fusing products with sums, which rounds differently; clang wants it said.
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#endif

#define PI 3.14159265358979323846

enum { BLOCK = 8, MOST_TAPS = 1 << 24 };

static const double SUPPORT[GF_FILTERS] = {0.5, 0.5, 1.0, 1.0, 2.0, 3.0};

static inline double sinc(double x) {
    if (x == 0.0) return 1.0;
    x *= PI;
    return sin(x) / x;
}

static inline __attribute__((always_inline)) double weight(int filter, double x) {
    double a = fabs(x);
    switch (filter) {
    case GF_FILTER_BOX:
        return x > -0.5 && x <= 0.5 ? 1.0 : 0.0;
    case GF_FILTER_BILINEAR: {
        double w = 1.0 - a; // above zero just where a < 1
        return w > 0.0 ? w : 0.0;
    }
    case GF_FILTER_HAMMING:
        if (a == 0.0) return 1.0;
        if (a >= 1.0) return 0.0;
        a *= PI;
        return sin(a) / a * (0.54f + 0.46f * cos(a)); // the constants are single precision
    case GF_FILTER_BICUBIC: { // a = -0.5
        double near = (1.5 * a - 2.5) * a * a + 1.0;
        double far = (((a - 5.0) * a + 8.0) * a - 4.0) * -0.5;
        return a < 1.0 ? near : a < 2.0 ? far : 0.0;
    }
    default:
        return -3.0 <= x && x < 3.0 ? sinc(x) * sinc(x / 3.0) : 0.0;
    }
}

// Position p of the window is this output.
static inline int32_t output_at(const gf_axis_spec *s, int32_t p) { return s->flip ? s->to - 1 - p : s->from + p; }

// Fills first, length (inputs counted from 0) and the taps of eight outputs.
static inline __attribute__((always_inline)) void block_taps(gf_axis *axis, int filter, int32_t start, double scale, double support, double step) {
    const gf_axis_spec *s = &axis->spec;
    int32_t *first = axis->first + start, *length = axis->length + start;
    int32_t *taps = axis->taps + (int64_t)start * axis->stride;
    double *weights = axis->weights;
    double centre[BLOCK], sum[BLOCK];
    int32_t most = 0;
    for (int j = 0; j < BLOCK; j++) {
        int32_t p = start + j < axis->count ? start + j : axis->count - 1;
        centre[j] = s->in0 + (output_at(s, p) + 0.5) * scale;
        sum[j] = 0.0;
    }
    for (int j = 0; j < BLOCK; j++) {
        int32_t from = (int32_t)(centre[j] - support + 0.5);
        int32_t to = (int32_t)(centre[j] + support + 0.5);
        from = from < 0 ? 0 : from;
        to = to > s->in_size ? s->in_size : to;
        first[j] = from;
        length[j] = to - from;
        most = length[j] > most ? length[j] : most;
    }
    for (int32_t t = 0; t < most; t++) {
        for (int j = 0; j < BLOCK; j++) {
            double w = weight(filter, ((t + first[j]) - centre[j] + 0.5) * step);
            w = t < length[j] ? w : 0.0;
            weights[t * BLOCK + j] = w;
            sum[j] += w;
        }
    }
    for (int j = 0; j < BLOCK; j++) sum[j] = sum[j] == 0.0 ? 1.0 : sum[j];
    for (int32_t t = 0; t < most; t++) {
        for (int j = 0; j < BLOCK; j++) {
            double w = weights[t * BLOCK + j] / sum[j] * GF_TAP_ONE;
            taps[t * BLOCK + j] = (int32_t)(w < 0.0 ? w - 0.5 : w + 0.5);
        }
    }
    memset(taps + (int64_t)most * BLOCK, 0, (size_t)(axis->stride - most) * BLOCK * sizeof *taps);
}

static inline __attribute__((always_inline)) void all_taps(gf_axis *axis, int filter) {
    const gf_axis_spec *s = &axis->spec;
    double scale = (double)(s->in1 - s->in0) / s->out_size;
    double stretch = scale < 1.0 ? 1.0 : scale;
    for (int32_t i = 0; i < axis->count; i += BLOCK) block_taps(axis, filter, i, scale, SUPPORT[filter] * stretch, 1.0 / stretch);
}

static inline __attribute__((always_inline)) void filter_taps(gf_axis *axis) {
    switch (axis->spec.filter) { // so that each filter's loop is compiled for itself
    case GF_FILTER_BOX: all_taps(axis, GF_FILTER_BOX); break;
    case GF_FILTER_BILINEAR: all_taps(axis, GF_FILTER_BILINEAR); break;
    case GF_FILTER_HAMMING: all_taps(axis, GF_FILTER_HAMMING); break;
    case GF_FILTER_BICUBIC: all_taps(axis, GF_FILTER_BICUBIC); break;
    default: all_taps(axis, GF_FILTER_LANCZOS); break;
    }
}

static void filter_taps_plain(gf_axis *axis) { filter_taps(axis); }
#if defined(__x86_64__)
__attribute__((target("avx2"))) static void filter_taps_avx2(gf_axis *axis) { filter_taps(axis); }
__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,prefer-vector-width=512"))) static void filter_taps_avx512(gf_axis *axis) { filter_taps(axis); }
#endif

// Pillow's affine nearest neighbour: the position is a running sum. The sum begins at output 0, window or not.
static void nearest_taps(gf_axis *axis) {
    const gf_axis_spec *s = &axis->spec;
    double scale = (double)(s->in1 - s->in0) / s->out_size;
    double at = s->in0 + scale * 0.5;
    for (int32_t i = 0; i < s->to; i++, at += scale) {
        if (i < s->from) continue;
        int32_t p = s->flip ? s->to - 1 - i : i - s->from;
        int inside = at >= 0.0 && (int32_t)at < s->in_size; // Pillow leaves the others black
        axis->first[p] = inside ? (int32_t)at : s->in_size - 1;
        axis->length[p] = 1;
        int32_t *tap = axis->taps + (int64_t)(p / BLOCK) * axis->stride * BLOCK + p % BLOCK;
        for (int32_t t = 0; t < axis->stride; t++) tap[t * BLOCK] = 0;
        tap[0] = inside ? GF_TAP_ONE : 0;
    }
}

// Drops taps that are zero at both ends of output i: exact, and most tables then need fewer groups of four.
static void trim(gf_axis *axis, int32_t i) {
    int32_t *tap = axis->taps + (int64_t)(i / BLOCK) * axis->stride * BLOCK + i % BLOCK;
    int32_t n = axis->length[i], zeros = 0;
    while (n > 1 && tap[(n - 1) * BLOCK] == 0) n--;
    while (zeros < n - 1 && tap[zeros * BLOCK] == 0) zeros++;
    if (zeros > 0) {
        n -= zeros;
        for (int32_t t = 0; t < n; t++) tap[t * BLOCK] = tap[(t + zeros) * BLOCK];
        for (int32_t t = n; t < n + zeros; t++) tap[t * BLOCK] = 0;
        axis->first[i] += zeros;
    }
    axis->length[i] = n;
}

// Moves output i's first tap left, with zeros in front, so that the load of its last four taps begins inside of the row
// or right behind it: then 64 bytes from there are the row and its slack.
static void move_inside(gf_axis *axis, int32_t i, int32_t width) {
    int32_t by = axis->first[i] + 4 * (axis->groups - 1) - width;
    if (by > axis->first[i]) by = axis->first[i];
    if (by <= 0) return;
    int32_t *tap = axis->taps + (int64_t)(i / BLOCK) * axis->stride * BLOCK + i % BLOCK;
    for (int32_t t = axis->length[i] - 1; t >= 0; t--) tap[(t + by) * BLOCK] = tap[t * BLOCK];
    for (int32_t t = 0; t < by; t++) tap[t * BLOCK] = 0;
    axis->first[i] -= by;
    axis->length[i] += by;
}

// Outputs beyond the last are computed and thrown away: they repeat its place with taps of zero.
static void pad(gf_axis *axis) {
    int32_t last = axis->count - 1, end = (axis->count + GF_LANES - 1) / GF_LANES * GF_LANES;
    for (int32_t i = axis->count; i < end; i++) {
        axis->first[i] = axis->first[last];
        axis->length[i] = 1;
        int32_t *tap = axis->taps + (int64_t)(i / BLOCK) * axis->stride * BLOCK + i % BLOCK;
        for (int32_t t = 0; t < axis->stride; t++) tap[t * BLOCK] = 0;
    }
}

// What the outputs need, and how far apart.
static void survey(gf_axis *axis) {
    int32_t n = axis->count, lo = INT32_MAX, hi = 0, most = 1, largest = 0;
    for (int32_t i = 0; i < n; i++) {
        trim(axis, i);
        int32_t end = axis->first[i] + axis->length[i];
        lo = axis->first[i] < lo ? axis->first[i] : lo;
        hi = end > hi ? end : hi;
        most = axis->length[i] > most ? axis->length[i] : most;
    }
    for (int64_t i = 0, end = (int64_t)((n + BLOCK - 1) / BLOCK) * BLOCK * axis->stride; i < end; i++) {
        int32_t size = abs(axis->taps[i]);
        largest = size > largest ? size : largest;
    }
    axis->lo = lo;
    axis->hi = hi;
    axis->groups = (most + 3) / 4;
    axis->largest = largest;
    for (int32_t i = 0; i < n; i++) axis->first[i] -= lo;
    // After trimming, an output may begin before its predecessor: a tap of Lanczos near a zero of the filter vanishes.
    int32_t keep = INT32_MAX, span = 1;
    for (int32_t i = n - 1; i >= 0; i--) {
        keep = axis->first[i] < keep ? axis->first[i] : keep;
        axis->keep[i] = keep;
    }
    for (int32_t i = 0, end = 0; i < n; i++) {
        int32_t e = axis->first[i] + axis->length[i];
        end = e > end ? e : end;
        span = end - axis->keep[i] > span ? end - axis->keep[i] : span;
    }
    axis->span = span;
}

// Three signed bytes a tap: for each four outputs and each four taps, 16 bytes of the high, the middle, the low digits.
static inline __attribute__((always_inline)) void pack_digits(gf_axis *axis) {
    int32_t blocks = (axis->count + GF_LANES - 1) / GF_LANES * (GF_LANES / BLOCK);
    for (int32_t b = 0; b < blocks; b++) {
        const int32_t *taps = axis->taps + (int64_t)b * BLOCK * axis->stride;
        for (int32_t k = 0; k < axis->groups; k++) {
            uint32_t digit[3][BLOCK];
            for (int j = 0; j < BLOCK; j++) {
                uint32_t high = 0, middle = 0, low = 0;
                for (int t = 0; t < 4; t++) {
                    int32_t v = taps[(4 * k + t) * BLOCK + j];
                    int32_t d0 = (int32_t)((uint32_t)v << 24) >> 24;
                    v = (v - d0) >> 8;
                    int32_t d1 = (int32_t)((uint32_t)v << 24) >> 24;
                    v = (v - d1) >> 8;
                    low |= (uint32_t)(d0 & 255) << (8 * t);
                    middle |= (uint32_t)(d1 & 255) << (8 * t);
                    high |= (uint32_t)(v & 255) << (8 * t);
                }
                digit[0][j] = high;
                digit[1][j] = middle;
                digit[2][j] = low;
            }
            for (int half = 0; half < 2; half++) {
                uint8_t *to = axis->packed + ((int64_t)(2 * b + half) * axis->groups + k) * 48;
                for (int d = 0; d < 3; d++) memcpy(to + 16 * d, digit[d] + 4 * half, 16);
            }
        }
    }
}

#if defined(__x86_64__)
__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,prefer-vector-width=256"))) static void pack_avx512(gf_axis *axis) {
    pack_digits(axis);
    if (!axis->spec.horizontal) return;
    int32_t quads = (axis->count + GF_LANES - 1) / GF_LANES * (GF_LANES / 4);
    axis->spread = 0;
    for (int32_t q = 0; q < quads; q++) {
        const int32_t *first = axis->first + 4 * q;
        int32_t base = first[0], end = first[0];
        for (int j = 1; j < 4; j++) {
            base = first[j] < base ? first[j] : base;
            end = first[j] > end ? first[j] : end;
        }
        axis->base[q] = base;
        axis->spread = end - base > axis->spread ? end - base : axis->spread;
        for (int j = 0; j < 4; j++) {
            uint32_t place = (uint32_t)(first[j] - base) * 4 * 0x01010101u + 0x0c080400u;
            memcpy(axis->places + 16 * q + 4 * j, &place, 4);
        }
    }
}

// For each output and each four taps: the high 16 bits of taps 0 1 2 3, then their low 8 bits as 16.
static void pack_avx2(gf_axis *axis) {
    int32_t outputs = (axis->count + GF_LANES - 1) / GF_LANES * GF_LANES;
    for (int32_t i = 0; i < outputs; i++) {
        const int32_t *tap = axis->taps + (int64_t)(i / BLOCK) * axis->stride * BLOCK + i % BLOCK;
        uint8_t *to = axis->packed + (int64_t)i * axis->groups * 16;
        for (int32_t t = 0; t < 4 * axis->groups; t++) {
            int16_t high = (int16_t)(tap[t * BLOCK] >> 8), low = (int16_t)(tap[t * BLOCK] & 255);
            memcpy(to + t / 4 * 16 + t % 4 * 2, &high, 2);
            memcpy(to + t / 4 * 16 + t % 4 * 2 + 8, &low, 2);
        }
    }
}
#endif

static int same_spec(const gf_axis_spec *a, const gf_axis_spec *b) {
    return a->in0 == b->in0 && a->in1 == b->in1 && a->in_size == b->in_size && a->out_size == b->out_size && a->from == b->from &&
           a->to == b->to && a->filter == b->filter && a->flip == b->flip && a->variant == b->variant && a->horizontal == b->horizontal;
}

static void *take(char **at, size_t bytes) {
    void *p = *at;
    *at += (bytes + 63) / 64 * 64;
    return p;
}

static size_t lay_out(gf_axis *axis, size_t outputs, char *memory) {
    char *at = memory;
    size_t taps = outputs * (size_t)axis->stride;
    axis->first = take(&at, outputs * 4);
    axis->length = take(&at, outputs * 4);
    axis->keep = take(&at, outputs * 4);
    axis->base = take(&at, outputs);
    axis->places = take(&at, outputs * 4);
    axis->taps = take(&at, taps * 4);
    axis->packed = take(&at, taps * 4);
    axis->weights = take(&at, (size_t)axis->stride * BLOCK * sizeof(double));
    return (size_t)(at - memory);
}

int gf_axis_build(gf_axis *axis, const gf_axis_spec *spec) {
    if (axis->memory && same_spec(&axis->spec, spec)) return 0;
    double scale = (double)(spec->in1 - spec->in0) / spec->out_size;
    double most = spec->filter == GF_FILTER_NEAREST ? 1.0 : ceil(SUPPORT[spec->filter] * (scale < 1.0 ? 1.0 : scale)) * 2.0 + 1.0;
    if (most > spec->in_size) most = spec->in_size;
    axis->spec = *spec;
    axis->count = spec->to - spec->from;
    axis->stride = ((int32_t)most + 3) / 4 * 4;
    size_t outputs = ((size_t)axis->count + GF_LANES - 1) / GF_LANES * GF_LANES;
    if (outputs * (size_t)axis->stride > MOST_TAPS) {
        axis->spec.in_size = 0; // no spec is like this one
        return GF_FAULT_UNSUPPORTED;
    }
    size_t need = lay_out(axis, outputs, NULL);
    if (need > axis->memory_size) {
        gf_axis_free(axis);
        axis->memory = aligned_alloc(64, need);
        if (!axis->memory) return GF_FAULT_MEMORY;
        axis->memory_size = need;
    }
    lay_out(axis, outputs, axis->memory);
    int32_t variant = spec->variant;
    if (spec->filter == GF_FILTER_NEAREST) nearest_taps(axis);
#if defined(__x86_64__)
    else if (variant == GF_RESIZE_AVX512) filter_taps_avx512(axis);
    else if (variant == GF_RESIZE_AVX2) filter_taps_avx2(axis);
#endif
    else filter_taps_plain(axis);
    survey(axis);
    if (spec->horizontal) {
        for (int32_t i = 0; i < axis->count; i++) move_inside(axis, i, axis->hi - axis->lo);
    }
    pad(axis);
#if defined(__x86_64__)
    if (variant != GF_RESIZE_PLAIN && axis->largest <= GF_TAP_FITS) {
        if (variant == GF_RESIZE_AVX512) pack_avx512(axis);
        else pack_avx2(axis);
    }
#endif
    return 0;
}

void gf_axis_free(gf_axis *axis) {
    free(axis->memory);
    axis->memory = NULL;
    axis->memory_size = 0;
}
