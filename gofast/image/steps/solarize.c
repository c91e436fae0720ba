// RandomSolarize.
#include "operation.h"

// v1 compares doubles, v2 float32.
static int32_t draw(gf_drawing *d, const gf_step *step, int32_t *record) {
    float x = gf_rand(d->words);
    record[0] = step->version == 1 ? (double)x < step->p : x < (float)step->p;
    return GF_DRAW_OK;
}

static int32_t run(gf_canvas *c, const gf_step *step, const int32_t *record) {
    if (!record[0] || step->threshold > 255) return GF_FAULT_NONE;
    int32_t code = gf_canvas_rest(c);
    if (code) return code;
    // Copies, and bytes throughout: the loop is one of vectors.
    uint8_t threshold = (uint8_t)step->threshold;
    gf_planes p = c->planes;
    for (int i = 0; i < p.channels; i++) {
        for (int32_t y = 0; y < p.height; y++) {
            uint8_t *row = p.plane[i] + y * p.stride;
            for (int32_t x = 0; x < p.width; x++) row[x] = row[x] >= threshold ? (uint8_t)~row[x] : row[x];
        }
    }
    return GF_FAULT_NONE;
}

const gf_operation gf_op_random_solarize = {1, draw, run};
