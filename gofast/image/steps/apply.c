// RandomApply: whether the steps behind it that are its own happen.
#include "operation.h"

static int32_t draw(gf_drawing *d, const gf_step *step, int32_t *record) {
    float x = gf_rand(d->words), p = (float)step->p;
    record[0] = step->version == 1 ? !(p < x) : x < p;
    return GF_DRAW_OK;
}

const gf_operation gf_op_random_apply = {1, draw, NULL};
