// Choosing the row functions, and the plain ones: a table of 256 values a
// channel. The table is made with the very steps that torch takes, so it is right
// by definition; arithmetic is used only where it gives the same bits for all of it.
#include "rows.h"

#include <string.h>

// Rounds to nearest even; a NaN becomes torch's quiet one.
uint16_t gf_to_bfloat16(float f) {
    uint32_t bits;
    memcpy(&bits, &f, 4);
    if ((bits & 0x7fffffff) > 0x7f800000) return 0x7fc0;
    return (uint16_t)((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

uint16_t gf_to_float16(float f) {
    uint32_t bits;
    memcpy(&bits, &f, 4);
    uint16_t sign = (uint16_t)((bits >> 16) & 0x8000);
    bits &= 0x7fffffff;
    if (bits > 0x7f800000) return sign | 0x7e00;
    if (bits >= 0x477ff000) return sign | 0x7c00; // rounds to infinity
    if (bits < 0x38800000) { // subnormal: adding 0.5 leaves the rounded steps of 2^-24 in the low bits
        float magnitude;
        memcpy(&magnitude, &bits, 4);
        magnitude += 0.5f;
        memcpy(&bits, &magnitude, 4);
        return (uint16_t)(sign | (bits - 0x3f000000));
    }
    return (uint16_t)(sign | ((bits - 0x38000000 + 0x0fff + ((bits >> 13) & 1)) >> 13));
}

static void make_tables(gf_normalise *n, const float *mean, const float *std) {
    for (int c = 0; c < n->channels; c++) {
        for (int v = 0; v < 256; v++) {
            float x = n->scale == GF_SCALE_DIVIDE ? (float)v / 255.0f : (float)v * n->unit;
            if (mean) {
                x = x - mean[c];
                x = x / std[c];
            }
            n->float32[c][v] = x;
            n->bits16[c][v] = n->as == GF_AS_BFLOAT16 ? gf_to_bfloat16(x) : gf_to_float16(x);
        }
    }
}

// x: what arithmetic's x / 255 is multiplied by, a power of two.
static void make_lanes(gf_normalise *n, const float *mean, const float *std, float x) {
    for (int i = 0; i < 48; i++) {
        int c = n->last ? i % 3 : i / 16;
        if (c >= n->channels) break;
        double inverse = mean ? 1.0 / (double)std[c] : 1.0;
        float hi = (float)inverse;
        n->mean[i] = mean ? mean[c] * x : 0.0f;
        n->hi[i] = hi / x;
        n->lo[i] = (float)(inverse - (double)hi) / x;
    }
}

// The value of channel c and pixel byte v, stored at out[i].
static inline void put(const gf_normalise *n, int c, uint8_t v, uint8_t *out, int64_t i, int as) {
    if (as == GF_AS_FLOAT32) memcpy(out + 4 * i, &n->float32[c][v], 4);
    else memcpy(out + 2 * i, &n->bits16[c][v], 2);
}

static inline __attribute__((always_inline)) void planar(const gf_normalise *n, const uint8_t *const src[3], int64_t width,
                                                         uint8_t *const out[3], int as, int last) {
    for (int c = 0; c < n->channels; c++) {
        const uint8_t *s = src[c];
        for (int64_t i = 0; i < width; i++) put(n, c, s[i], last ? out[0] : out[c], last ? 3 * i + c : i, as);
    }
}

static inline __attribute__((always_inline)) void rgbx(const gf_normalise *n, const uint8_t *src, int64_t width,
                                                       uint8_t *const out[3], int as, int last) {
    for (int64_t i = 0; i < width; i++) {
        for (int c = 0; c < 3; c++) put(n, c, src[4 * i + c], last ? out[0] : out[c], last ? 3 * i + c : i, as);
    }
}

#define ROWS(NAME, AS, LAST)                                                                                        \
    static void planar_##NAME(const gf_normalise *n, const uint8_t *const src[3], int64_t width, uint8_t *const out[3]) { \
        planar(n, src, width, out, AS, LAST);                                                                       \
    }                                                                                                               \
    static void rgbx_##NAME(const gf_normalise *n, const uint8_t *src, int64_t width, uint8_t *const out[3]) {      \
        rgbx(n, src, width, out, AS, LAST);                                                                         \
    }

ROWS(f32_planes, GF_AS_FLOAT32, 0)
ROWS(f32_last, GF_AS_FLOAT32, 1)
ROWS(b16_planes, GF_AS_FLOAT16, 0)
ROWS(b16_last, GF_AS_FLOAT16, 1)

// Bytes stay what they are.
static void planar_u8_planes(const gf_normalise *n, const uint8_t *const src[3], int64_t width, uint8_t *const out[3]) {
    for (int c = 0; c < n->channels; c++) memcpy(out[c], src[c], (size_t)width);
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

const gf_rows gf_rows_plain[4][2] = {
    {{planar_f32_planes, rgbx_f32_planes}, {planar_f32_last, rgbx_f32_last}},
    {{planar_b16_planes, rgbx_b16_planes}, {planar_b16_last, rgbx_b16_last}},
    {{planar_b16_planes, rgbx_b16_planes}, {planar_b16_last, rgbx_b16_last}},
    {{planar_u8_planes, rgbx_u8_planes}, {planar_u8_last, rgbx_u8_last}},
};

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
    size_t size = (size_t)(WIDTH * n->value_bytes * (n->last ? 3 : 1));
    for (int from_pixels = 0; from_pixels < (n->channels == 3 ? 2 : 1); from_pixels++) {
        const gf_rows *plain = &gf_rows_plain[n->as][n->last];
        if (from_pixels) {
            plain->rgbx(n, pixels, WIDTH, a);
            rows->rgbx(n, pixels, WIDTH, b);
        } else {
            plain->planar(n, src, WIDTH, a);
            rows->planar(n, src, WIDTH, b);
        }
        finish_stream();
        for (int c = 0; c < (n->last ? 1 : n->channels); c++)
            if (memcmp(want[c], got[c], size)) return 0;
    }
    return 1;
}

static const gf_rows *fast_rows(const gf_normalise *n, int level) {
    if (level == GF_PIXEL_AVX512) return &gf_rows_avx512[n->as][n->last];
    if (level == GF_PIXEL_AVX2 && n->as != GF_AS_UINT8) return &gf_rows_avx2[n->as][n->last];
    return NULL;
}
#else
int gf_pixel_level(void) { return GF_PIXEL_PLAIN; }
#endif

void gf_normalise_prepare(gf_normalise *n, int scale, const float *mean, const float *std, int as, int channels, int last, int stream, int level) {
    memset(n, 0, sizeof *n);
    n->scale = scale;
    n->unit = scale == GF_SCALE_CAST ? 1.0f : (float)(1.0 / 255.0);
    n->as = as;
    n->value_bytes = as == GF_AS_FLOAT32 ? 4 : as == GF_AS_UINT8 ? 1 : 2;
    n->channels = channels;
    n->last = last && channels == 3;
    make_tables(n, mean, std);
    const gf_rows *rows = &gf_rows_plain[as][n->last];
    n->tabled = 1;
    n->finish = finish_nothing;
#if defined(__x86_64__)
    n->stream = stream;
    int best = gf_pixel_level();
    if (level > best) level = best;
    make_lanes(n, mean, std, level == GF_PIXEL_AVX512 && scale == GF_SCALE_DIVIDE ? GF_TWO_32 : 1.0f);
    if (level == GF_PIXEL_AVX512) gf_rows_avx512_index(n);
    const gf_rows *fast = fast_rows(n, level);
    if (fast && same_as_table(n, fast)) {
        rows = fast;
        n->tabled = 0;
        if (stream) n->finish = finish_stream;
    }
#else
    (void)level;
#endif
    if (n->tabled) n->stream = 0;
    n->planar = rows->planar;
    n->rgbx = rows->rgbx;
    n->erase = gf_erase;
}
