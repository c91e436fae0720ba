// CenterCrop, Pad and RandomCrop, which pad and cut.
#include "operation.h"

#include <math.h>

static void grow(gf_extent *size, int64_t height, int64_t width) {
    size->height += height;
    size->width += width;
}

static void grow_by(gf_extent *size, const int32_t sides[4]) {
    grow(size, (int64_t)sides[1] + sides[3], (int64_t)sides[0] + sides[2]);
}

int32_t gf_run_pad(gf_canvas *c, const gf_step *step, const int32_t sides[4]) {
    int nothing = !(sides[0] | sides[1] | sides[2] | sides[3]);
    if (!nothing || step->kind == GF_STEP_pad) c->info |= step->mode == GF_EDGE_CONSTANT ? GF_INFO_PADDED : GF_INFO_LOST;
    if (nothing) return GF_FAULT_NONE;
    int32_t code = gf_canvas_rest(c);
    if (code) return code;
    gf_extent size = {c->planes.height, c->planes.width};
    grow_by(&size, sides);
    if (size.width * size.height > GF_CANVAS_MOST_PIXELS)
        return gf_fault_set(c->fault, GF_FAULT_LIMIT, -1, "padded to %lldx%lld pixels", (long long)size.width, (long long)size.height);
    gf_planes padded;
    code = c->lay_out(c, !c->buffer, (int32_t)size.width, (int32_t)size.height, &padded);
    if (code) return code;
    padded.channels = c->planes.channels;
    c->pixels->window(&c->planes, -sides[0], -sides[1], step->mode, step->fill, &padded);
    c->buffer = !c->buffer;
    c->planes = padded;
    return GF_FAULT_NONE;
}

static int32_t draw_pad(gf_drawing *d, const gf_step *step, int32_t *record) {
    (void)record;
    grow_by(&d->size, step->padding);
    return GF_DRAW_OK;
}

static int32_t run_pad(gf_canvas *c, const gf_step *step, const int32_t *record) {
    (void)record;
    return gf_run_pad(c, step, step->padding);
}

const gf_operation gf_op_pad = {0, draw_pad, run_pad};

static int32_t draw_center_crop(gf_drawing *d, const gf_step *step, int32_t *record) {
    (void)record;
    d->size = (gf_extent){step->size[0], step->size[1]};
    return GF_DRAW_OK;
}

// Pads what is too small with black, then cuts; Python's round() goes to the even one.
static int32_t run_center_crop(gf_canvas *c, const gf_step *step, const int32_t *record) {
    (void)record;
    int32_t height = step->size[0], width = step->size[1];
    int32_t have_w = gf_canvas_width(c), have_h = gf_canvas_height(c);
    if (width > have_w || height > have_h) {
        int32_t dx = width > have_w ? width - have_w : 0, dy = height > have_h ? height - have_h : 0;
        int32_t code = gf_run_pad(c, step, (int32_t[4]){dx / 2, dy / 2, (dx + 1) / 2, (dy + 1) / 2});
        if (code) return code;
        have_w += dx;
        have_h += dy;
        if (have_w == width && have_h == height) return GF_FAULT_NONE;
    }
    gf_canvas_crop(c, (gf_box){(int32_t)rint((have_w - width) / 2.0), (int32_t)rint((have_h - height) / 2.0), width, height});
    return GF_FAULT_NONE;
}

const gf_operation gf_op_center_crop = {0, draw_center_crop, run_center_crop};

static int32_t too_large(gf_drawing *d, const gf_extent *padded, const gf_step *step) {
    return GF_RAISE(d, "Required crop size (%d, %d) is larger than %sinput image size (%lld, %lld)%s", step->size[0], step->size[1],
                    step->version == 2 && step->padded ? "padded " : "", (long long)padded->height, (long long)padded->width,
                    step->version == 2 ? "." : "");
}

static int32_t draw_random_crop(gf_drawing *d, const gf_step *step, int32_t *record) {
    gf_extent padded = d->size;
    int64_t height = step->size[0], width = step->size[1];
    grow_by(&padded, step->padding);
    if (step->pad_if_needed && padded.width < width) grow(&padded, 0, 2 * (width - padded.width));
    if (step->pad_if_needed && padded.height < height) grow(&padded, 2 * (height - padded.height), 0);
    if (padded.height < height || padded.width < width) return too_large(d, &padded, step);
    // v1 draws both unless both fit, v2 only what does not fit.
    int both = step->version == 1 && (padded.height != height || padded.width != width);
    if (both || padded.height > height) record[0] = (int32_t)gf_below(d->words, (uint64_t)(padded.height - height + 1));
    if (both || padded.width > width) record[1] = (int32_t)gf_below(d->words, (uint64_t)(padded.width - width + 1));
    d->size = (gf_extent){height, width};
    return GF_DRAW_OK;
}

static int32_t run_random_crop(gf_canvas *c, const gf_step *step, const int32_t *record) {
    int32_t height = step->size[0], width = step->size[1];
    const int32_t *sides = step->padding;
    int64_t more_x = 0, more_y = 0; // on either side, what is padded already counted
    if (step->pad_if_needed) {
        more_x = (int64_t)width - gf_canvas_width(c) - sides[0] - sides[2];
        more_y = (int64_t)height - gf_canvas_height(c) - sides[1] - sides[3];
    }
    int32_t dx = more_x > 0 ? (int32_t)more_x : 0, dy = more_y > 0 ? (int32_t)more_y : 0;
    // At once, as v2 does: mirrors of mirrors differ. v1 pads up to three times; the plan has none where that differs.
    int32_t code = gf_run_pad(c, step, (int32_t[4]){sides[0] + dx, sides[1] + dy, sides[2] + dx, sides[3] + dy});
    gf_box box = {record[1], record[0], width, height};
    if (!code) code = gf_canvas_inside(c, box);
    if (!code) gf_canvas_crop(c, box);
    return code;
}

const gf_operation gf_op_random_crop = {2, draw_random_crop, run_random_crop};
