// AutoAugment, RandAugment and TrivialAugmentWide. Their magnitudes are torch's and come with the plan.
#include "augment.h"

#include <math.h>

#include "operation.h"
#include "tensor.h"
#include "tone.h"
#include "transform.h"

// ---- draws

static int is_signed(int32_t which) { return which >= GF_AUGMENT_SHEAR_X && which <= GF_AUGMENT_SHARPNESS; }

static int has_magnitudes(int32_t which) { return which >= GF_AUGMENT_SHEAR_X && which <= GF_AUGMENT_SOLARIZE; }

static void note(int32_t *record, int32_t which, double magnitude) {
    record[0] = which;
    memcpy(record + 1, &magnitude, sizeof magnitude);
}

// One operation of the space; at: which of its magnitudes, -1: any.
static void draw_one(gf_drawing *d, const gf_step *step, int32_t at, int32_t *record) {
    int32_t which = (int32_t)gf_below(d->words, GF_AUGMENT_SPACE);
    if (!has_magnitudes(which)) {
        note(record, which, 0);
        return;
    }
    if (at < 0) at = (int32_t)gf_below(d->words, (uint64_t)step->count);
    double magnitude = gf_step_numbers(step)[which * step->count + at];
    if (is_signed(which) && gf_draw_minus(d, step)) magnitude = -magnitude;
    note(record, which, magnitude);
}

static int32_t draw_trivial(gf_drawing *d, const gf_step *step, int32_t *record) {
    draw_one(d, step, -1, record);
    return GF_DRAW_OK;
}

static int32_t draw_rand(gf_drawing *d, const gf_step *step, int32_t *record) {
    draw_one(d, step, 0, record);
    return GF_DRAW_OK;
}

// v1 draws all at once, v2 only what it needs.
static int32_t draw_auto(gf_drawing *d, const gf_step *step, int32_t *record) {
    const gf_policy_operation *of = (const gf_policy_operation *)gf_step_numbers(step) + 2 * gf_below(d->words, (uint64_t)step->count);
    float chances[2] = {0};
    int minus[2] = {0};
    for (int i = 0; i < 2 && step->version == 1; i++) chances[i] = gf_rand(d->words);
    for (int i = 0; i < 2 && step->version == 1; i++) minus[i] = gf_below(d->words, 2) == 0;
    for (int i = 0; i < 2; i++) {
        int32_t which = (int32_t)of[i].which;
        if (step->version == 2) chances[i] = gf_rand(d->words);
        if (!(chances[i] <= (float)of[i].p)) continue;
        if (step->version == 2 && is_signed(which)) minus[i] = gf_draw_minus(d, step);
        note(record, which, is_signed(which) && minus[i] ? -of[i].magnitude : of[i].magnitude);
        record += GF_AUGMENT_WORDS;
    }
    return GF_DRAW_OK;
}

// ---- what is done

static int32_t shear(gf_canvas *c, const gf_step *step, double along_x, double along_y) {
    const double degrees = 180.0 / 3.141592653589793;
    gf_affine f = {.version = step->version, .scale = 1, .shear = {atan(along_x) * degrees, atan(along_y) * degrees}};
    if (step->tensor) {
        f.center[0] = 0 - gf_canvas_width(c) * 0.5;
        f.center[1] = 0 - gf_canvas_height(c) * 0.5;
        return gf_tensor_affine(c, &f, step);
    }
    return gf_canvas_affine(c, &f, step->seen, step->fill);
}

static int32_t translate(gf_canvas *c, const gf_step *step, double x, double y) {
    gf_affine f = {.version = step->version, .scale = 1, .move = {trunc(x), trunc(y)}};
    if (step->tensor) return gf_tensor_affine(c, &f, step);
    f.center[0] = gf_canvas_width(c) * 0.5;
    f.center[1] = gf_canvas_height(c) * 0.5;
    return gf_canvas_affine(c, &f, step->seen, step->fill);
}

static int32_t rotate(gf_canvas *c, const gf_step *step, double angle) {
    if (step->tensor) return gf_tensor_rotate(c, angle, step);
    gf_rotation r = {.angle = angle, .filter = step->seen};
    memcpy(r.fill, step->fill, sizeof r.fill);
    return gf_canvas_rotate(c, &r);
}

