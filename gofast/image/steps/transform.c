#include "transform.h"

#include <math.h>

static int32_t bounded(gf_canvas *c, int32_t width, int32_t height, gf_planes *made) {
    if ((int64_t)width * height > GF_CANVAS_MOST_PIXELS)
        return gf_fault_set(c->fault, GF_FAULT_LIMIT, -1, "transformed to %dx%d pixels", width, height);
    return gf_canvas_another(c, width, height, made);
}

int32_t gf_canvas_transform(gf_canvas *c, const gf_transform *t) {
    for (int i = 0; i < 8; i++) {
        if (!isfinite(t->numbers[i])) return gf_fault_set(c->fault, GF_FAULT_CHANGED, -1, "a transform by %g", t->numbers[i]);
    }
    gf_planes made;
    int32_t code = bounded(c, t->width, t->height, &made);
    if (code) return code;
    if (c->planes.stride * c->planes.height > INT32_MAX)
        return gf_fault_set(c->fault, GF_FAULT_LIMIT, -1, "%dx%d pixels transformed", c->planes.width, c->planes.height);
    c->pixels->warp(&c->planes, t, &made);
    gf_canvas_take(c, &made);
    return GF_FAULT_NONE;
}

int32_t gf_canvas_turn(gf_canvas *c, int quarters) {
    if (quarters == 0) return GF_FAULT_NONE;
    gf_planes made;
    if (quarters == 2) {
        int32_t code = gf_canvas_rest(c);
        if (code) return code;
        c->pixels->hflip(&c->planes);
        c->pixels->vflip(&c->planes);
        return GF_FAULT_NONE;
    }
    int32_t code = bounded(c, gf_canvas_height(c), gf_canvas_width(c), &made);
    if (code) return code;
    c->pixels->turn(&c->planes, quarters, &made);
    gf_canvas_take(c, &made);
    return GF_FAULT_NONE;
}

int32_t gf_canvas_rotate(gf_canvas *c, const gf_rotation *r) {
    gf_transform t;
    int32_t quarters = gf_rotation_transform(r, gf_canvas_width(c), gf_canvas_height(c), &t);
    return quarters < 0 ? gf_canvas_transform(c, &t) : gf_canvas_turn(c, quarters);
}

int32_t gf_canvas_affine(gf_canvas *c, const gf_affine *f, int32_t filter, const uint8_t fill[4]) {
    gf_transform t = {.filter = filter, .width = gf_canvas_width(c), .height = gf_canvas_height(c), .fill = {fill[0], fill[1], fill[2]}};
    gf_affine_numbers(f, t.numbers);
    return gf_canvas_transform(c, &t);
}
