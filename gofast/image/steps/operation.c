#include "operation.h"

#include "../resample/resample.h"

#define ROW(name) [GF_STEP_##name] = &gf_op_##name,
const gf_operation *const gf_operations[GF_STEP_KINDS] = {GF_STEPS(ROW) ROW(member)};

#define NAME(name) [GF_STEP_##name] = #name,
const char *const gf_step_names[GF_STEP_member] = {GF_STEPS(NAME)};

const char *const gf_filter_names[] = {
    [GF_FILTER_NEAREST] = "nearest", [GF_FILTER_BOX] = "box", [GF_FILTER_BILINEAR] = "bilinear", [GF_FILTER_HAMMING] = "hamming",
    [GF_FILTER_BICUBIC] = "bicubic", [GF_FILTER_LANCZOS] = "lanczos", [GF_FILTER_TORCH_BILINEAR] = "torch_bilinear",
    [GF_FILTER_TORCH_BICUBIC] = "torch_bicubic", NULL};
const char *const gf_seen_names[] = {[GF_SEEN_NEAREST] = "nearest", [GF_SEEN_BILINEAR] = "bilinear", [GF_SEEN_BICUBIC] = "bicubic", NULL};
const char *const gf_edge_names[] = {
    [GF_EDGE_CONSTANT] = "constant", [GF_EDGE_EDGE] = "edge", [GF_EDGE_REFLECT] = "reflect", [GF_EDGE_SYMMETRIC] = "symmetric", NULL};
const char *const gf_version_names[] = {"", "v1", "v2", NULL};

const gf_field gf_common_fields[] = {
    GF_FIELD(version, NAME, 1, 0, 0, .names = gf_version_names, .how = GF_OPTIONAL), // of what is the same in both, a plan need not say it
    GF_FIELD(tensor, INT32, 1, 0, 1, .how = GF_OPTIONAL),
    GF_NO_FIELD,
};

const char *gf_check_seen(gf_step *step) {
    if (step->tensor) return step->seen == GF_SEEN_BICUBIC ? "seen: a tensor is not sampled so" : NULL;
    return step->given & GF_GIVEN_FILL ? NULL : "fill is missing"; // torch does not blend without
}

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
