#include "geometry.h"

gf_geometry gf_geometry_of(int32_t width, int32_t height) {
    gf_box whole = {0, 0, width, height};
    return (gf_geometry){.box = whole, .width = width, .height = height, .window = whole};
}

void gf_geometry_crop(gf_geometry *g, gf_box box) {
    // The window is mirrored after it was cut out: a box in the mirrored picture lies at the other end of it.
    if (g->hflip) box.x = g->window.width - box.x - box.width;
    if (g->vflip) box.y = g->window.height - box.y - box.height;
    if (g->resized) {
        g->window = (gf_box){g->window.x + box.x, g->window.y + box.y, box.width, box.height};
        return;
    }
    g->box = (gf_box){g->box.x + box.x, g->box.y + box.y, box.width, box.height};
    g->width = box.width;
    g->height = box.height;
    g->window = (gf_box){0, 0, box.width, box.height};
}

int gf_geometry_can_resize(const gf_geometry *g) { return !g->resized && !g->hflip && !g->vflip; }

void gf_geometry_resize(gf_geometry *g, int32_t width, int32_t height, int32_t filter) {
    g->width = width;
    g->height = height;
    g->filter = filter;
    g->resized = 1;
    g->window = (gf_box){0, 0, width, height};
}

void gf_geometry_hflip(gf_geometry *g) { g->hflip = !g->hflip; }

void gf_geometry_vflip(gf_geometry *g) { g->vflip = !g->vflip; }
