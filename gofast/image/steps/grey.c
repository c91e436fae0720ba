// Grayscale and RandomGrayscale.
#include "operation.h"
#include "tensor.h"

static int32_t grey(gf_canvas *c, int channels) {
    int32_t code = gf_canvas_rest(c);
    if (!code) c->pixels->grey(&c->planes, channels);
    if (channels == 3) c->info |= GF_INFO_LOST;
    return code;
}

static int32_t always(gf_canvas *c, const gf_step *step, const int32_t *record) {
    (void)record;
    return step->tensor ? gf_tensor_grey(c, step->version, step->channels) : grey(c, step->channels);
}

static int32_t perhaps(gf_canvas *c, const gf_step *step, const int32_t *record) {
    if (record[0] && step->tensor) return gf_tensor_grey(c, step->version, 3);
    return record[0] ? grey(c, c->resting ? c->planes.channels : 3) : GF_FAULT_NONE;
}

static const gf_field of_grayscale[] = {GF_FIELD(channels, INT32, 1, 1, 3), GF_NO_FIELD};
static const gf_field of_random[] = {GF_FIELD_P, GF_NO_FIELD};

static const char *check(gf_step *step) {
    return step->channels == 2 ? "channels are neither 1 nor 3" : NULL;
}

const gf_operation gf_op_grayscale = {.fields = of_grayscale, .check = check, .run = always};
const gf_operation gf_op_random_grayscale = {.words = 1, .record = "happens:?", .flags = GF_DRAWS, .fields = of_random, .draw = gf_draw_chance, .run = perhaps};
