// AugMix: chains of operations on the same picture, mixed with it. torchvision makes a tensor of a PIL image for it, so that
// the arithmetic is torch's for both.
#include "augmix.h"

#include <math.h>

#include "operation.h"
#include "tensor.h"
#include "tensor_table.h"

static int moves(int32_t which) { return which <= GF_AUGMIX_ROTATE; }

static int is_signed(int32_t which) { return moves(which) || which >= GF_AUGMIX_BRIGHTNESS; }

static int has_magnitudes(int32_t which) { return which != GF_AUGMIX_AUTO_CONTRAST && which != GF_AUGMIX_EQUALIZE; }

static int32_t draw(gf_drawing *d, const gf_step *step, int32_t *record) {
    float whole[2], weights[1 + GF_AUGMIX_CHAINS] = {0};
    gf_dirichlet(d->words, step->alpha, 2, whole);
    gf_dirichlet(d->words, step->alpha, step->chains, weights + 1);
    weights[0] = whole[0];
    for (int32_t k = 0; k < step->chains; k++) weights[1 + k] *= whole[1];
    memcpy(record, weights, sizeof weights);
    for (int32_t k = 0; k < step->chains; k++) {
        int32_t depth = step->depth ? step->depth : 1 + (int32_t)gf_below(d->words, 3);
        for (int32_t i = 0; i < depth; i++) {
            int32_t which = (int32_t)gf_below(d->words, (uint64_t)step->operations), at = 0, minus = 0;
            if (has_magnitudes(which)) at = (int32_t)gf_below(d->words, (uint64_t)step->count);
            if (is_signed(which)) minus = gf_draw_minus(d, step);
            record[GF_AUGMIX_OPERATIONS + k * GF_AUGMIX_DEPTH + i] = 1 + (which * step->count + at) * 2 + minus;
        }
    }
    return GF_DRAW_OK;
}

// ---- what is done

// A picture on its way through a chain.
typedef struct {
    gf_canvas *canvas;
    const gf_step *step;
    gf_planes now;
    int own; // it lies in memory that this chain may write to
    gf_planes made, spare; // memory: where the last operation's result lies, and for the next
} chain;

static void take_spare(chain *h) {
    gf_planes filled = h->spare;
    h->spare = h->made;
    h->made = h->now = filled;
    h->own = 1;
}

static void copy(const gf_planes *src, const gf_planes *dst) {
    for (int c = 0; c < src->channels; c++)
        for (int64_t y = 0; y < src->height; y++) memcpy(dst->plane[c] + y * dst->stride, src->plane[c] + y * src->stride, (size_t)src->width);
}

static void look_up(chain *h, const uint8_t tables[3][256]) {
    if (!h->own) {
        copy(&h->now, &h->spare);
        take_spare(h);
    }
    h->canvas->pixels->look_up(&h->now, tables);
}

static int32_t by_factor(chain *h, int32_t which, double factor) {
    const gf_pixel_ops *pixels = h->canvas->pixels;
    int fused = h->step->version == 2;
    float ratio = (float)factor, rest = (float)(1.0 - factor);
    gf_planes *p = &h->now;
    if (which == GF_AUGMIX_COLOR) {
        pixels->tensor_saturate(p, ratio, rest, fused, &h->spare);
        take_spare(h);
        return GF_FAULT_NONE;
    }
    if (which == GF_AUGMIX_SHARPNESS) {
        if (p->width <= 2 || p->height <= 2) return GF_FAULT_NONE;
        pixels->tensor_sharpen(p, ratio, rest, fused, &h->spare);
        take_spare(h);
        return GF_FAULT_NONE;
    }
    uint8_t tables[3][256];
    if (which == GF_AUGMIX_CONTRAST) {
        int32_t code = gf_tensor_contrast_tables(h->canvas, p, h->step->version, factor, tables);
        if (code) return code;
    } else {
        gf_table_blend(ratio, 0, 0, fused, tables);
    }
    look_up(h, (const uint8_t(*)[256])tables);
    return GF_FAULT_NONE;
}

static int32_t apply(chain *h, int32_t which, const double *numbers) {
    const gf_pixel_ops *pixels = h->canvas->pixels;
    uint8_t tables[3][256];
    if (moves(which)) {
        gf_grid grid = {.bilinear = h->step->seen == GF_SEEN_BILINEAR, .fused = h->step->fused};
        for (int i = 0; i < 6; i++) grid.theta[i] = (float)numbers[i];
        pixels->grid(&h->now, &grid, &h->spare);
        take_spare(h);
        return GF_FAULT_NONE;
    }
    if (which >= GF_AUGMIX_BRIGHTNESS) return by_factor(h, which, numbers[0]);
    if (which == GF_AUGMIX_POSTERIZE) gf_table_mask((uint8_t)numbers[0], tables);
    else if (which == GF_AUGMIX_SOLARIZE) gf_table_solarize((int32_t)numbers[0], tables);
    else {
        uint32_t counts[3][256];
        pixels->histogram(&h->now, counts);
        if (which == GF_AUGMIX_EQUALIZE) gf_table_equalize((const uint32_t(*)[256])counts, tables);
        else gf_table_autocontrast((const uint32_t(*)[256])counts, h->step->version, tables);
    }
    look_up(h, (const uint8_t(*)[256])tables);
    return GF_FAULT_NONE;
}

