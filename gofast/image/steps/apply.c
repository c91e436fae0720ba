// RandomApply: whether the steps behind it that are its own happen.
#include "operation.h"

static int32_t draw(gf_drawing *d, const gf_step *step, int32_t *record) {
    float x = gf_rand(d->words), p = (float)step->p;
    record[0] = step->version == 1 ? !(p < x) : x < p;
    return GF_DRAW_OK;
}

static const gf_field fields[] = {GF_FIELD_P, {.name = "steps", .type = GF_FIELD_STEPS}, GF_NO_FIELD};

const gf_operation gf_op_random_apply = {.words = 1, .record = "happens:?", .flags = GF_DRAWS | GF_MOVABLE, .fields = fields, .draw = draw};
