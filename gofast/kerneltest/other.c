// What has levels of its own: resizing, PNG's rows and Parquet's pages.
#include <string.h>

#include "../image/png/rows.h"
#include "../image/resample/resample.h"
#include "../table/parquet/page/page.h"
#include "trial.h"

static int resize_best(void) { return gf_resize_best() - GF_RESIZE_PLAIN; }

static void interleave(const uint8_t *restrict r, const uint8_t *restrict g, const uint8_t *restrict b, uint8_t *restrict out, int32_t width) {
    for (int32_t x = 0; x < width; x++) {
        uint32_t v = r[x] | (uint32_t)g[x] << 8 | (uint32_t)b[x] << 16 | 0xff000000u;
        memcpy(out + 4 * (int64_t)x, &v, 4);
    }
}

// All of it at once: the window of a picture as RGBX rows of 4 * window.width bytes, X 255. The source needs no slack.
static int resize_picture(gf_resize *r, const gf_resize_plan *plan, const gf_picture *source, uint8_t *out) {
    int fault = gf_resize_begin(r, plan);
    if (fault) return fault;
    int32_t width = r->x.count;
    int64_t needed = 4 * (int64_t)(r->x.hi - r->x.lo), end = (source->height - 1) * source->stride + 4 * (int64_t)source->width;
    const uint8_t *planes[3];
    for (int32_t y = r->y.lo; y < r->y.hi; y++) {
        int64_t at = y * source->stride + 4 * (int64_t)r->x.lo;
        const uint8_t *row = source->data + at;
        if (at + needed + GF_RESIZE_SLACK > end) { // the last row, and some before it in a narrow picture
            uint8_t *copy = (uint8_t *)r->memory + r->memory_size - GF_RESIZE_SLACK - needed;
            memcpy(copy, row, (size_t)needed);
            row = copy;
        }
        gf_resize_push(r, row);
        while (gf_resize_pull(r, planes)) {
            interleave(planes[0], planes[1], planes[2], out, width);
            out += 4 * (int64_t)width;
        }
    }
    return 0;
}

static void resize(trial *t) {
    static const int most[] = {3, 40, 200, 1200};
    gf_resize_plan p = {.in_width = 1 + dice(t, most[dice(t, 4)]), .in_height = 1 + dice(t, most[dice(t, 3)]),
                        .out_width = 1 + dice(t, most[dice(t, 3)]), .out_height = 1 + dice(t, most[dice(t, 3)]),
                        .filter = dice(t, GF_FILTERS), .order = dice(t, GF_ORDERS), .flip = dice(t, 2)};
    p.window = (gf_box){0, 0, p.out_width, p.out_height};
    if (dice(t, 2)) {
        p.window.x = dice(t, p.out_width), p.window.y = dice(t, p.out_height);
        p.window.width = 1 + dice(t, p.out_width - p.window.x), p.window.height = 1 + dice(t, p.out_height - p.window.y);
    }
    if (!dice(t, 4)) { // a box within, as JPEG's reduced sizes leave it
        float x = (float)real(t) * (float)p.in_width / 2, y = (float)real(t) * (float)p.in_height / 2;
        float part[4] = {x, y, (float)p.in_width - (float)real(t) * x, (float)p.in_height - (float)real(t) * y};
        memcpy(p.part, part, sizeof part);
    }
    gf_picture from = {.stride = 4 * p.in_width + dice(t, 2) * dice(t, 30), .width = p.in_width, .height = p.in_height};
    from.data = take(t, (size_t)(from.stride * from.height), 1, GF_READ);
    uint8_t *out = take(t, 4 * (size_t)(p.window.width * p.window.height), 1, GF_MAKE);
    static gf_resize kept[4]; // from picture to picture, as a thread keeps it
    gf_resize *r = &kept[t->level];
    r->variant = GF_RESIZE_PLAIN + t->level;
    begin(t);
    result(t, (uint64_t)resize_picture(r, &p, &from, out));
}

static int two(void) { return 1; }

static void unfilter(trial *t) {
    static const int sizes[] = {1, 2, 3, 3, 4, 4, 6, 8};
    int pixel = sizes[dice(t, 8)];
    size_t n = (size_t)(pixel * (1 + dice(t, 90)));
    uint8_t *row = take(t, n + GF_PNG_ROW_SLACK, 1, GF_READ), *above = take(t, n + GF_PNG_ROW_SLACK, 1, GF_READ);
    allow(t, row, n, GF_MAKE);
    begin(t);
    gf_png_unfilter(t->level == 0, pixel)[1 + dice(t, 4)](row, above, n, pixel);
}

