// GaussianBlur of bytes as torch computes it: a depthwise convolution in float32, whose sums are fused multiply-adds of
// bytes and the kernel's products, row by row from zero, rounded half to even.
//
// Only the rounded byte is seen. So columns and then rows are summed, 46 products a pixel where a kernel of 23 x 23 has 529,
// and how far that may lie from torch's sum is bounded for this kernel. Pixels whose sum is within the bound of a half, one
// in some hundreds, get torch's own sum.
#include "ops.h"

#include <string.h>

// Rows of output that are made before their doubtful pixels are: so many that these fill EXACT_AT_ONCE.
enum { BAND = 64, EXACT_AT_ONCE = 8, MOST_BEYOND = 7 * 16 };

// Adding it leaves no bits behind the point: the processor rounds to even. For sums below 2^22.
#define TO_WHOLE 0x1.8p23f

typedef struct {
    int32_t x, y;
} place;

typedef struct blurring blurring;

typedef struct {
    void (*sum_rows)(const float *const *rows, const float *weights, int32_t n, int32_t width, float *out);
    void (*widen)(const uint8_t *row, int32_t n, float *out);
    void (*round)(const float *sums, int32_t n, float limit, uint8_t *out, uint8_t *doubtful);
    void (*exact)(const blurring *, const float *const at[EXACT_AT_ONCE], const int32_t row[EXACT_AT_ONCE], float out[EXACT_AT_ONCE]);
} row_functions;

// A picture's rows are counted with the mirrored ones above it. `ring` of them are kept.
struct blurring {
    const gf_kernel *kernel;
    int32_t sum_x[2], sum_y[2];     // the taps that the separate sums have, from and to: the rest is part of the bound
    int32_t exact_x[2], exact_y[2]; // those whose products are not 0
    float limit;                    // a sum whose distance from a whole number is more is doubtful
    int32_t ring;
    int64_t wide_stride, stride;    // floats of a row
    float *products;                // of the kernel, as torch rounds them
    float *wide;                    // rows as floats, mirrored at both ends
    float *columns;                 // their sums along the row
    float *sums;                    // and those of the columns
    uint8_t *doubtful;
    place *places;
    int64_t n_places;
};

static const float ZERO = 0.0f;

static inline int64_t ring_row(const blurring *b, int32_t y) { return (uint32_t)y % (uint32_t)b->ring; }

static inline int32_t mirrored(int32_t i, int32_t n) { return i < 0 ? -i : i >= n ? 2 * (n - 1) - i : i; }

static inline int64_t up(int64_t n) { return (n + 63) / 64 * 64; }

// Both of room's sizes and its parts.
static size_t lay_out(blurring *b, const gf_kernel *kernel, int32_t width, uint8_t *room) {
    *b = (blurring){.kernel = kernel, .ring = BAND + kernel->height - 1};
    b->stride = up(width + MOST_BEYOND);
    b->wide_stride = up(b->stride + kernel->width); // what is read beyond a row belongs to it
    uint8_t *at = room;
#define TAKE(field, type, n) b->field = (type *)(void *)at, at += up((int64_t)(n) * (int64_t)sizeof(type))
    TAKE(products, float, GF_MOST_KERNEL * GF_MOST_KERNEL);
    TAKE(wide, float, b->ring * b->wide_stride);
    TAKE(columns, float, b->ring * b->stride);
    TAKE(sums, float, b->stride);
    TAKE(doubtful, uint8_t, b->stride);
    TAKE(places, place, BAND * b->stride);
#undef TAKE
    return (size_t)(at - room);
}

size_t gf_blur_room(const gf_kernel *kernel, int32_t width) {
    blurring b;
    return lay_out(&b, kernel, width, NULL) + 63;
}

// The taps but for those at both ends that come to so little that they need not be summed. Returns what they come to.
static double drop_taps(const float *weights, int32_t n, double most, int32_t kept[2]) {
    double dropped = 0;
    kept[0] = 0, kept[1] = n;
    while (kept[1] - kept[0] > 1) {
        int32_t end = weights[kept[0]] < weights[kept[1] - 1] ? kept[0] : kept[1] - 1;
        if (dropped + (double)weights[end] > most) break;
        dropped += (double)weights[end];
        if (end == kept[0]) kept[0]++;
        else kept[1]--;
    }
    return dropped;
}

