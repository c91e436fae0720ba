// Tap tables: Pillow's arithmetic, double by double, on four outputs side by side.
//
// Pillow sums an output's weights in the order of its taps and divides by the sum. So lanes are outputs, not taps: every
// lane does exactly what Pillow's loop does, and a lane with no more taps adds zeros. The lanes are written out, because
// GCC 12 unrolls plain loops over them before it could vectorise them: both tables of a 224 x 224 crop took 7.4 us with
// loops, and take 5.7 us now (bilinear, AVX-512, Sapphire Rapids, 2026-11).
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels.h"

// Strict C11 (not gnu11) keeps GCC from fusing products with sums, which rounds differently. clang needs this pragma.
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#endif

#define PI 3.14159265358979323846

enum { WIDE = 4, MOST_TAPS = 1 << 24 };

#define INLINE static inline __attribute__((always_inline))

typedef double v4d __attribute__((vector_size(8 * WIDE)));
typedef int64_t v4l __attribute__((vector_size(8 * WIDE)));
typedef int32_t v4i __attribute__((vector_size(4 * WIDE)));

static const double SUPPORT[GF_FILTERS] = {0.5, 0.5, 1.0, 1.0, 2.0, 3.0, 1.0, 2.0};

INLINE v4d choose(v4l mask, v4d yes, v4d no) { return (v4d)((mask & (v4l)yes) | (~mask & (v4l)no)); }
INLINE v4i choose_int(v4i mask, v4i yes, v4i no) { return (mask & yes) | (~mask & no); }

static double sinc(double x) {
    if (x == 0.0) return 1.0;
    x *= PI;
    return sin(x) / x;
}

static double hamming(double x) {
    x = fabs(x);
    if (x == 0.0) return 1.0;
    if (x >= 1.0) return 0.0;
    x *= PI;
    return sin(x) / x * (0.54f + 0.46f * cos(x)); // the constants are single precision
}

static double lanczos(double x) { return -3.0 <= x && x < 3.0 ? sinc(x) * sinc(x / 3.0) : 0.0; }

INLINE v4d weight(int filter, v4d x) {
    const v4d zero = {0};
    v4d a = choose(x < 0.0, -x, x), w;
    switch (filter) {
    case GF_FILTER_BOX:
        return choose((x > -0.5) & (x <= 0.5), zero + 1.0, zero);
    case GF_FILTER_BILINEAR:
        return choose(a < 1.0, 1.0 - a, zero);
    case GF_FILTER_BICUBIC: { // a = -0.5
        v4d near = (1.5 * a - 2.5) * a * a + 1.0;
        v4d far = (((a - 5.0) * a + 8.0) * a - 4.0) * -0.5;
        return choose(a < 1.0, near, choose(a < 2.0, far, zero));
    }
    default:
        for (int j = 0; j < WIDE; j++) w[j] = filter == GF_FILTER_HAMMING ? hamming(x[j]) : lanczos(x[j]);
        return w;
    }
}

INLINE int32_t largest_of(v4i v) {
    int32_t a = v[0] > v[1] ? v[0] : v[1], b = v[2] > v[3] ? v[2] : v[3];
    return a > b ? a : b;
}

// Drops a zero tap at the front. This is rare: a weight at the rim of the filter rounds to zero.
static __attribute__((noinline)) void drop_front(int32_t *taps, int32_t *first, int32_t *length, v4i *zeros) {
    for (int j = 0; j < WIDE; j++) {
        int32_t by = (*zeros)[j];
        if (by == 0) continue;
        for (int32_t t = 0; t < length[j]; t++) taps[t * GF_BLOCK + j] = t + by < length[j] ? taps[(t + by) * GF_BLOCK + j] : 0;
        first[j] += by;
        length[j] -= by;
    }
}

// How an axis is filtered.
typedef struct {
    int filter;
    double scale, support, step;
} method;

// Writes the weights of four outputs to axis->weights, and finds their inputs. Returns the sums of the weights.
INLINE v4d four_weights(gf_axis *axis, const method *m, v4i output, v4i *first, v4i *length) {
    const v4i none = {0};
    v4d centre = axis->spec.in0 + (__builtin_convertvector(output, v4d) + 0.5) * m->scale;
    v4i begin = __builtin_convertvector(centre - m->support + 0.5, v4i);
    v4i end = __builtin_convertvector(centre + m->support + 0.5, v4i);
    begin = choose_int(begin < 0, none, begin);
    end = choose_int(end > axis->spec.in_size, none + axis->spec.in_size, end);
    *first = begin;
    *length = end - begin;
    int32_t most = largest_of(*length);
    v4d sum = {0}, *weights = (v4d *)axis->weights;
    for (int32_t t = 0; t < most; t++) {
        v4d w = weight(m->filter, (__builtin_convertvector(t + begin, v4d) - centre + 0.5) * m->step);
        w = choose(__builtin_convertvector(t < *length, v4l), w, (v4d){0});
        weights[t] = w;
        sum += w;
    }
    return choose(sum == 0.0, (v4d){0} + 1.0, sum);
}

