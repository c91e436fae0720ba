// RandomErasing of a tensor.
#include <float.h>

#include "operation.h"

static int32_t draw(gf_drawing *d, const gf_step *step, int32_t *record) {
    if (!(gf_rand(d->words) < (float)step->p)) return GF_DRAW_OK;
    for (int i = 0; i < 10; i++) {
        gf_draw_box box;
        if (gf_random_box(d, step, 0, &box)) return GF_DRAW_ASK;
        if (!(box.height < (double)d->size.height && box.width < (double)d->size.width)) continue;
        int64_t height = (int64_t)box.height, width = (int64_t)box.width;
        record[0] = 1;
        record[1] = (int32_t)gf_below(d->words, (uint64_t)(d->size.height - height + 1));
        record[2] = (int32_t)gf_below(d->words, (uint64_t)(d->size.width - width + 1));
        record[3] = (int32_t)height;
        record[4] = (int32_t)width;
        break;
    }
    return GF_DRAW_OK;
}

static int32_t run(gf_canvas *c, const gf_step *step, const int32_t *record) {
    if (!record[0]) return GF_FAULT_NONE;
    gf_box box = {record[2], record[1], record[4], record[3]};
    int32_t code = gf_canvas_inside(c, box, gf_canvas_width(c), gf_canvas_height(c));
    if (!code) c->erasures[c->n_erasures++] = (gf_erasure){box, step->value}; // a plan has no more than there is room for
    return code;
}

static const gf_field fields[] = {GF_FIELD_P, GF_FIELDS_BOX, GF_FIELD(value, FLOAT, 3, -FLT_MAX, FLT_MAX), GF_NO_FIELD};

const gf_operation gf_op_random_erasing = {.words = 5, .record = "happens:? top left height width", .flags = GF_DRAWS | GF_FINISHES, .fields = fields, .draw = draw, .run = run};
