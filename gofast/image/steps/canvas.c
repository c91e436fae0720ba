#include "canvas.h"

#include <string.h>

int32_t gf_canvas_rest(gf_canvas *c) {
    if (c->resting) return GF_FAULT_NONE;
    int32_t code = c->lay_out(c, 0, c->geometry.window.width, c->geometry.window.height, &c->planes);
    if (code) return code;
    c->buffer = 0;
    c->resting = 1;
    return c->render(c, &c->planes);
}

void gf_canvas_crop(gf_canvas *c, gf_box box) {
    if (!c->resting) {
        gf_geometry_crop(&c->geometry, box);
        return;
    }
    for (int i = 0; i < c->planes.channels; i++) c->planes.plane[i] += box.y * c->planes.stride + box.x;
    c->planes.width = box.width;
    c->planes.height = box.height;
}

static int32_t resize(gf_canvas *c, int32_t width, int32_t height, int32_t filter) {
    if (!c->resting && !gf_geometry_can_resize(&c->geometry)) {
        int32_t code = gf_canvas_rest(c);
        if (code) return code;
    }
    if (c->resting) {
        int32_t code = c->reopen(c);
        if (code) return code;
        c->geometry = gf_geometry_of(c->planes.width, c->planes.height);
        c->resting = 0;
    }
    gf_geometry_resize(&c->geometry, width, height, filter);
    return GF_FAULT_NONE;
}

int32_t gf_canvas_resize(gf_canvas *c, int32_t width, int32_t height, int32_t filter) {
    if (width == gf_canvas_width(c) && height == gf_canvas_height(c)) return GF_FAULT_NONE; // Pillow copies
    return resize(c, width, height, filter);
}

int32_t gf_canvas_resize_part(gf_canvas *c, const float part[4], int32_t width, int32_t height, int32_t filter) {
    int32_t code = resize(c, width, height, filter);
    memcpy(c->geometry.part, part, sizeof c->geometry.part);
    return code;
}

int32_t gf_canvas_another(gf_canvas *c, int32_t width, int32_t height, gf_planes *made) {
    int32_t code = gf_canvas_rest(c);
    if (!code) code = c->lay_out(c, !c->buffer, width, height, made);
    if (!code) made->channels = c->planes.channels;
    return code;
}

void gf_canvas_take(gf_canvas *c, const gf_planes *made) {
    c->buffer = !c->buffer;
    c->planes = *made;
}

int32_t gf_canvas_inside(const gf_canvas *c, gf_box b, int32_t width, int32_t height) {
    if (b.x >= 0 && b.y >= 0 && b.width >= 0 && b.height >= 0 && b.width <= width - b.x && b.height <= height - b.y) return GF_FAULT_NONE;
    return gf_fault_set(c->fault, GF_FAULT_CHANGED, -1, "the picture is %dx%d: not the size for which was drawn", width, height);
}
