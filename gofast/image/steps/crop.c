// CenterCrop, Pad and RandomCrop, which pad and cut.
#include "operation.h"

#include <math.h>

static void grow(gf_wide_size *size, int64_t height, int64_t width) {
    size->height += height;
    size->width += width;
}

static void grow_by(gf_wide_size *size, const int32_t sides[4]) {
    grow(size, (int64_t)sides[1] + sides[3], (int64_t)sides[0] + sides[2]);
}

// Makes box of the picture that is padded by sides: left, top, right and bottom. The rest of that is not made.
static int32_t window(gf_canvas *c, const gf_step *step, const int32_t sides[4], gf_box box) {
    int nothing = !(sides[0] | sides[1] | sides[2] | sides[3]);
    if (!nothing || step->kind == GF_STEP_pad || step->kind == GF_STEP_random_zoom_out) c->info |= step->mode == GF_EDGE_CONSTANT ? GF_INFO_PADDED : GF_INFO_LOST;
    gf_wide_size padded = {gf_canvas_height(c), gf_canvas_width(c)};
    // Torch lays out again what it pads, but for one pixel. A plan knows of the padding that it names.
    if (step->usual && (memcmp(sides, step->padding, sizeof step->padding) || (!nothing && padded.width * padded.height == 1)))
        return gf_fault_set(c->fault, GF_FAULT_UNSUPPORTED, -1, "torch lays out this padded tensor in another order");
    grow_by(&padded, sides);
    if (padded.width * padded.height > GF_CANVAS_MOST_PIXELS && !nothing)
        return gf_fault_set(c->fault, GF_FAULT_LIMIT, -1, "padded to %lldx%lld pixels", (long long)padded.width, (long long)padded.height);
    int32_t code = gf_canvas_inside(c, box, (int32_t)padded.width, (int32_t)padded.height);
    if (code) return code;
    if (nothing) {
        gf_canvas_crop(c, box);
        return GF_FAULT_NONE;
    }
    gf_planes made;
    code = gf_canvas_another(c, box.width, box.height, &made);
    if (code) return code;
    c->pixels->window(&c->planes, box.x - sides[0], box.y - sides[1], step->mode, step->fill, &made);
    gf_canvas_take(c, &made);
    return GF_FAULT_NONE;
}

static int32_t draw_pad(gf_drawing *d, const gf_step *step, int32_t *record) {
    (void)record;
    grow_by(&d->size, step->padding);
    return GF_DRAW_OK;
}

static int32_t run_pad(gf_canvas *c, const gf_step *step, const int32_t *record) {
    (void)record;
    const int32_t *sides = step->padding;
    return window(c, step, sides, (gf_box){0, 0, gf_canvas_width(c) + sides[0] + sides[2], gf_canvas_height(c) + sides[1] + sides[3]});
}

static const gf_field of_pad[] = {GF_FIELD_PADDING(0), GF_FIELDS_EDGE, GF_FIELD_USUAL, GF_NO_FIELD};
const gf_operation gf_op_pad = {.fields = of_pad, .draw = draw_pad, .run = run_pad};

static int32_t draw_center_crop(gf_drawing *d, const gf_step *step, int32_t *record) {
    (void)record;
    d->size = (gf_wide_size){step->size[0], step->size[1]};
    return GF_DRAW_OK;
}

// Pads what is too small with black, then cuts; Python's round() goes to the even one.
static int32_t run_center_crop(gf_canvas *c, const gf_step *step, const int32_t *record) {
    (void)record;
    int32_t height = step->size[0], width = step->size[1];
    int32_t dx = width - gf_canvas_width(c), dy = height - gf_canvas_height(c); // what is missing
    int32_t more_x = dx > 0 ? dx : 0, more_y = dy > 0 ? dy : 0;
    const int32_t sides[4] = {more_x / 2, more_y / 2, (more_x + 1) / 2, (more_y + 1) / 2};
    return window(c, step, sides, (gf_box){(int32_t)rint((more_x - dx) / 2.0), (int32_t)rint((more_y - dy) / 2.0), width, height});
}

static const gf_field of_center_crop[] = {GF_FIELD_SIZE, GF_FIELD_USUAL, GF_NO_FIELD};
const gf_operation gf_op_center_crop = {.fields = of_center_crop, .draw = draw_center_crop, .run = run_center_crop};

