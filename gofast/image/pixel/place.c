// Where pixels are: planes of pixels and back, flips, crops and pads.
#include "ops.h"

#include <string.h>

// ---- pixels and planes

INLINE void split_row(const uint8_t *restrict src, int64_t width, uint8_t *restrict r, uint8_t *restrict g, uint8_t *restrict b) {
    for (int64_t i = 0; i < width; i++) {
        r[i] = src[4 * i];
        g[i] = src[4 * i + 1];
        b[i] = src[4 * i + 2];
    }
}

// One word a pixel: 40 us a picture of 224 x 224 by single bytes, which gcc scatters.
INLINE void join_row(const uint8_t *restrict r, const uint8_t *restrict g, const uint8_t *restrict b, int64_t width, uint8_t *restrict out) {
    for (int64_t i = 0; i < width; i++) {
        uint32_t pixel = r[i] | (uint32_t)g[i] << 8 | (uint32_t)b[i] << 16 | 0xff000000u;
        memcpy(out + 4 * i, &pixel, 4);
    }
}

#define CONVERT(LEVEL, TARGET)                                                                                      \
    TARGET void gf_split_##LEVEL(const gf_picture *src, int32_t x, int32_t y, const gf_planes *dst) {               \
        for (int64_t i = 0; i < dst->height; i++) {                                                                 \
            int64_t at = i * dst->stride;                                                                           \
            split_row(src->data + (y + i) * src->stride + 4 * (int64_t)x, dst->width, dst->plane[0] + at, dst->plane[1] + at, \
                      dst->plane[2] + at);                                                                          \
        }                                                                                                           \
    }                                                                                                               \
    TARGET void gf_join_##LEVEL(const gf_planes *src, const gf_picture *dst) {                                      \
        for (int64_t i = 0; i < dst->height; i++) {                                                                 \
            int64_t at = i * src->stride;                                                                           \
            join_row(src->plane[0] + at, src->plane[1] + at, src->plane[2] + at, dst->width, dst->data + i * dst->stride); \
        }                                                                                                           \
    }

LEVELS(CONVERT)

// ---- flips

// What the vectors leave in the middle: from..to-1.
static inline void reverse(uint8_t *row, int64_t from, int64_t to) {
    for (to--; from < to; from++, to--) {
        uint8_t v = row[from];
        row[from] = row[to];
        row[to] = v;
    }
}

static void hflip_row_plain(uint8_t *row, int64_t width) { reverse(row, 0, width); }

#if defined(__x86_64__)
#include <immintrin.h>

// Both ends are read before either is written: the last two blocks may overlap,
// and then agree about what both write.
AVX2 static void hflip_row_avx2(uint8_t *row, int64_t width) {
    const __m256i order = _mm256_broadcastsi128_si256(_mm_setr_epi8(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0));
    int64_t from = 0, to = width;
    for (; to - from >= 32; from += 32, to -= 32) {
        __m256i *first = (__m256i *)(row + from), *last = (__m256i *)(row + to - 32);
        __m256i a = _mm256_shuffle_epi8(_mm256_loadu_si256(first), order), b = _mm256_shuffle_epi8(_mm256_loadu_si256(last), order);
        _mm256_storeu_si256(first, _mm256_permute2x128_si256(b, b, 1));
        _mm256_storeu_si256(last, _mm256_permute2x128_si256(a, a, 1));
    }
    reverse(row, from, to);
}

AVX512 static void hflip_row_avx512(uint8_t *row, int64_t width) {
    uint8_t index[64];
    for (int i = 0; i < 64; i++) index[i] = (uint8_t)(63 - i);
    const __m512i order = _mm512_loadu_si512(index);
    int64_t from = 0, to = width;
    for (; to - from >= 64; from += 64, to -= 64) {
        __m512i a = _mm512_permutexvar_epi8(order, _mm512_loadu_si512(row + from));
        __m512i b = _mm512_permutexvar_epi8(order, _mm512_loadu_si512(row + to - 64));
        _mm512_storeu_si512(row + from, b);
        _mm512_storeu_si512(row + to - 64, a);
    }
    if (from < to) {
        __mmask64 mask = ~0ULL >> (64 - (to - from));
        __m512i down = _mm512_sub_epi8(_mm512_set1_epi8((char)(to - from - 1)), _mm512_sub_epi8(_mm512_set1_epi8(63), order));
        _mm512_mask_storeu_epi8(row + from, mask, _mm512_permutexvar_epi8(down, _mm512_maskz_loadu_epi8(mask, row + from)));
    }
}
#endif

#define HFLIP(LEVEL, TARGET)                                                                                             \
    void gf_hflip_##LEVEL(const gf_planes *p) {                                                                          \
        for (int c = 0; c < p->channels; c++)                                                                            \
            for (int64_t y = 0; y < p->height; y++) hflip_row_##LEVEL(p->plane[c] + y * p->stride, p->width);            \
    }

