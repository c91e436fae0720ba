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

const gf_operation gf_op_random_solarize = {1, gf_draw_whether, solarize};
const gf_operation gf_op_random_posterize = {1, gf_draw_whether, posterize};
const gf_operation gf_op_random_autocontrast = {1, gf_draw_whether, autocontrast};
const gf_operation gf_op_random_equalize = {1, gf_draw_whether, equalize};
const gf_operation gf_op_random_sharpness = {1, gf_draw_whether, sharpness};
