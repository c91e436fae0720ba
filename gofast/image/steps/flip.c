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

const gf_operation gf_op_hflip = {1, gf_draw_chance, hflip};
const gf_operation gf_op_vflip = {1, gf_draw_chance, vflip};