// v2's RandomZoomOut, in a tensor's float32: torch rounds each step.
static int32_t draw_zoom_out(gf_drawing *d, const gf_step *step, int32_t *record) {
    if (!(gf_rand(d->words) < (float)step->p)) return GF_DRAW_OK;
    float part = gf_rand(d->words) * (float)(step->scale[1] - step->scale[0]), zoom = part + (float)step->scale[0];
    int64_t more_x = (int64_t)((float)d->size.width * zoom) - d->size.width, more_y = (int64_t)((float)d->size.height * zoom) - d->size.height;
    int64_t left = (int64_t)((float)more_x * gf_rand(d->words)), top = (int64_t)((float)more_y * gf_rand(d->words));
    if (more_x < 0 || more_y < 0) return GF_RAISE(d, "the padded picture is smaller"); // more than float32 can tell apart
    const int32_t words[] = {1, (int32_t)left, (int32_t)top, (int32_t)(more_x - left), (int32_t)(more_y - top)};
    memcpy(record, words, sizeof words);
    grow(&d->size, more_y, more_x);
    return GF_DRAW_OK;
}

static int32_t run_zoom_out(gf_canvas *c, const gf_step *step, const int32_t *record) {
    if (!record[0]) return GF_FAULT_NONE;
    const int32_t *sides = record + 1;
    int64_t width = (int64_t)gf_canvas_width(c) + sides[0] + sides[2], height = (int64_t)gf_canvas_height(c) + sides[1] + sides[3];
    if (sides[0] < 0 || sides[1] < 0 || sides[2] < 0 || sides[3] < 0 || width > INT32_MAX || height > INT32_MAX)
        return gf_fault_set(c->fault, GF_FAULT_CHANGED, -1, "padded by %d, %d, %d and %d", sides[0], sides[1], sides[2], sides[3]);
    return window(c, step, sides, (gf_box){0, 0, (int32_t)width, (int32_t)height});
}

static const gf_field of_zoom_out[] = {GF_FIELD_P, GF_FIELD_SCALE(1, 64), GF_FIELDS_EDGE, GF_NO_FIELD};
const gf_operation gf_op_random_zoom_out = {.words = 5, .record = "happens:? left top right bottom", .flags = GF_DRAWS, .fields = of_zoom_out, .draw = draw_zoom_out, .run = run_zoom_out};

static int32_t too_large(gf_drawing *d, const gf_wide_size *padded, const gf_step *step) {
    return GF_RAISE(d, "Required crop size (%d, %d) is larger than %sinput image size (%lld, %lld)%s", step->size[0], step->size[1],
                    step->version == 2 && step->given & GF_GIVEN_PADDING ? "padded " : "", (long long)padded->height, (long long)padded->width,
                    step->version == 2 ? "." : "");
}

static int32_t draw_random_crop(gf_drawing *d, const gf_step *step, int32_t *record) {
    gf_wide_size padded = d->size;
    int64_t height = step->size[0], width = step->size[1];
    grow_by(&padded, step->padding);
    if (step->pad_if_needed && padded.width < width) grow(&padded, 0, 2 * (width - padded.width));
    if (step->pad_if_needed && padded.height < height) grow(&padded, 2 * (height - padded.height), 0);
    if (padded.height < height || padded.width < width) return too_large(d, &padded, step);
    // v1 draws both unless both fit, v2 only what does not fit.
    int both = step->version == 1 && (padded.height != height || padded.width != width);
    if (both || padded.height > height) record[0] = (int32_t)gf_below(d->words, (uint64_t)(padded.height - height + 1));
    if (both || padded.width > width) record[1] = (int32_t)gf_below(d->words, (uint64_t)(padded.width - width + 1));
    d->size = (gf_wide_size){height, width};
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
    const int32_t all[4] = {sides[0] + dx, sides[1] + dy, sides[2] + dx, sides[3] + dy};
    return window(c, step, all, (gf_box){record[1], record[0], width, height});
}

static const gf_field of_random_crop[] = {
    GF_FIELD_SIZE,
    GF_FIELD_PADDING(GF_OPTIONAL),
    GF_FIELD(pad_if_needed, INT32, 1, 0, 1, .how = GF_OPTIONAL),
    GF_FIELDS_EDGE,
    GF_FIELD_USUAL,
    GF_NO_FIELD,
};
const gf_operation gf_op_random_crop = {.words = 2, .record = "top left", .flags = GF_DRAWS, .fields = of_random_crop, .draw = draw_random_crop, .run = run_random_crop};
