// torch's grid_sample of an affine grid, as torchvision calls it for uint8 tensors: float32, each step rounded as torch's
// vector kernels round it. Pixels outside are 0, or of a colour.
#include "ops.h"

#include <string.h>

// What a row has in common.
typedef struct {
    float left, middle; // of the first pixel, and of the row: their middles
    float x, y;         // what the row adds to where its pixels are seen
    float half_width, half_height;
} grid_row;

static grid_row grid_row_of(const gf_planes *src, const gf_grid *g, int32_t y) {
    const float *t = g->theta;
    float by = (float)y + (0.5f - 0.5f * (float)src->height); // torch.linspace of half numbers: exact
    return (grid_row){0.5f - 0.5f * (float)src->width, by, t[1] * by, t[4] * by, 0.5f * (float)src->width, 0.5f * (float)src->height};
}

// Where the middle of pixel i of a row is seen: torch's bmm adds products in order, and the compiler of its grid_sample
// has fused (x + 1) * half - 0.5.
INLINE void locate(const gf_grid *g, const grid_row *r, int32_t i, float *x, float *y) {
    const float *t = g->theta;
    float bx = (float)i + r->left, gx = t[0] * bx, gy = t[3] * bx;
    gx = g->fused ? __builtin_fmaf(t[1], r->middle, gx) : gx + r->x;
    gx = gx + t[2];
    gy = g->fused ? __builtin_fmaf(t[4], r->middle, gy) : gy + r->y;
    gy = gy + t[5];
    *x = __builtin_fmaf(gx + 1.0f, r->half_width, -0.5f);
    *y = __builtin_fmaf(gy + 1.0f, r->half_height, -0.5f);
}

// Far away is as good as outside.
INLINE int32_t place(float v) { return v > -0x1p24f ? v < 0x1p24f ? (int32_t)v : 1 << 24 : -(1 << 24); }

INLINE float at(const gf_planes *p, int c, int32_t x, int32_t y) {
    if (x < 0 || y < 0 || x >= p->width || y >= p->height) return 0.0f;
    return (float)p->plane[c][y * p->stride + x];
}

INLINE void nearest_row(const gf_planes *src, const gf_grid *g, int32_t y, const gf_planes *dst) {
    grid_row r = grid_row_of(src, g, y);
    float fill[3] = {0};
    if (g->filled) memcpy(fill, g->fill, sizeof fill);
    for (int32_t i = 0; i < dst->width; i++) {
        float fx, fy;
        locate(g, &r, i, &fx, &fy);
        int32_t px = place(__builtin_nearbyintf(fx)), py = place(__builtin_nearbyintf(fy));
        int inside = px >= 0 && py >= 0 && px < src->width && py < src->height;
        int64_t from = inside ? py * src->stride + px : 0;
        for (int c = 0; c < src->channels; c++) dst->plane[c][y * dst->stride + i] = inside ? src->plane[c][from] : (uint8_t)fill[c];
    }
}

// How much of a pixel lies inside: torchvision samples a picture of ones beside it.
INLINE float covered(const gf_planes *p, int32_t x, int32_t y, float nw, float ne, float sw, float se) {
    int left = x >= 0 && x < p->width, right = x + 1 >= 0 && x + 1 < p->width, above = y >= 0 && y < p->height, below = y + 1 >= 0 && y + 1 < p->height;
    float sum = left && above ? nw : 0.0f;
    sum = sum + (right && above ? ne : 0.0f);
    sum = sum + (left && below ? sw : 0.0f);
    return sum + (right && below ? se : 0.0f);
}

INLINE float filled(float x, float part, float fill, int32_t version) {
    if (version == 1) {
        float own = x * part, other = (1.0f - part) * fill;
        return own + other;
    }
    x = (x - fill) * part;
    return x + fill;
}

INLINE void smooth_pixels(const gf_planes *src, const gf_grid *g, int32_t y, int32_t from, const gf_planes *dst) {
    grid_row r = grid_row_of(src, g, y);
    for (int32_t i = from; i < dst->width; i++) {
        float fx, fy;
        locate(g, &r, i, &fx, &fy);
        float left = __builtin_floorf(fx), top = __builtin_floorf(fy), w = fx - left, e = 1.0f - w, n = fy - top, s = 1.0f - n;
        float nw = s * e, ne = s * w, sw = n * e, se = n * w;
        int32_t px = place(left), py = place(top);
        float part = g->filled ? covered(src, px, py, nw, ne, sw, se) : 1.0f;
        for (int c = 0; c < src->channels; c++) {
            float sum = at(src, c, px, py) * nw;
            sum = __builtin_fmaf(at(src, c, px + 1, py), ne, sum);
            sum = __builtin_fmaf(at(src, c, px, py + 1), sw, sum);
            sum = __builtin_fmaf(at(src, c, px + 1, py + 1), se, sum);
            if (g->filled) sum = filled(sum, part, g->fill[c], g->filled);
            dst->plane[c][y * dst->stride + i] = (uint8_t)(int32_t)__builtin_nearbyintf(sum);
        }
    }
}

