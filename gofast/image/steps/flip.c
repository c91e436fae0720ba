// RandomHorizontalFlip and RandomVerticalFlip.
#include "operation.h"

static int32_t hflip(gf_canvas *c, const gf_step *step, const int32_t *record) {
    (void)step;
    if (!record[0]) return GF_FAULT_NONE;
    for (int i = 0; i < c->n_erasures; i++) {
        gf_box *b = &c->erasures[i].box;
        b->x = gf_canvas_width(c) - b->x - b->width;
    }
    if (c->resting) c->pixels->hflip(&c->planes);
    else gf_geometry_hflip(&c->geometry);
    return GF_FAULT_NONE;
}

static int32_t vflip(gf_canvas *c, const gf_step *step, const int32_t *record) {
    (void)step;
    if (!record[0]) return GF_FAULT_NONE;
    for (int i = 0; i < c->n_erasures; i++) {
        gf_box *b = &c->erasures[i].box;
        b->y = gf_canvas_height(c) - b->y - b->height;
    }
    if (c->resting) c->pixels->vflip(&c->planes);
    else gf_geometry_vflip(&c->geometry);
    return GF_FAULT_NONE;
}

static const gf_field fields[] = {GF_FIELD_P, GF_NO_FIELD};

const gf_operation gf_op_hflip = {.words = 1, .record = "happens:?", .flags = GF_DRAWS | GF_MOVABLE, .fields = fields, .draw = gf_draw_chance, .run = hflip};
const gf_operation gf_op_vflip = {.words = 1, .record = "happens:?", .flags = GF_DRAWS | GF_MOVABLE, .fields = fields, .draw = gf_draw_chance, .run = vflip};