static void expand(trial *t) {
    static const int kinds[][2] = {{1, 0}, {2, 0}, {4, 0}, {8, 0}, {16, 0}, {8, 2}, {8, 2}, {16, 2}, {1, 3}, {4, 3}, {8, 3}, {8, 4}, {16, 4}, {8, 6}, {16, 6}};
    const int *kind = kinds[dice(t, 15)];
    size_t n = (size_t)(1 + dice(t, 300));
    gf_png_look look;
    gf_png_look_at(&look, kind[0], kind[1], take(t, 3 * 256, 1, GF_READ), (uint32_t)dice(t, 257));
    uint8_t *row = take(t, 8 * n + GF_PNG_ROW_SLACK, 1, GF_READ), *pixels = take(t, 4 * n + GF_PNG_ROW_SLACK, 1, GF_MAKE);
    allow(t, pixels + 4 * n, GF_PNG_ROW_SLACK, GF_SCRATCH);
    begin(t);
    gf_png_expand(&look, t->level == 0, row, pixels, n);
}

// Writes n values below a bound as runs, repeated and packed; returns where they end. What fills the last group up, and at
// times a value, is not below it.
static uint8_t *encode(trial *t, uint8_t *out, int n, int width, int bound) {
    while (n > 0) {
        int count = 1 + dice(t, dice(t, 3) ? 40 : 300);
        if (dice(t, 2)) {
            for (count = 2 * (count < n || !dice(t, 50) ? count : n); count > 127; count >>= 7) *out++ = (uint8_t)(count | 128);
            *out++ = (uint8_t)count;
            int value = dice(t, bound);
            for (int bit = 0; bit < width; bit += 8) *out++ = (uint8_t)(value >> bit);
            n -= count / 2;
        } else {
            int groups = 1 + dice(t, 60);
            *out++ = (uint8_t)(2 * groups + 1);
            memset(out, 0, (size_t)(groups * width));
            for (int i = 0; i < 8 * groups; i++) {
                int value = dice(t, i < n && dice(t, 3000) ? bound : 1 << width);
                for (int bit = i * width; value; bit++, value >>= 1) out[bit / 8] |= (uint8_t)((value & 1) << bit % 8);
            }
            out += groups * width;
            n -= 8 * groups;
        }
    }
    return out;
}

static void runs8(trial *t) {
    int width = dice(t, 9), n = dice(t, 900), bound = dice(t, 2) ? 1 << width : 1 + dice(t, 1 << width);
    uint8_t *table = take(t, 256, 1, GF_READ), *dst = take(t, (size_t)n, 1, GF_MAKE), *src = take(t, 4096, 1, GF_READ);
    int64_t length = encode(t, src, n, width, bound) - src;
    begin(t);
    int status = gf_runs8(t->level, src, dice(t, 8) ? length : dice(t, (int)length + 1), width, dst, n, table, dice(t, 20) ? bound : dice(t, 257));
    if (status) memset(dst, 0, (size_t)n); // what is there then does not matter, nor which error it is
    result(t, status == GF_OK);
}

static void entries(trial *t) {
    int width = dice(t, 17), n = dice(t, 900), size = 1 << dice(t, 4), bound = 1 + dice(t, 1 << width);
    uint8_t *table = take(t, (size_t)(bound * size), 1, GF_READ), *dst = take(t, (size_t)(n * size), 1, GF_MAKE), *src = take(t, 4096, 1, GF_READ);
    int64_t length = encode(t, src, n, width, bound) - src;
    begin(t);
    int status = gf_entries(t->level, src, dice(t, 8) ? length : dice(t, (int)length + 1), width, dst, n, table, (uint64_t)bound, size);
    if (status) memset(dst, 0, (size_t)(n * size));
    result(t, status == GF_OK);
}

static void rows(trial *t) {
    int64_t size = 1 << dice(t, 4), count = 1 + dice(t, 150), columns = 1 + dice(t, 90);
    int64_t apart = count * size + dice(t, 4), row = columns * size + dice(t, 9);
    uint8_t *src = take(t, (size_t)(apart * columns), 1, GF_READ), *dst = take(t, (size_t)(row * count), 1, GF_READ);
    for (int64_t r = 0; r < count; r++) allow(t, dst + r * row, (size_t)(columns * size), GF_MAKE);
    begin(t);
    gf_rows(t->level, src, apart, count, columns, (int)size, dst, row);
}

const kernel gf_other_kernels[] = {
    {"resize", resize_best, resize}, {"png unfilter", two, unfilter}, {"png expand", two, expand},
    {"page runs", gf_page_level, runs8}, {"page entries", gf_page_level, entries}, {"page rows", gf_page_level, rows}, {0},
};