// Fills first, length (inputs counted from 0) and the taps of four outputs. It drops zero taps at both ends. The result
// stays exact, and most tables then need fewer groups of four.
INLINE void four_outputs(gf_axis *axis, const method *m, int32_t start) {
    const gf_axis_spec *s = &axis->spec;
    int32_t *taps = axis->taps + (int64_t)(start / GF_BLOCK) * axis->stride * GF_BLOCK + start % GF_BLOCK;
    const v4i lane = {0, 1, 2, 3}, none = {0};
    v4i p = choose_int(start + lane < axis->count, start + lane, none + axis->count - 1), first, length;
    v4d sum = four_weights(axis, m, s->flip ? s->to - 1 - p : s->from + p, &first, &length), *weights = (v4d *)axis->weights;
    int32_t most = largest_of(length);
    double one = (double)(1 << axis->bits);
    v4i used = none, zeros = none + most, largest = none;
    for (int32_t t = 0; t < most; t++) {
        v4d w = weights[t] / sum * one;
        v4i tap = __builtin_convertvector(w + choose(w < 0.0, (v4d){0} - 0.5, (v4d){0} + 0.5), v4i) << (GF_TAP_BITS - axis->bits);
        v4i size = choose_int(tap < 0, -tap, tap);
        memcpy(taps + t * GF_BLOCK, &tap, sizeof tap);
        used = choose_int(tap != 0, none + (t + 1), used);
        zeros = choose_int((tap != 0) & (zeros == most), none + t, zeros);
        largest = choose_int(size > largest, size, largest);
    }
    for (int32_t t = most; t < axis->stride; t++) memcpy(taps + t * GF_BLOCK, &none, sizeof none);
    zeros = choose_int(used == 0, none, zeros);
    length = choose_int(used == 0, none + 1, used);
    int32_t size = largest_of(largest);
    axis->largest = size > axis->largest ? size : axis->largest;
    memcpy(axis->first + start, &first, sizeof first);
    memcpy(axis->length + start, &length, sizeof length);
    if (largest_of(zeros) > 0) drop_front(taps, axis->first + start, axis->length + start, &zeros);
}

// Torch uses as many bits as fit an int16 with the largest weight of the whole axis.
INLINE int32_t torch_bits(gf_axis *axis, const method *m) {
    const v4i lane = {0, 1, 2, 3};
    v4d largest = {0};
    int32_t last = axis->spec.out_size - 1;
    for (int32_t i = 0; i <= last; i += WIDE) {
        v4i first, length;
        v4d sum = four_weights(axis, m, choose_int(i + lane < last, i + lane, (v4i){0} + last), &first, &length);
        for (int32_t t = 0; t < largest_of(length); t++) {
            v4d w = ((v4d *)axis->weights)[t] / sum;
            largest = choose(w > largest, w, largest);
        }
    }
    double most = 0.0;
    for (int j = 0; j < WIDE; j++) most = largest[j] > most ? largest[j] : most;
    int32_t bits = 0;
    while (bits < GF_TAP_BITS && (int32_t)(0.5 + most * (double)(1 << (bits + 1))) < 1 << 15) bits++;
    return bits;
}

INLINE void all_taps(gf_axis *axis, int filter) {
    const gf_axis_spec *s = &axis->spec;
    double scale = (double)(s->in1 - s->in0) / s->out_size;
    double stretch = scale < 1.0 ? 1.0 : scale;
    const method m = {filter, scale, SUPPORT[filter] * stretch, 1.0 / stretch};
    axis->bits = s->filter >= GF_FILTER_TORCH_BILINEAR ? torch_bits(axis, &m) : GF_TAP_BITS;
    for (int32_t i = 0; i < axis->count; i += WIDE) four_outputs(axis, &m, i);
}

INLINE void filter_taps(gf_axis *axis) {
    switch (axis->spec.filter) { // the compiler makes a loop of its own for each filter
    case GF_FILTER_BOX: all_taps(axis, GF_FILTER_BOX); break;
    case GF_FILTER_BILINEAR:
    case GF_FILTER_TORCH_BILINEAR: all_taps(axis, GF_FILTER_BILINEAR); break;
    case GF_FILTER_HAMMING: all_taps(axis, GF_FILTER_HAMMING); break;
    case GF_FILTER_BICUBIC:
    case GF_FILTER_TORCH_BICUBIC: all_taps(axis, GF_FILTER_BICUBIC); break;
    default: all_taps(axis, GF_FILTER_LANCZOS); break;
    }
}

