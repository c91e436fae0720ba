// RandomSolarize, RandomPosterize, RandomAutocontrast, RandomEqualize and RandomAdjustSharpness.
#include "operation.h"
#include "tensor.h"
#include "tone.h"

static int32_t solarize(gf_canvas *c, const gf_step *step, const int32_t *record) {
    return record[0] ? gf_canvas_solarize(c, step->threshold) : GF_FAULT_NONE;
}

static int32_t posterize(gf_canvas *c, const gf_step *step, const int32_t *record) {
    return record[0] ? gf_canvas_posterize(c, step->bits) : GF_FAULT_NONE;
}

static int32_t autocontrast(gf_canvas *c, const gf_step *step, const int32_t *record) {
    if (!record[0]) return GF_FAULT_NONE;
    return step->tensor ? gf_tensor_autocontrast(c, step->version) : gf_canvas_autocontrast(c);
}

static int32_t equalize(gf_canvas *c, const gf_step *step, const int32_t *record) {
    (void)step;
    return record[0] ? gf_canvas_equalize(c) : GF_FAULT_NONE;
}

static int32_t sharpness(gf_canvas *c, const gf_step *step, const int32_t *record) {
    if (!record[0]) return GF_FAULT_NONE;
    return step->tensor ? gf_tensor_sharpness(c, step->version, step->factor) : gf_canvas_sharpness(c, (float)step->factor);
}

static const gf_field of_solarize[] = {GF_FIELD_P, GF_FIELD(threshold, INT32, 1, 0, 256), GF_NO_FIELD};
static const gf_field of_posterize[] = {GF_FIELD_P, GF_FIELD(bits, INT32, 1, 1, 8), GF_NO_FIELD};
static const gf_field of_sharpness[] = {GF_FIELD_P, GF_FIELD(factor, DOUBLE, 1, -GF_MOST_FACTOR, GF_MOST_FACTOR), GF_NO_FIELD};
static const gf_field of_others[] = {GF_FIELD_P, GF_NO_FIELD};

const gf_operation gf_op_random_solarize = {.words = 1, .record = "happens:?", .flags = GF_DRAWS, .fields = of_solarize, .draw = gf_draw_whether, .run = solarize};
const gf_operation gf_op_random_posterize = {.words = 1, .record = "happens:?", .flags = GF_DRAWS, .fields = of_posterize, .draw = gf_draw_whether, .run = posterize};
const gf_operation gf_op_random_autocontrast = {.words = 1, .record = "happens:?", .flags = GF_DRAWS, .fields = of_others, .draw = gf_draw_whether, .run = autocontrast};
const gf_operation gf_op_random_equalize = {.words = 1, .record = "happens:?", .flags = GF_DRAWS, .fields = of_others, .draw = gf_draw_whether, .run = equalize};
const gf_operation gf_op_random_sharpness = {.words = 1, .record = "happens:?", .flags = GF_DRAWS, .fields = of_sharpness, .draw = gf_draw_whether, .run = sharpness};
