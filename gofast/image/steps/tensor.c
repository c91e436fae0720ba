#include "tensor.h"

#include <math.h>

#include "tensor_table.h"

static int32_t rest(gf_canvas *c, double factor) {
    if (!(fabs(factor) <= GF_MOST_FACTOR)) return gf_fault_set(c->fault, GF_FAULT_CHANGED, -1, "a colour factor of %g", factor);
    int32_t code = gf_canvas_rest(c);
    if (code) return code;
    if (c->planes.channels != 3) return gf_fault_set(c->fault, GF_FAULT_UNSUPPORTED, -1, "a tensor of one channel");
    return GF_FAULT_NONE;
}

static int32_t look_up(gf_canvas *c, const uint8_t tables[3][256]) {
    c->pixels->look_up(&c->planes, tables);
    return GF_FAULT_NONE;
}

// ---- colours

int32_t gf_tensor_brightness(gf_canvas *c, int32_t version, double factor) {
    uint8_t tables[3][256];
    int32_t code = rest(c, factor);
    if (code) return code;
    gf_table_blend((float)factor, 0, 0, version == 2, tables);
    return look_up(c, (const uint8_t(*)[256])tables);
}

int32_t gf_tensor_contrast_tables(const gf_canvas *c, const gf_planes *p, int32_t version, double factor, uint8_t tables[3][256]) {
    uint64_t sum = c->pixels->tensor_grey_sum(p, version == 2);
    if (sum > 1 << 24) return gf_fault_set(c->fault, GF_FAULT_UNSUPPORTED, -1, "torch's mean of %dx%d pixels", p->width, p->height);
    float grey = (float)sum / (float)((int64_t)p->width * p->height);
    gf_table_blend((float)factor, (float)(1.0 - factor), grey, version == 2, tables);
    return GF_FAULT_NONE;
}

int32_t gf_tensor_contrast(gf_canvas *c, int32_t version, double factor) {
    uint8_t tables[3][256];
    int32_t code = rest(c, factor);
    if (!code) code = gf_tensor_contrast_tables(c, &c->planes, version, factor, tables);
    return code ? code : look_up(c, (const uint8_t(*)[256])tables);
}

static int32_t saturate(gf_canvas *c, int32_t version, double factor) {
    gf_planes made;
    int32_t code = rest(c, factor);
    if (!code) code = gf_canvas_another(c, c->planes.width, c->planes.height, &made);
    if (code) return code;
    c->pixels->tensor_saturate(&c->planes, (float)factor, (float)(1.0 - factor), version == 2, &made);
    gf_canvas_take(c, &made);
    return GF_FAULT_NONE;
}

int32_t gf_tensor_saturation(gf_canvas *c, int32_t version, double factor) { return saturate(c, version, factor); }

// Nothing of the colours and all of their grey.
int32_t gf_tensor_grey(gf_canvas *c, int32_t version, int32_t channels) {
    int32_t code = saturate(c, version, 0);
    if (!code) c->planes.channels = channels;
    return code;
}

int32_t gf_tensor_hue(gf_canvas *c, int32_t version, double turn) {
    int32_t code = rest(c, turn);
    if (code) return code;
    if (fabs(turn) > 0.5) return gf_fault_set(c->fault, GF_FAULT_CHANGED, -1, "a hue turned by %g", turn);
    c->pixels->tensor_hue(&c->planes, (float)turn, version);
    return GF_FAULT_NONE;
}

int32_t gf_tensor_sharpness(gf_canvas *c, int32_t version, double factor) {
    gf_planes made;
    int32_t code = rest(c, factor);
    if (code || c->planes.width <= 2 || c->planes.height <= 2) return code;
    code = gf_canvas_another(c, c->planes.width, c->planes.height, &made);
    if (code) return code;
    c->pixels->tensor_sharpen(&c->planes, (float)factor, (float)(1.0 - factor), version == 2, &made);
    gf_canvas_take(c, &made);
    return GF_FAULT_NONE;
}

int32_t gf_tensor_autocontrast(gf_canvas *c, int32_t version) {
    uint32_t counts[3][256];
    uint8_t tables[3][256];
    int32_t code = rest(c, 0);
    if (code) return code;
    c->pixels->histogram(&c->planes, counts);
    gf_table_autocontrast((const uint32_t(*)[256])counts, version, tables);
    return look_up(c, (const uint8_t(*)[256])tables);
}

// ---- places

int32_t gf_tensor_affine(gf_canvas *c, const gf_affine *f, const gf_step *step) {
    double m[6];
    gf_planes made;
    int32_t width = gf_canvas_width(c), height = gf_canvas_height(c), code = rest(c, 0);
    if (code) return code;
    gf_grid grid = {.bilinear = step->seen == GF_SEEN_BILINEAR, .filled = step->given & GF_GIVEN_FILL ? step->version : 0, .fused = step->fused};
    gf_affine_numbers(f, m);
    for (int i = 0; i < 6; i++) {
        grid.theta[i] = (float)m[i] / (float)(0.5 * (i < 3 ? width : height));
        if (!isfinite(grid.theta[i])) return gf_fault_set(c->fault, GF_FAULT_CHANGED, -1, "a grid by %g", (double)grid.theta[i]);
    }
    for (int i = 0; i < 3; i++) grid.fill[i] = (float)step->fill[i];
    code = gf_canvas_another(c, width, height, &made);
    if (code) return code;
    c->pixels->grid(&c->planes, &grid, &made);
    gf_canvas_take(c, &made);
    return GF_FAULT_NONE;
}

// v2 moves whole pixels where it can.
int32_t gf_tensor_rotate(gf_canvas *c, double angle, const gf_step *step) {
    int centred = step->given & GF_GIVEN_CENTER, square = gf_canvas_width(c) == gf_canvas_height(c);
    if (step->version == 2) {
        angle = gf_modulo360(angle);
        if (!centred && (angle == 0 || angle == 180 || (square && (angle == 90 || angle == 270)))) return gf_canvas_turn(c, (int)(angle / 90));
    }
    gf_affine f = {.version = step->version, .angle = -angle, .scale = 1};
    if (centred) {
        f.center[0] = step->center[0] - gf_canvas_width(c) * 0.5;
        f.center[1] = step->center[1] - gf_canvas_height(c) * 0.5;
    }
    return gf_tensor_affine(c, &f, step);
}
