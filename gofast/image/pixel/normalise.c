// Choosing the row functions, and the plain ones: a table of 256 values a
// channel. Arithmetic is used only where it gives the same bits for all of it.
#include "rows.h"

#include <string.h>

// x: what arithmetic's x / 255 is multiplied by, a power of two.
static void make_lanes(gf_normalise *n, const float *mean, const float *std, float x) {
    for (int i = 0; i < 48; i++) {
        int c = n->numbers.last ? i % 3 : i / 16;
        if (c >= n->numbers.channels) break;
        double inverse = mean ? 1.0 / (double)std[c] : 1.0;
        float hi = (float)inverse;
        n->mean[i] = mean ? mean[c] * x : 0.0f;
        n->hi[i] = hi / x;
        n->lo[i] = (float)(inverse - (double)hi) / x;
    }
}

// The value of channel c and pixel byte v, stored at out[i].
static inline void put(const gf_normalise *n, int c, uint8_t v, uint8_t *out, int64_t i, int size) {
    memcpy(out + size * i, n->codes[c].results + size * v, (size_t)size);
}

static void planar_planes(const gf_normalise *n, const uint8_t *const src[3], int64_t width, uint8_t *const out[3]) {
    for (int c = 0; c < n->numbers.channels; c++) n->look_up(&n->codes[c], src[c], width, out[c]);
}

#define ROWS(NAME, SIZE)                                                                                                       \
    static void planar_##NAME##_last(const gf_normalise *n, const uint8_t *const src[3], int64_t width, uint8_t *const out[3]) { \
        for (int c = 0; c < 3; c++)                                                                                            \
            for (int64_t i = 0; i < width; i++) put(n, c, src[c][i], out[0], 3 * i + c, SIZE);                                 \
    }                                                                                                                          \
    static void rgbx_##NAME##_planes(const gf_normalise *n, const uint8_t *src, int64_t width, uint8_t *const out[3]) {        \
        for (int64_t i = 0; i < width; i++)                                                                                    \
            for (int c = 0; c < 3; c++) put(n, c, src[4 * i + c], out[c], i, SIZE);                                            \
    }                                                                                                                          \
    static void rgbx_##NAME##_last(const gf_normalise *n, const uint8_t *src, int64_t width, uint8_t *const out[3]) {          \
        for (int64_t i = 0; i < width; i++)                                                                                    \
            for (int c = 0; c < 3; c++) put(n, c, src[4 * i + c], out[0], 3 * i + c, SIZE);                                    \
    }

ROWS(32, 4)
ROWS(16, 2)

// Bytes stay what they are.
static void planar_u8_planes(const gf_normalise *n, const uint8_t *const src[3], int64_t width, uint8_t *const out[3]) {
    for (int c = 0; c < n->numbers.channels; c++) memcpy(out[c], src[c], (size_t)width);
}

static void planar_u8_last(const gf_normalise *n, const uint8_t *const src[3], int64_t width, uint8_t *const out[3]) {
    (void)n;
    const uint8_t *restrict r = src[0], *restrict g = src[1], *restrict b = src[2];
    uint8_t *restrict o = out[0];
    for (int64_t i = 0; i < width; i++) {
        o[3 * i] = r[i];
        o[3 * i + 1] = g[i];
        o[3 * i + 2] = b[i];
    }
}

static void rgbx_u8_planes(const gf_normalise *n, const uint8_t *src, int64_t width, uint8_t *const out[3]) {
    (void)n;
    const uint8_t *restrict s = src;
    uint8_t *restrict r = out[0], *restrict g = out[1], *restrict b = out[2];
    for (int64_t i = 0; i < width; i++) {
        r[i] = s[4 * i];
        g[i] = s[4 * i + 1];
        b[i] = s[4 * i + 2];
    }
}

static void rgbx_u8_last(const gf_normalise *n, const uint8_t *src, int64_t width, uint8_t *const out[3]) {
    (void)n;
    const uint8_t *restrict s = src;
    uint8_t *restrict o = out[0];
    for (int64_t i = 0; i < width; i++) {
        o[3 * i] = s[4 * i];
        o[3 * i + 1] = s[4 * i + 1];
        o[3 * i + 2] = s[4 * i + 2];
    }
}

// [last], by the size of a value.
static const gf_rows plain_32[2] = {{planar_planes, rgbx_32_planes}, {planar_32_last, rgbx_32_last}};
static const gf_rows plain_16[2] = {{planar_planes, rgbx_16_planes}, {planar_16_last, rgbx_16_last}};
static const gf_rows plain_8[2] = {{planar_u8_planes, rgbx_u8_planes}, {planar_u8_last, rgbx_u8_last}};

