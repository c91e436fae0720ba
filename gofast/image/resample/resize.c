// The stream: a ring of rows between the two passes.
//
// If the horizontal pass comes first, the ring holds planar rows of the output's width; if the vertical pass comes first,
// it holds raw source rows. A row stays in the ring only as long as a later output row needs it.
#include <stdlib.h>
#include <string.h>

#include "kernels.h"

static const struct {
    gf_horizontal_fn horizontal;
    gf_vertical_fn vertical;
} KERNELS[] = {
    [GF_RESIZE_PLAIN] = {gf_horizontal_plain, gf_vertical_plain},
#if defined(__x86_64__)
    [GF_RESIZE_AVX2] = {gf_horizontal_avx2, gf_vertical_avx2},
    [GF_RESIZE_AVX512] = {gf_horizontal_avx512, gf_vertical_avx512},
#elif defined(__aarch64__)
    [GF_RESIZE_NEON] = {gf_horizontal_neon, gf_vertical_neon},
#endif
};

int gf_resize_best(void) {
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512vnni"))
        return GF_RESIZE_AVX512;
    if (__builtin_cpu_supports("avx2")) return GF_RESIZE_AVX2;
#elif defined(__aarch64__)
    return GF_RESIZE_NEON; // every such processor has it
#endif
    return GF_RESIZE_PLAIN;
}

static int kernel(const gf_axis *axis) { return axis->largest <= GF_TAP_FITS ? axis->spec.variant : GF_RESIZE_PLAIN; }

static int vertical_first(const gf_resize_plan *p) {
    int64_t w = p->in_width, h = p->in_height, ow = p->out_width, oh = p->out_height;
    if (p->filter >= GF_FILTER_TORCH_BILINEAR) return 0;
    switch (p->order) {
    case GF_ORDER_PILLOW_13:
        return h > oh && h - oh > 2 * (w - ow);
    case GF_ORDER_PILLOW_12_2:
        return h > 100 * w && oh < h;
    default:
        return 0;
    }
}

static int64_t round_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

static int reserve(gf_resize *r) {
    int64_t width = r->x.hi - r->x.lo;
    r->plane_bytes = round_up(r->x.count, GF_LANES);
    int64_t planar = round_up(3 * r->plane_bytes, 64), raw = round_up(4 * width, 64);
    r->capacity = r->y.span;
    r->row_bytes = r->vertical_first ? raw : planar;
    int64_t ring = r->capacity * r->row_bytes, pointers = round_up((int64_t)sizeof *r->rows * 4 * r->y.groups, 64);
    int64_t between = r->vertical_first ? raw + GF_RESIZE_SLACK : 0;
    // The slack of every row is the row after it; that of the last, `between` or `out`.
    int64_t need = round_up(pointers + ring + between + planar + 2 * GF_RESIZE_SLACK + 4 * width, 64);
    if ((size_t)need > r->memory_size) {
        free(r->memory);
        r->memory_size = 0;
        r->memory = aligned_alloc(64, (size_t)need);
        if (!r->memory) return GF_FAULT_MEMORY;
        // Results from padding are thrown away, but they should not depend on old memory.
        memset(r->memory, 0, (size_t)need);
        r->memory_size = (size_t)need;
    }
    r->rows = r->memory;
    r->ring = (uint8_t *)r->memory + pointers;
    r->between = r->ring + ring;
    r->out = r->between + between;
    return 0;
}

int gf_resize_begin(gf_resize *r, const gf_resize_plan *p) {
    int best = gf_resize_best();
    int variant = r->variant == GF_RESIZE_BEST || r->variant > best ? best : r->variant;
    const float whole[4] = {0, 0, (float)p->in_width, (float)p->in_height}, *part = p->part[2] > 0 ? p->part : whole;
    gf_axis_spec x = {part[0], part[2], p->in_width, p->out_width, p->window.x, p->window.x + p->window.width, p->filter, p->flip != 0, variant, 1};
    gf_axis_spec y = {part[1], part[3], p->in_height, p->out_height, p->window.y, p->window.y + p->window.height, p->filter, 0, variant, 0};
    int fault = gf_axis_build(&r->x, &x);
    if (!fault) fault = gf_axis_build(&r->y, &y);
    if (fault) return fault;
    r->vertical_first = vertical_first(p);
    r->next_in = r->next_out = 0;
    return reserve(r);
}

static uint8_t *slot(const gf_resize *r, int32_t row) { return r->ring + (int64_t)(row % r->capacity) * r->row_bytes; }

void gf_resize_push(gf_resize *r, const uint8_t *rgbx) {
    int32_t row = r->next_in++;
    if (r->next_out == r->y.count || row < r->y.keep[r->next_out]) return;
    if (r->vertical_first) memcpy(slot(r, row), rgbx, (size_t)(r->x.hi - r->x.lo) * 4);
    else KERNELS[kernel(&r->x)].horizontal(&r->x, rgbx, slot(r, row), r->plane_bytes);
}

int32_t gf_resize_idle(const gf_resize *r) {
    int32_t idle = r->next_out < r->y.count ? r->y.keep[r->next_out] - r->next_in : 0;
    return idle > 0 ? idle : 0;
}

void gf_resize_skip(gf_resize *r, int32_t rows) { r->next_in += rows; }

// The next output row of the vertical pass; NULL while source rows are missing.
static const uint8_t *pull_vertical(gf_resize *r, uint8_t *out) {
    int32_t i = r->next_out;
    if (i == r->y.count) return NULL;
    int32_t first = r->y.first[i], length = r->y.length[i];
    if (r->next_in < first + length) return NULL;
    r->next_out++;
    if (length == 1 && r->y.taps[(int64_t)(i / GF_BLOCK) * r->y.stride * GF_BLOCK + i % GF_BLOCK] == GF_TAP_ONE) return slot(r, first);
    int32_t at = first % r->capacity;
    for (int32_t t = 0; t < length; t++) {
        r->rows[t] = r->ring + at * r->row_bytes;
        at = at + 1 == r->capacity ? 0 : at + 1;
    }
    for (int32_t t = length; t < 4 * r->y.groups; t++) r->rows[t] = r->rows[0]; // with taps of zero
    KERNELS[kernel(&r->y)].vertical(&r->y, i, r->rows, out, r->row_bytes);
    return out;
}

int gf_resize_pull(gf_resize *r, const uint8_t *planes[3]) {
    const uint8_t *row = pull_vertical(r, r->vertical_first ? r->between : r->out);
    if (!row) return 0;
    if (r->vertical_first) {
        KERNELS[kernel(&r->x)].horizontal(&r->x, row, r->out, r->plane_bytes);
        row = r->out;
    }
    for (int c = 0; c < 3; c++) planes[c] = row + c * r->plane_bytes;
    return 1;
}

void gf_resize_free(gf_resize *r) {
    gf_axis_free(&r->x);
    gf_axis_free(&r->y);
    free(r->memory);
    r->memory = NULL;
    r->memory_size = 0;
}
