// RandomRotation and RandomAffine.
#include <math.h>

#include "operation.h"
#include "tensor.h"
#include "transform.h"

enum { GF_AFFINE_ANGLE, GF_AFFINE_X, GF_AFFINE_Y, GF_AFFINE_SCALE, GF_AFFINE_SHEAR_X, GF_AFFINE_SHEAR_Y, GF_AFFINE_WORDS };

static float draw_float(gf_drawing *d, double from, double to, int32_t *word) {
    float drawn = gf_uniform(d->words, (float)from, (float)to);
    memcpy(word, &drawn, sizeof drawn);
    return drawn;
}

static double read_float(const int32_t *word) {
    float drawn;
    memcpy(&drawn, word, sizeof drawn);
    return (double)drawn;
}

static gf_rotation rotation_of(const gf_step *step, double angle) {
    gf_rotation r = {.angle = angle, .filter = step->seen, .expand = step->expand, .centred = step->given & GF_GIVEN_CENTER,
                     .center = {step->center[0], step->center[1]}};
    memcpy(r.fill, step->fill, sizeof r.fill);
    return r;
}

static int32_t draw_rotation(gf_drawing *d, const gf_step *step, int32_t *record) {
    double angle = (double)draw_float(d, step->degrees[0], step->degrees[1], record);
    if (!step->expand) return GF_DRAW_OK;
    gf_rotation r = rotation_of(step, angle);
    gf_transform t;
    gf_rotation_transform(&r, d->size.width, d->size.height, &t);
    d->size = (gf_wide_size){t.height, t.width};
    return GF_DRAW_OK;
}

static int32_t run_rotation(gf_canvas *c, const gf_step *step, const int32_t *record) {
    if (step->tensor) return gf_tensor_rotate(c, read_float(record), step);
    gf_rotation r = rotation_of(step, read_float(record));
    return gf_canvas_rotate(c, &r);
}

#define DEGREES(NAME, ...) GF_FIELD(NAME, DOUBLE, 2, -GF_MOST_ANGLE, GF_MOST_ANGLE, __VA_ARGS__)
#define CENTER DEGREES(center, .how = GF_OPTIONAL, .given = GF_GIVEN_CENTER)
static const gf_field of_rotation[] = {
    DEGREES(degrees, .how = GF_RANGE),
    CENTER,
    GF_FIELD(expand, INT32, 1, 0, 1, .how = GF_OPTIONAL),
    GF_FIELDS_SEEN,
    GF_NO_FIELD,
};

static const char *check_rotation(gf_step *step) {
    return step->expand && step->tensor ? "expand: a tensor does not" : gf_check_seen(step);
}

const gf_operation gf_op_random_rotation = {.words = 1, .record = "angle:f", .flags = GF_DRAWS, .fields = of_rotation, .check = check_rotation, .draw = draw_rotation, .run = run_rotation};

// A translation is Python's round() of what is drawn.
static int32_t draw_pixels(gf_drawing *d, double most) {
    return (int32_t)rintf(gf_uniform(d->words, (float)-most, (float)most));
}

static int32_t draw_affine(gf_drawing *d, const gf_step *step, int32_t *record) {
    const float one = 1;
    memcpy(record + GF_AFFINE_SCALE, &one, sizeof one);
    draw_float(d, step->degrees[0], step->degrees[1], record + GF_AFFINE_ANGLE);
    if (step->given & GF_GIVEN_TRANSLATE) {
        record[GF_AFFINE_X] = draw_pixels(d, step->translate[0] * (double)d->size.width);
        record[GF_AFFINE_Y] = draw_pixels(d, step->translate[1] * (double)d->size.height);
    }
    if (step->given & GF_GIVEN_SCALE) draw_float(d, step->scale[0], step->scale[1], record + GF_AFFINE_SCALE);
    if (step->given & GF_GIVEN_SHEAR_X) draw_float(d, step->shear_x[0], step->shear_x[1], record + GF_AFFINE_SHEAR_X);
    if (step->given & GF_GIVEN_SHEAR_Y) draw_float(d, step->shear_y[0], step->shear_y[1], record + GF_AFFINE_SHEAR_Y);
    return GF_DRAW_OK;
}

static int32_t run_affine(gf_canvas *c, const gf_step *step, const int32_t *record) {
    int centred = step->given & GF_GIVEN_CENTER;
    gf_affine f = {
        .version = step->version,
        .angle = read_float(record + GF_AFFINE_ANGLE),
        .scale = read_float(record + GF_AFFINE_SCALE),
        .shear = {read_float(record + GF_AFFINE_SHEAR_X), read_float(record + GF_AFFINE_SHEAR_Y)},
        .move = {record[GF_AFFINE_X], record[GF_AFFINE_Y]},
        .center = {centred ? step->center[0] : gf_canvas_width(c) * 0.5, centred ? step->center[1] : gf_canvas_height(c) * 0.5},
    };
    if (!step->tensor) return gf_canvas_affine(c, &f, step->seen, step->fill);
    f.center[0] = centred ? step->center[0] - gf_canvas_width(c) * 0.5 : 0;
    f.center[1] = centred ? step->center[1] - gf_canvas_height(c) * 0.5 : 0;
    return gf_tensor_affine(c, &f, step);
}

static const gf_field of_affine[] = {
    DEGREES(degrees, .how = GF_RANGE),
    CENTER,
    GF_FIELD(translate, DOUBLE, 2, 0, 1, .how = GF_OPTIONAL, .given = GF_GIVEN_TRANSLATE),
    GF_FIELD(scale, DOUBLE, 2, 1 / GF_MOST_ANGLE, GF_MOST_ANGLE, .how = GF_OPTIONAL | GF_RANGE, .given = GF_GIVEN_SCALE),
    DEGREES(shear_x, .how = GF_OPTIONAL | GF_RANGE, .given = GF_GIVEN_SHEAR_X),
    DEGREES(shear_y, .how = GF_OPTIONAL | GF_RANGE, .given = GF_GIVEN_SHEAR_Y),
    GF_FIELDS_SEEN,
    GF_NO_FIELD,
};

const gf_operation gf_op_random_affine = {.words = GF_AFFINE_WORDS, .record = "angle:f x y scale:f shear_x:f shear_y:f", .flags = GF_DRAWS, .fields = of_affine, .check = gf_check_seen, .draw = draw_affine, .run = run_affine};
