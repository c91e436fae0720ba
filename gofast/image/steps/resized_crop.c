// RandomResizedCrop.
#include "operation.h"

// The central crop after ten boxes that did not fit.
static gf_draw_box central(const gf_wide_size *size, const gf_step *step) {
    gf_draw_box box = {(double)size->height, (double)size->width};
    double ratio = box.width / box.height;
    if (ratio < step->ratio[0]) box.height = gf_round(box.width / step->ratio[0]);
    else if (ratio > step->ratio[1]) box.width = gf_round(box.height * step->ratio[1]);
    return box;
}

static int32_t draw(gf_drawing *d, const gf_step *step, int32_t *record) {
    gf_draw_box box;
    int fits = 0;
    for (int i = 0; i < 10 && !fits; i++) {
        if (gf_random_box(d, step, 1, &box)) return GF_DRAW_ASK;
        fits = 0 < box.width && box.width <= (double)d->size.width && 0 < box.height && box.height <= (double)d->size.height;
    }
    if (!fits) box = central(&d->size, step);
    int64_t height = (int64_t)box.height, width = (int64_t)box.width;
    int64_t top = fits ? gf_below(d->words, (uint64_t)(d->size.height - height + 1)) : (d->size.height - height) / 2;
    int64_t left = fits ? gf_below(d->words, (uint64_t)(d->size.width - width + 1)) : (d->size.width - width) / 2;
    record[0] = (int32_t)top;
    record[1] = (int32_t)left;
    record[2] = (int32_t)height;
    record[3] = (int32_t)width;
    d->size = (gf_wide_size){step->size[0], step->size[1]};
    return GF_DRAW_OK;
}

// What Pillow makes of a crop without pixels, which a picture one pixel wide can come to.
static int32_t black(gf_canvas *c, int32_t width, int32_t height) {
    int32_t code = gf_canvas_rest(c);
    if (!code) code = c->lay_out(c, c->buffer, width, height, &c->planes);
    if (!code) memset(c->planes.plane[0], 0, (size_t)(3 * c->planes.stride * height));
    return code;
}

// torch keeps the order of memory when it resizes a view that is as wide as the tensor, or thinner than a picture; and it gives
// back the view where nothing is to resize.
static int is_usual(const gf_canvas *c, const gf_step *step, const gf_box *box) {
    int resizes = box->width != step->size[1] || box->height != step->size[0];
    return resizes && box->width < gf_canvas_width(c) && box->width > 1 && box->height > 1;
}

static int32_t run(gf_canvas *c, const gf_step *step, const int32_t *record) {
    gf_box box = {record[1], record[0], record[3], record[2]};
    int32_t height = step->size[0], width = step->size[1];
    if (step->usual && !is_usual(c, step, &box)) return gf_fault_set(c->fault, GF_FAULT_UNSUPPORTED, -1, "torch lays out this crop in another order");
    if (box.width == 0 || box.height == 0) return black(c, width, height);
    int32_t code = gf_canvas_inside(c, box, gf_canvas_width(c), gf_canvas_height(c));
    // Pillow's resize must not see beyond the crop.
    if (!code && !c->resting && c->geometry.resized) code = gf_canvas_rest(c);
    if (code) return code;
    gf_canvas_crop(c, box);
    return gf_canvas_resize(c, width, height, step->filter);
}

static const gf_field fields[] = {GF_FIELD_SIZE, GF_FIELDS_BOX, GF_FIELD_FILTER, GF_FIELD_USUAL, GF_NO_FIELD};

const gf_operation gf_op_random_resized_crop = {.words = 4, .record = "top left height width", .flags = GF_DRAWS, .fields = fields, .draw = draw, .run = run};
