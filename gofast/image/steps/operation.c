#include "operation.h"

#define ROW(name) [GF_STEP_##name] = &gf_op_##name,
const gf_operation *const gf_operations[GF_STEP_KINDS] = {GF_STEPS(ROW)};

#define NAME(name) [GF_STEP_##name] = #name,
static const char *const names[GF_STEP_KINDS] = {GF_STEPS(NAME)};

int32_t gf_step_words(int32_t kind) { return gf_operations[kind]->words; }

const char *gf_step_name(int32_t kind) { return names[kind]; }

int32_t gf_draw_chance(gf_drawing *d, const gf_step *step, int32_t *record) {
    record[0] = gf_rand(d->words) < (float)step->p;
    return GF_DRAW_OK;
}

int32_t gf_draw_whether(gf_drawing *d, const gf_step *step, int32_t *record) {
    float x = gf_rand(d->words);
    record[0] = step->version == 1 ? (double)x < step->p : x < (float)step->p;
    return GF_DRAW_OK;
}

int32_t gf_draw_minus(gf_drawing *d, const gf_step *step) {
    return step->version == 1 ? (int32_t)gf_below(d->words, 2) : gf_rand(d->words) <= 0.5f;
}