static void smooth_row_plain(const gf_planes *src, const gf_grid *g, int32_t y, const gf_planes *dst) { smooth_pixels(src, g, y, 0, dst); }

#if defined(__x86_64__)
#include <immintrin.h>

AVX2 static void smooth_row_avx2(const gf_planes *src, const gf_grid *g, int32_t y, const gf_planes *dst) { smooth_pixels(src, g, y, 0, dst); }

// Where 16 pixels lie in a plane: one gather has a pixel and its right neighbour. It stays within the plane, and what it took
// is moved to where it would have been.
typedef struct {
    __m512i from, left, right;
} pairs;

AVX512 static inline pairs pairs_of(const gf_planes *p, __m512i x, __m512i y, __mmask16 *inside) {
    __m512i zero = _mm512_setzero_si512(), last = _mm512_set1_epi32(p->height - 1);
    *inside &= _mm512_cmp_epi32_mask(y, zero, _MM_CMPINT_NLT) & _mm512_cmp_epi32_mask(y, last, _MM_CMPINT_LE);
    __m512i row = _mm512_min_epi32(_mm512_max_epi32(y, zero), last);
    __m512i wanted = _mm512_add_epi32(_mm512_mullo_epi32(row, _mm512_set1_epi32((int32_t)p->stride)), x);
    __m512i end = _mm512_set1_epi32((int32_t)(p->stride * (p->height - 1)) + p->width - 4);
    __m512i from = _mm512_min_epi32(_mm512_max_epi32(wanted, zero), end);
    __m512i bits = _mm512_slli_epi32(_mm512_sub_epi32(wanted, from), 3);
    return (pairs){from, _mm512_max_epi32(_mm512_sub_epi32(zero, bits), zero), _mm512_max_epi32(bits, zero)};
}

AVX512 static inline __m512i take(const uint8_t *plane, const pairs *p) {
    __m512i v = _mm512_i32gather_epi32(p->from, plane, 1);
    return _mm512_sllv_epi32(_mm512_srlv_epi32(v, p->right), p->left);
}

AVX512 static inline __m512 filled16(__m512 x, __m512 part, float fill, int32_t version) {
    __m512 colour = _mm512_set1_ps(fill);
    if (version == 1) return _mm512_add_ps(_mm512_mul_ps(x, part), _mm512_mul_ps(_mm512_sub_ps(_mm512_set1_ps(1.0f), part), colour));
    return _mm512_add_ps(_mm512_mul_ps(_mm512_sub_ps(x, colour), part), colour);
}

