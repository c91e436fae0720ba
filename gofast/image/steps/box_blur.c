// Pillow's BoxBlur and GaussianBlur of a canvas.
#include "tone.h"

#include <math.h>

enum { MOST_RADIUS = 1 << 14 };

// The box that comes nearest to a Gaussian when it is applied so often (Gwosdek, Grewenig, Bruhn and Weickert, "Theoretical
// Foundations of Gaussian Convolution by Extended Box Filtering", 2011), in Pillow's floats and doubles.
static float box_of(float sigma, int32_t passes) {
    float variance = sigma * sigma / (float)passes;
    float length = (float)sqrt(12.0 * (double)variance + 1.0);
    float whole = (float)floor(((double)length - 1.0) / 2.0);
    float part = (2 * whole + 1) * (whole * (whole + 1) - 3 * variance);
    part /= 6 * (variance - (whole + 1) * (whole + 1));
    return whole + part;
}

static gf_box_side side_of(float radius) {
    if (radius == 0) return (gf_box_side){.radius = -1};
    int32_t whole = (int32_t)radius;
    uint32_t inner = (uint32_t)((float)(1 << 24) / (radius * 2 + 1));
    return (gf_box_side){whole, inner, ((1u << 24) - (uint32_t)(2 * whole + 1) * inner) / 2};
}

int32_t gf_canvas_box_blur(gf_canvas *c, const float radius[2], int gaussian) {
    float x = radius[0], y = radius[1];
    gf_box_blur blur = {.passes = gaussian ? 3 : 1};
    if (gaussian) x = box_of(x, blur.passes), y = box_of(y, blur.passes);
    if (!(x >= 0 && x <= MOST_RADIUS && y >= 0 && y <= MOST_RADIUS))
        return gf_fault_set(c->fault, GF_FAULT_UNSUPPORTED, -1, "a blur by %g and %g", (double)radius[0], (double)radius[1]);
    blur.x = side_of(x), blur.y = side_of(y);
    if (blur.x.radius < 0 && blur.y.radius < 0) return GF_FAULT_NONE;
    gf_planes made;
    uint8_t *room = NULL;
    int32_t code = gf_canvas_another(c, gf_canvas_width(c), gf_canvas_height(c), &made);
    if (!code) code = c->room(c, c->pixels->box_blur_room(&blur, made.width), &room);
    if (code) return code;
    c->pixels->box_blur(&c->planes, &blur, &made, room);
    gf_canvas_take(c, &made);
    return GF_FAULT_NONE;
}