static inline double least(double a, double b) { return a < b ? a : b; }

// Half of the last bit of a float32 that is at most 255 times x, over 255. The largest power of two that 255 x holds is
// read from its bits; below a byte's 2^-40 it is not worth telling.
static inline double half_bit(double x) {
    double most = 255 * 1.0001 * x + 0x1p-40;
    uint64_t bits;
    memcpy(&bits, &most, sizeof bits);
    bits &= (uint64_t)0x7ff << 52;
    memcpy(&most, &bits, sizeof most);
    return most * 0x1p-24 / 255;
}

// The rounding of a sum is off by half of its last bit at most, and by no more than what was just added to it. A sum of
// non-negative products of bytes is at most 255 times that of the weights so far.
static double sum_error(const float *weights, const int32_t kept[2]) {
    double sum = 0, error = 0;
    for (int32_t i = kept[0]; i < kept[1]; i++) {
        sum += (double)weights[i];
        error += least(half_bit(sum), (double)weights[i]) + 0x1p-24 * (double)weights[i]; // the product may be rounded, too
    }
    return error;
}

// How far torch's sum may be from the two that are made here, over 255.
static double difference(blurring *b) {
    const gf_kernel *k = b->kernel;
    double dropped = drop_taps(k->x, k->width, 0x1p-20, b->sum_x) + drop_taps(k->y, k->height, 0x1p-20, b->sum_y);
    double error = dropped + sum_error(k->x, b->sum_x) + sum_error(k->y, b->sum_y), sum = 0;
    for (int32_t y = b->exact_y[0]; y < b->exact_y[1]; y++) {
        for (int32_t x = b->exact_x[0]; x < b->exact_x[1]; x++) {
            double weight = (double)b->products[y * k->width + x];
            sum += weight;
            error += least(half_bit(sum), weight);
        }
    }
    return error + 0x1p-24 * sum; // torch's products are rounded
}

static void kernel_products(blurring *b) {
    const gf_kernel *k = b->kernel;
    b->exact_x[0] = k->width, b->exact_y[0] = k->height;
    for (int32_t y = 0; y < k->height; y++) {
        for (int32_t x = 0; x < k->width; x++) {
            float product = k->y[y] * k->x[x];
            b->products[y * k->width + x] = product;
            if (product == 0.0f) continue; // adds nothing: fma(x, 0, s) is s
            b->exact_x[0] = x < b->exact_x[0] ? x : b->exact_x[0];
            b->exact_x[1] = x < b->exact_x[1] ? b->exact_x[1] : x + 1;
            b->exact_y[0] = y < b->exact_y[0] ? y : b->exact_y[0];
            b->exact_y[1] = y + 1;
        }
    }
}

// Row y of the mirrored picture: as floats, and the sums along it.
static void make_row(const blurring *b, const row_functions *f, const gf_planes *src, int c, int32_t y) {
    const gf_kernel *k = b->kernel;
    int32_t beyond = k->width / 2, width = src->width;
    const uint8_t *row = src->plane[c] + mirrored(y - k->height / 2, src->height) * src->stride;
    float *wide = b->wide + ring_row(b, y) * b->wide_stride;
    f->widen(row, width, wide + beyond);
    float *first = wide + beyond, *last = first + width - 1;
    for (int32_t i = 1; i <= beyond; i++) {
        first[-i] = first[i];
        last[i] = last[-i];
    }
    const float *taps[GF_MOST_KERNEL];
    int32_t n = b->sum_x[1] - b->sum_x[0];
    for (int32_t i = 0; i < n; i++) taps[i] = wide + b->sum_x[0] + i;
    f->sum_rows(taps, k->x + b->sum_x[0], n, width, b->columns + ring_row(b, y) * b->stride);
}

static void note_doubtful(blurring *b, int32_t width, int32_t y) {
    for (int32_t x = 0; x < width; x += 8) {
        uint64_t eight;
        memcpy(&eight, b->doubtful + x, 8);
        if (!eight) continue;
        for (int32_t i = x; i < x + 8 && i < width; i++)
            if (b->doubtful[i]) b->places[b->n_places++] = (place){i, y};
    }
}