static int32_t apply(gf_canvas *c, const gf_step *step, const int32_t *record) {
    double m;
    memcpy(&m, record + 1, sizeof m);
    if (!(fabs(m) <= GF_MOST_FACTOR)) return gf_fault_set(c->fault, GF_FAULT_CHANGED, -1, "a magnitude of %g", m);
    switch (record[0]) {
    case GF_AUGMENT_SHEAR_X: return shear(c, step, m, 0);
    case GF_AUGMENT_SHEAR_Y: return shear(c, step, 0, m);
    case GF_AUGMENT_TRANSLATE_X: return translate(c, step, m, 0);
    case GF_AUGMENT_TRANSLATE_Y: return translate(c, step, 0, m);
    case GF_AUGMENT_ROTATE: return rotate(c, step, m);
    case GF_AUGMENT_BRIGHTNESS: return step->tensor ? gf_tensor_brightness(c, step->version, 1.0 + m) : gf_canvas_brightness(c, (float)(1.0 + m));
    case GF_AUGMENT_COLOR: return step->tensor ? gf_tensor_saturation(c, step->version, 1.0 + m) : gf_canvas_saturation(c, (float)(1.0 + m));
    case GF_AUGMENT_CONTRAST: return step->tensor ? gf_tensor_contrast(c, step->version, 1.0 + m) : gf_canvas_contrast(c, (float)(1.0 + m));
    case GF_AUGMENT_SHARPNESS: return step->tensor ? gf_tensor_sharpness(c, step->version, 1.0 + m) : gf_canvas_sharpness(c, (float)(1.0 + m));
    case GF_AUGMENT_POSTERIZE: return gf_canvas_posterize(c, (int32_t)fmin(fmax(m, 1), 8));
    case GF_AUGMENT_SOLARIZE: return gf_canvas_solarize(c, (int32_t)ceil(fmin(fmax(step->tensor ? (double)(float)m : m, 0), 256)));
    case GF_AUGMENT_AUTO_CONTRAST: return step->tensor ? gf_tensor_autocontrast(c, step->version) : gf_canvas_autocontrast(c);
    case GF_AUGMENT_EQUALIZE: return gf_canvas_equalize(c);
    case GF_AUGMENT_INVERT: return gf_canvas_solarize(c, 0);
    default: return GF_FAULT_NONE;
    }
}

static int32_t apply_both(gf_canvas *c, const gf_step *step, const int32_t *record) {
    int32_t code = apply(c, step, record);
    return code ? code : apply(c, step, record + GF_AUGMENT_WORDS);
}

// ---- plans

static int is_magnitude(int32_t which, double v) { return which != GF_AUGMENT_POSTERIZE || (v >= 1 && v <= 8); }

static const char *check_magnitudes(gf_step *step) {
    const double *numbers = gf_step_numbers(step);
    int32_t n = step->count;
    step->count = n / GF_AUGMENT_SPACE;
    if (n % GF_AUGMENT_SPACE || !n || step->count > (step->kind == GF_STEP_rand_augment ? 1 : GF_MOST_MAGNITUDES)) return "numbers are not as many of each operation";
    for (int32_t i = 0; i < n; i++)
        if (!is_magnitude(i / step->count, numbers[i])) return "numbers: a magnitude is out of range";
    return gf_check_seen(step);
}

static const char *check_policies(gf_step *step) {
    enum { EACH = 2 * sizeof(gf_policy_operation) / sizeof(double) };
    int32_t n = step->count;
    step->count = n / EACH;
    if (n % EACH || !n || step->count > GF_MOST_POLICIES) return "numbers are no policies";
    const gf_policy_operation *of = (const gf_policy_operation *)gf_step_numbers(step);
    for (const gf_policy_operation *end = of + 2 * step->count; of < end; of++)
        if (!(of->which >= 0 && of->which < GF_AUGMENTS) || of->which != trunc(of->which) || !is_magnitude((int32_t)of->which, of->magnitude))
            return "numbers: an operation of a policy is none";
    return gf_check_seen(step);
}

static const gf_field fields[] = {GF_FIELD_NUMBERS_WITHIN(-GF_MOST_FACTOR, GF_MOST_FACTOR), GF_FIELDS_SEEN, GF_NO_FIELD};

const gf_operation gf_op_trivial_augment = {.words = GF_AUGMENT_WORDS, .record = "operation:A magnitude:d", .flags = GF_DRAWS, .fields = fields, .check = check_magnitudes, .draw = draw_trivial, .run = apply};
const gf_operation gf_op_rand_augment = {.words = GF_AUGMENT_WORDS, .record = "operation:A magnitude:d", .flags = GF_DRAWS, .fields = fields, .check = check_magnitudes, .draw = draw_rand, .run = apply};
const gf_operation gf_op_auto_augment = {.words = 2 * GF_AUGMENT_WORDS, .record = "first:A first_magnitude:d second:A second_magnitude:d", .flags = GF_DRAWS, .fields = fields, .check = check_policies, .draw = draw_auto, .run = apply_both};