static const gf_rows *plain_rows(const gf_numbers *n) {
    return &(n->size == 4 ? plain_32 : n->size == 2 ? plain_16 : plain_8)[n->last];
}

static void finish_nothing(void) {}

#if defined(__x86_64__)
#include <immintrin.h>

static void finish_stream(void) { _mm_sfence(); }

int gf_pixel_level(void) {
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") || !__builtin_cpu_supports("f16c")) return GF_PIXEL_PLAIN;
    if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") || !__builtin_cpu_supports("avx512vl") ||
        !__builtin_cpu_supports("avx512dq") || !__builtin_cpu_supports("avx512vbmi") || !__builtin_cpu_supports("avx512vnni"))
        return GF_PIXEL_AVX2;
    return GF_PIXEL_AVX512;
}

static const gf_rows *fast_rows(const gf_numbers *n, int level) {
    if (level == GF_PIXEL_AVX512) return &gf_rows_avx512[n->type][n->last];
    if (level == GF_PIXEL_AVX2 && (n->type != GF_UINT8 || n->last)) return &gf_rows_avx2[n->type][n->last];
    return NULL;
}
#elif defined(__aarch64__)
// Every such processor has NEON. Its stores go through the caches, so there is nothing to put in order.
static void finish_stream(void) {}

int gf_pixel_level(void) { return GF_PIXEL_NEON; }

static const gf_rows *fast_rows(const gf_numbers *n, int level) {
    return level == GF_PIXEL_NEON && n->type != GF_UINT8 ? &gf_rows_neon[n->type][n->last] : NULL;
}
#else
static void finish_stream(void) {}

int gf_pixel_level(void) { return GF_PIXEL_PLAIN; }

static const gf_rows *fast_rows(const gf_numbers *n, int level) {
    (void)n, (void)level;
    return NULL;
}
#endif

// Whether rows give the table's bits for every byte in every channel.
static int same_as_table(const gf_normalise *n, const gf_rows *rows) {
    enum { WIDTH = 256 };
    _Alignas(64) uint8_t want[3][WIDTH * 12], got[3][WIDTH * 12];
    uint8_t bytes[WIDTH], pixels[WIDTH * 4];
    for (int i = 0; i < WIDTH; i++) {
        bytes[i] = (uint8_t)i;
        memset(pixels + 4 * i, i, 4);
    }
    const uint8_t *const src[3] = {bytes, bytes, bytes};
    uint8_t *const a[3] = {want[0], want[1], want[2]}, *const b[3] = {got[0], got[1], got[2]};
    size_t size = (size_t)(WIDTH * n->numbers.size * (n->numbers.last ? 3 : 1));
    for (int from_pixels = 0; from_pixels < (n->numbers.channels == 3 ? 2 : 1); from_pixels++) {
        const gf_rows *plain = plain_rows(&n->numbers);
        if (from_pixels) {
            plain->rgbx(n, pixels, WIDTH, a);
            rows->rgbx(n, pixels, WIDTH, b);
        } else {
            plain->planar(n, src, WIDTH, a);
            rows->planar(n, src, WIDTH, b);
        }
        finish_stream();
        for (int c = 0; c < (n->numbers.last ? 1 : n->numbers.channels); c++)
            if (memcmp(want[c], got[c], size)) return 0;
    }
    return 1;
}

void gf_normalise_prepare(gf_normalise *n, const float *mean, const float *std, int level) {
    n->numbers.last = n->numbers.last && n->numbers.channels == 3;
    n->unit = n->numbers.scale == GF_SCALE_CAST ? 1.0f : GF_UNIT_HI;
    const gf_rows *rows = plain_rows(&n->numbers);
    n->look_up = gf_codes_choose(&n->numbers, GF_PIXEL_PLAIN);
    n->tabled = 1;
    n->finish = finish_nothing;
    int best = gf_pixel_level();
    if (level > best) level = best;
    make_lanes(n, mean, std, level == GF_PIXEL_AVX512 && n->numbers.scale == GF_SCALE_DIVIDE ? GF_TWO_32 : 1.0f);
#if defined(__x86_64__)
    if (level == GF_PIXEL_AVX512) gf_rows_avx512_index(n);
#endif
    const gf_rows *fast = fast_rows(&n->numbers, level);
    if (fast && same_as_table(n, fast)) {
        rows = fast;
        n->tabled = 0;
        if (n->stream) n->finish = finish_stream;
    } else {
        n->look_up = gf_codes_choose(&n->numbers, level);
    }
    if (n->tabled) n->stream = 0;
    n->planar = rows->planar;
    n->rgbx = rows->rgbx;
    n->erase = gf_erase;
}