static void filter_taps_plain(gf_axis *axis) { filter_taps(axis); }
#if defined(__x86_64__)
__attribute__((target("avx2"))) static void filter_taps_avx2(gf_axis *axis) { filter_taps(axis); }
__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl"))) static void filter_taps_avx512(gf_axis *axis) { filter_taps(axis); }
#endif

// Pillow's affine nearest neighbour. The position is a running sum, which begins at output 0 even if the window does not.
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
        int32_t *tap = axis->taps + (int64_t)(p / GF_BLOCK) * axis->stride * GF_BLOCK + p % GF_BLOCK;
        for (int32_t t = 0; t < axis->stride; t++) tap[t * GF_BLOCK] = 0;
        tap[0] = inside ? GF_TAP_ONE : 0;
    }
    axis->largest = GF_TAP_ONE;
}

// Moves output i's first tap left, with zeros in front. The load of its last four taps then begins inside the row or
// directly after it, so that the 64 bytes from there belong to the row and its slack.
static void move_inside(gf_axis *axis, int32_t i, int32_t width) {
    int32_t by = axis->first[i] + 4 * (axis->groups - 1) - width;
    if (by > axis->first[i]) by = axis->first[i];
    if (by <= 0) return;
    int32_t *tap = axis->taps + (int64_t)(i / GF_BLOCK) * axis->stride * GF_BLOCK + i % GF_BLOCK;
    for (int32_t t = axis->length[i] - 1; t >= 0; t--) tap[(t + by) * GF_BLOCK] = tap[t * GF_BLOCK];
    for (int32_t t = 0; t < by; t++) tap[t * GF_BLOCK] = 0;
    axis->first[i] -= by;
    axis->length[i] += by;
}

// Outputs beyond the last are computed and thrown away. They have the last output's place, with taps of zero.
static void pad(gf_axis *axis) {
    int32_t last = axis->count - 1, end = (axis->count + GF_LANES - 1) / GF_LANES * GF_LANES;
    for (int32_t i = axis->count; i < end; i++) {
        axis->first[i] = axis->first[last];
        axis->length[i] = 1;
        int32_t *tap = axis->taps + (int64_t)(i / GF_BLOCK) * axis->stride * GF_BLOCK + i % GF_BLOCK;
        for (int32_t t = 0; t < axis->stride; t++) tap[t * GF_BLOCK] = 0;
    }
}

// Finds which inputs the outputs need, and how far apart these are.
static void survey(gf_axis *axis) {
    int32_t n = axis->count, lo = INT32_MAX, hi = 0, most = 1, keep = INT32_MAX, span = 1, end = 0;
    for (int32_t i = n - 1; i >= 0; i--) {
        int32_t first = axis->first[i], length = axis->length[i];
        lo = first < lo ? first : lo;
        hi = first + length > hi ? first + length : hi;
        most = length > most ? length : most;
    }
    axis->lo = lo;
    axis->hi = hi;
    axis->groups = (most + 3) / 4;
    // After zero taps are dropped, an output may begin before the previous one: near a zero of Lanczos, a tap is zero.
    for (int32_t i = n - 1; i >= 0; i--) {
        int32_t first = axis->first[i] - lo;
        keep = first < keep ? first : keep;
        axis->first[i] = first;
        axis->keep[i] = keep;
    }
    for (int32_t i = 0; i < n; i++) {
        int32_t e = axis->first[i] + axis->length[i];
        end = e > end ? e : end;
        span = end - axis->keep[i] > span ? end - axis->keep[i] : span;
    }
    axis->span = span;
}

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
    axis->places = take(&at, outputs * 16);
    axis->taps = take(&at, taps * 4);
    axis->packed = take(&at, taps * 4);
    axis->weights = take(&at, (size_t)axis->stride * sizeof(v4d));
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
    axis->largest = 0;
    if (spec->filter == GF_FILTER_NEAREST) nearest_taps(axis);
#if defined(__x86_64__)
    else if (spec->variant == GF_RESIZE_AVX512) filter_taps_avx512(axis);
    else if (spec->variant == GF_RESIZE_AVX2) filter_taps_avx2(axis);
#endif
    else filter_taps_plain(axis);
    survey(axis);
    if (spec->horizontal) {
        for (int32_t i = 0; i < axis->count; i++) move_inside(axis, i, axis->hi - axis->lo);
    }
    pad(axis);
#if defined(__x86_64__)
    if (spec->variant != GF_RESIZE_PLAIN && axis->largest <= GF_TAP_FITS) {
        if (spec->variant == GF_RESIZE_AVX512) gf_pack_avx512(axis);
        else gf_pack_avx2(axis);
    }
#endif
    return 0;
}

void gf_axis_free(gf_axis *axis) {
    free(axis->memory);
    axis->memory = NULL;
    axis->memory_size = 0;
}