LEVELS(HFLIP)

void gf_vflip(const gf_planes *p) {
    for (int c = 0; c < p->channels; c++) {
        for (int64_t y = 0; y < p->height / 2; y++) {
            uint8_t *a = p->plane[c] + y * p->stride, *b = p->plane[c] + (p->height - 1 - y) * p->stride;
            for (int64_t i = 0, n; i < p->width; i += n) {
                uint8_t kept[512];
                n = p->width - i < (int64_t)sizeof kept ? p->width - i : (int64_t)sizeof kept;
                memcpy(kept, a + i, (size_t)n);
                memcpy(a + i, b + i, (size_t)n);
                memcpy(b + i, kept, (size_t)n);
            }
        }
    }
}

// ---- turns

void gf_turn(const gf_planes *src, int quarters, const gf_planes *dst) {
    const int32_t block = 32; // whose columns stay in the first cache
    for (int c = 0; c < dst->channels; c++) {
        // Down a column of dst is along a row of src.
        const uint8_t *first = quarters == 1 ? src->plane[c] + src->width - 1 : src->plane[c] + (src->height - 1) * src->stride;
        int64_t down = quarters == 1 ? -1 : 1, right = quarters == 1 ? src->stride : -src->stride;
        for (int32_t y0 = 0; y0 < dst->height; y0 += block) {
            for (int32_t x0 = 0; x0 < dst->width; x0 += block) {
                for (int32_t y = y0; y < dst->height && y < y0 + block; y++) {
                    for (int32_t x = x0; x < dst->width && x < x0 + block; x++)
                        dst->plane[c][y * dst->stride + x] = first[y * down + x * right];
                }
            }
        }
    }
}

// ---- crops and pads

// Which of n pixels is seen at i, inside or not.
static int64_t seen(int64_t i, int64_t n, int edge) {
    if (i >= 0 && i < n) return i;
    int64_t period;
    switch (edge) {
    case GF_EDGE_EDGE:
        return i < 0 ? 0 : n - 1;
    case GF_EDGE_REFLECT: // c b | a b c | b a
        if (n == 1) return 0;
        period = 2 * n - 2;
        break;
    default: // b a | a b c | c b
        period = 2 * n;
    }
    i %= period;
    if (i < 0) i += period;
    if (i < n) return i;
    return edge == GF_EDGE_REFLECT ? period - i : period - 1 - i;
}

// What lies beyond the edge has one colour. Dense planes get it all over first: in a picture of 32 x 32 two thirds of the time
// went into short memsets.
static void window_of_colour(const gf_planes *src, int32_t x, int32_t y, int64_t left, int64_t right, const uint8_t fill[3], const gf_planes *dst) {
    int dense = dst->stride == dst->width;
    for (int c = 0; c < dst->channels; c++) {
        if (dense) memset(dst->plane[c], fill[c], (size_t)dst->width * (size_t)dst->height);
        for (int64_t j = 0; j < dst->height; j++) {
            uint8_t *out = dst->plane[c] + j * dst->stride;
            int64_t row = y + j;
            if (row < 0 || row >= src->height || right == left) {
                if (!dense) memset(out, fill[c], (size_t)dst->width);
                continue;
            }
            if (!dense) {
                memset(out, fill[c], (size_t)left);
                memset(out + right, fill[c], (size_t)(dst->width - right));
            }
            memcpy(out + left, src->plane[c] + row * src->stride + x + left, (size_t)(right - left));
        }
    }
}

void gf_window(const gf_planes *src, int32_t x, int32_t y, int edge, const uint8_t fill[3], const gf_planes *dst) {
    // Columns left..right-1 of dst are src's own.
    int64_t left = x < 0 ? -(int64_t)x : 0, right = (int64_t)src->width - x;
    if (right > dst->width) right = dst->width;
    if (left > dst->width) left = dst->width;
    if (right < left) right = left;
    if (edge == GF_EDGE_CONSTANT) {
        window_of_colour(src, x, y, left, right, fill, dst);
        return;
    }
    for (int c = 0; c < dst->channels; c++) {
        for (int64_t j = 0; j < dst->height; j++) {
            uint8_t *out = dst->plane[c] + j * dst->stride;
            int64_t row = seen((int64_t)y + j, src->height, edge);
            const uint8_t *from = src->plane[c] + row * src->stride;
            if (right > left) memcpy(out + left, from + x + left, (size_t)(right - left));
            for (int64_t i = 0; i < dst->width; i++) {
                if (i == left) i = right;
                if (i >= dst->width) break;
                out[i] = from[seen((int64_t)x + i, src->width, edge)];
            }
        }
    }
}