static int32_t go_through(chain *h, const int32_t *record) {
    const gf_step *step = h->step;
    for (int i = 0; i < GF_AUGMIX_DEPTH && record[i]; i++) {
        int32_t entry = record[i] - 1;
        if (entry < 0 || entry >= step->operations * step->count * 2)
            return gf_fault_set(h->canvas->fault, GF_FAULT_CHANGED, -1, "an operation of AugMix that there is not");
        int32_t code = apply(h, entry / 2 / step->count, gf_step_numbers(step) + GF_AUGMIX_NUMBERS * entry);
        if (code) return code;
    }
    return GF_FAULT_NONE;
}

// Room for a picture for each chain, and one more.
static int32_t lay_out(gf_canvas *c, int n, gf_planes *pictures) {
    int64_t stride = ((int64_t)c->planes.width + 63) / 64 * 64, plane = stride * c->planes.height;
    uint8_t *at = NULL;
    int32_t code = c->room(c, (size_t)(3 * plane * n), &at);
    if (code) return code;
    for (int i = 0; i < n; i++, at += 3 * plane)
        pictures[i] = (gf_planes){{at, at + plane, at + 2 * plane}, stride, c->planes.width, c->planes.height, 3};
    return GF_FAULT_NONE;
}

static int32_t run(gf_canvas *c, const gf_step *step, const int32_t *record) {
    float weights[1 + GF_AUGMIX_CHAINS];
    memcpy(weights, record, sizeof weights);
    for (int k = 0; k <= step->chains; k++)
        if (!(weights[k] >= 0 && weights[k] < 1)) return gf_fault_set(c->fault, GF_FAULT_CHANGED, -1, "a weight of %g", (double)weights[k]);
    int32_t code = gf_canvas_rest(c);
    if (code) return code;
    if (c->planes.channels != 3) return gf_fault_set(c->fault, GF_FAULT_UNSUPPORTED, -1, "AugMix of a grey picture");
    gf_planes room[GF_AUGMIX_CHAINS + 1], sources[1 + GF_AUGMIX_CHAINS] = {c->planes};
    code = lay_out(c, step->chains + 1, room);
    if (code) return code;
    gf_planes spare = room[step->chains];
    for (int k = 0; k < step->chains; k++) {
        chain h = {c, step, c->planes, 0, room[k], spare};
        code = go_through(&h, record + GF_AUGMIX_OPERATIONS + k * GF_AUGMIX_DEPTH);
        if (code) return code;
        sources[1 + k] = h.now;
        spare = h.spare;
    }
    c->pixels->mix(sources, weights, 1 + step->chains, &c->planes);
    c->info |= GF_INFO_LOST;
    return GF_FAULT_NONE;
}

static const gf_field fields[] = {
    GF_FIELD(chains, INT32, 1, 1, GF_AUGMIX_CHAINS),
    GF_FIELD(depth, INT32, 1, 0, GF_AUGMIX_DEPTH),
    GF_FIELD(alpha, FLOAT, 1, 0, GF_MOST_FACTOR),
    GF_FIELD(operations, INT32, 1, GF_AUGMIX_PART, GF_AUGMIX_ALL),
    GF_FIELD_SEEN,
    GF_FIELD_NUMBERS_WITHIN(-GF_MOST_FACTOR, GF_MOST_FACTOR),
    GF_NO_FIELD,
};

static const char *check(gf_step *step) {
    int32_t each = 2 * GF_AUGMIX_NUMBERS * step->operations; // of a magnitude of all operations
    int32_t n = step->count;
    step->count = n / each;
    if (!(step->alpha > 0)) return "alpha is not above 0";
    if (step->operations != GF_AUGMIX_PART && step->operations != GF_AUGMIX_ALL) return "operations are neither all nor all but those of colours";
    if (n % each || !n || step->count > GF_AUGMIX_MAGNITUDES) return "numbers are not those of each magnitude";
    return step->seen == GF_SEEN_BICUBIC ? "seen: a tensor is not sampled so" : NULL;
}

const gf_operation gf_op_augmix = {.words = GF_AUGMIX_WORDS, .record = "weights:4f operations:24i", .flags = GF_DRAWS, .fields = fields, .check = check, .draw = draw, .run = run};