static void make_exact(blurring *b, const row_functions *f, const gf_planes *dst, int c) {
    for (int64_t i = 0; i < b->n_places; i += EXACT_AT_ONCE) {
        const float *at[EXACT_AT_ONCE];
        int32_t row[EXACT_AT_ONCE];
        const place *these[EXACT_AT_ONCE];
        float sums[EXACT_AT_ONCE];
        for (int j = 0; j < EXACT_AT_ONCE; j++) {
            these[j] = &b->places[i + j < b->n_places ? i + j : i];
            at[j] = b->wide + these[j]->x;
            row[j] = these[j]->y;
        }
        f->exact(b, at, row, sums);
        for (int j = 0; j < EXACT_AT_ONCE; j++)
            dst->plane[c][these[j]->y * dst->stride + these[j]->x] = (uint8_t)(int32_t)(sums[j] + TO_WHOLE - TO_WHOLE);
    }
    b->n_places = 0;
}

static void blur_plane(blurring *b, const row_functions *f, const gf_planes *src, const gf_planes *dst, int c) {
    const gf_kernel *k = b->kernel;
    const float *taps[GF_MOST_KERNEL];
    int32_t n = b->sum_y[1] - b->sum_y[0];
    for (int32_t y = 0, made = 0; y < src->height;) {
        int32_t to = src->height - y < BAND ? src->height : y + BAND;
        for (; y < to; y++) {
            for (; made < y + k->height; made++) make_row(b, f, src, c, made); // no earlier: they are in the first cache then
            for (int32_t i = 0; i < n; i++) taps[i] = b->columns + ring_row(b, y + b->sum_y[0] + i) * b->stride;
            f->sum_rows(taps, k->y + b->sum_y[0], n, src->width, b->sums);
            f->round(b->sums, src->width, b->limit, dst->plane[c] + y * dst->stride, b->doubtful);
            note_doubtful(b, src->width, y);
        }
        make_exact(b, f, dst, c);
    }
}

static void blur(const gf_planes *src, const gf_kernel *kernel, const gf_planes *dst, uint8_t *room, const row_functions *f) {
    blurring b;
    uint8_t *aligned = room + (63 & -(uintptr_t)room);
    lay_out(&b, kernel, src->width, aligned);
    memset(b.wide, 0, (size_t)(b.ring * b.wide_stride) * sizeof *b.wide); // vectors read behind a row, to no effect
    memset(b.doubtful, 0, (size_t)b.stride);
    kernel_products(&b);
    // A hundredth more for the bound's own arithmetic.
    double bound = 255 * 1.01 * difference(&b);
    b.limit = (float)(0.5 - bound - 0x1p-24);
    for (int c = 0; c < src->channels; c++) blur_plane(&b, f, src, dst, c);
}

#define NAMED(name) name##_plain
#define TARGET
#define VECTOR float
#define LANES 1
#define LOAD(at) *(at)
#define STORE(at, v) *(at) = (v)
#define SPREAD(x) (x)
#define ADD_PRODUCT(x, y, z) ((x) * (y) + (z))
#define SCALAR float
#define ONE(at) *(at)
#define FUSED __builtin_fmaf
#include "blur_level.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define NAMED(name) name##_avx2
#define TARGET AVX2
#define VECTOR __m256
#define LANES 8
#define LOAD _mm256_loadu_ps
#define STORE _mm256_storeu_ps
#define SPREAD _mm256_set1_ps
#define ADD_PRODUCT _mm256_fmadd_ps
#define SCALAR __m128
#define ONE _mm_load_ss
#define FUSED _mm_fmadd_ss
#include "blur_level.h"

#define NAMED(name) name##_avx512
#define TARGET AVX512
#define VECTOR __m512
#define LANES 16
#define LOAD _mm512_loadu_ps
#define STORE _mm512_storeu_ps
#define SPREAD _mm512_set1_ps
#define ADD_PRODUCT _mm512_fmadd_ps
#define SCALAR __m128
#define ONE _mm_load_ss
#define FUSED _mm_fmadd_ss
#include "blur_level.h"
#endif