AVX512 static void smooth_row_avx512(const gf_planes *src, const gf_grid *g, int32_t y, const gf_planes *dst) {
    if ((int64_t)src->stride * src->height > INT32_MAX || src->width < 4) {
        smooth_pixels(src, g, y, 0, dst);
        return;
    }
    grid_row r = grid_row_of(src, g, y);
    const float *t = g->theta;
    const __m512 one = _mm512_set1_ps(1.0f), half = _mm512_set1_ps(-0.5f);
    const __m512i byte = _mm512_set1_epi32(255), zero = _mm512_setzero_si512(), ones = _mm512_set1_epi32(1);
    const __m512i width = _mm512_set1_epi32(src->width);
    const __m512 far = _mm512_set1_ps(0x1p24f), back = _mm512_set1_ps(-0x1p24f);
    __m512i lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    for (int32_t i = 0; i < dst->width; i += 16) {
        __m512 bx = _mm512_add_ps(_mm512_cvtepi32_ps(_mm512_add_epi32(lanes, _mm512_set1_epi32(i))), _mm512_set1_ps(r.left));
        __m512 gx = _mm512_mul_ps(_mm512_set1_ps(t[0]), bx), gy = _mm512_mul_ps(_mm512_set1_ps(t[3]), bx);
        __m512 middle = _mm512_set1_ps(r.middle);
        gx = g->fused ? _mm512_fmadd_ps(_mm512_set1_ps(t[1]), middle, gx) : _mm512_add_ps(gx, _mm512_set1_ps(r.x));
        gx = _mm512_add_ps(gx, _mm512_set1_ps(t[2]));
        gy = g->fused ? _mm512_fmadd_ps(_mm512_set1_ps(t[4]), middle, gy) : _mm512_add_ps(gy, _mm512_set1_ps(r.y));
        gy = _mm512_add_ps(gy, _mm512_set1_ps(t[5]));
        __m512 fx = _mm512_fmadd_ps(_mm512_add_ps(gx, one), _mm512_set1_ps(r.half_width), half);
        __m512 fy = _mm512_fmadd_ps(_mm512_add_ps(gy, one), _mm512_set1_ps(r.half_height), half);
        __m512 left = _mm512_floor_ps(fx), top = _mm512_floor_ps(fy);
        __m512 w = _mm512_sub_ps(fx, left), e = _mm512_sub_ps(one, w), n = _mm512_sub_ps(fy, top), s = _mm512_sub_ps(one, n);
        __m512 nw = _mm512_mul_ps(s, e), ne = _mm512_mul_ps(s, w), sw = _mm512_mul_ps(n, e), se = _mm512_mul_ps(n, w);
        __m512i px = _mm512_cvttps_epi32(_mm512_min_ps(_mm512_max_ps(left, back), far));
        __m512i py = _mm512_cvttps_epi32(_mm512_min_ps(_mm512_max_ps(top, back), far));
        __m512i px1 = _mm512_add_epi32(px, ones), py1 = _mm512_add_epi32(py, ones);
        // A weight is 0 where its pixel lies outside: adding 0 changes nothing.
        __mmask16 in = _mm512_cmp_epi32_mask(px, zero, _MM_CMPINT_NLT) & _mm512_cmp_epi32_mask(px, width, _MM_CMPINT_LT);
        __mmask16 in1 = _mm512_cmp_epi32_mask(px1, zero, _MM_CMPINT_NLT) & _mm512_cmp_epi32_mask(px1, width, _MM_CMPINT_LT);
        __m512i column = _mm512_min_epi32(_mm512_max_epi32(px, _mm512_set1_epi32(-1)), width);
        __mmask16 above = 0xffff, below = 0xffff;
        pairs upper = pairs_of(src, column, py, &above), lower = pairs_of(src, column, py1, &below);
        nw = _mm512_maskz_mov_ps(in & above, nw);
        ne = _mm512_maskz_mov_ps(in1 & above, ne);
        sw = _mm512_maskz_mov_ps(in & below, sw);
        se = _mm512_maskz_mov_ps(in1 & below, se);
        __m512 part = one;
        if (g->filled) part = _mm512_add_ps(_mm512_add_ps(_mm512_add_ps(nw, ne), sw), se);
        __mmask16 kept = dst->width - i >= 16 ? (__mmask16)0xffff : (__mmask16)(0xffff >> (16 - (dst->width - i)));
        for (int c = 0; c < src->channels; c++) {
            __m512i a = take(src->plane[c], &upper), b = take(src->plane[c], &lower);
            __m512 sum = _mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_and_si512(a, byte)), nw);
            sum = _mm512_fmadd_ps(_mm512_cvtepi32_ps(_mm512_and_si512(_mm512_srli_epi32(a, 8), byte)), ne, sum);
            sum = _mm512_fmadd_ps(_mm512_cvtepi32_ps(_mm512_and_si512(b, byte)), sw, sum);
            sum = _mm512_fmadd_ps(_mm512_cvtepi32_ps(_mm512_and_si512(_mm512_srli_epi32(b, 8), byte)), se, sum);
            if (g->filled) sum = filled16(sum, part, g->fill[c], g->filled);
            _mm_mask_storeu_epi8(dst->plane[c] + y * dst->stride + i, kept, _mm512_cvtepi32_epi8(_mm512_cvtps_epi32(sum)));
        }
    }
}
#endif

#define GRID(LEVEL, TARGET)                                                                        \
    TARGET void gf_grid_##LEVEL(const gf_planes *src, const gf_grid *g, const gf_planes *dst) {    \
        for (int32_t y = 0; y < dst->height; y++) {                                                \
            if (g->bilinear) smooth_row_##LEVEL(src, g, y, dst);                                   \
            else nearest_row(src, g, y, dst);                                                      \
        }                                                                                          \
    }

LEVELS(GRID)
