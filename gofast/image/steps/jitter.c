// ColorJitter.
#include "operation.h"
#include "tensor.h"

#include <math.h>

static int32_t draw(gf_drawing *d, const gf_step *step, int32_t *record) {
    gf_permutation(d->words, record, 4);
    for (int i = 0; i < 4; i++) {
        if (!(step->given & 1 << record[i])) record[i] = -1;
        if (!(step->given & 1 << i)) continue;
        float factor = gf_uniform(d->words, (float)step->factors[i][0], (float)step->factors[i][1]);
        memcpy(record + 4 + i, &factor, sizeof factor);
    }
    return GF_DRAW_OK;
}

static void adjust(const gf_pixel_ops *pixels, const gf_planes *planes, int32_t what, float factor) {
    switch (what) {
    case GF_JITTER_BRIGHTNESS:
        pixels->brightness(planes, factor);
        return;
    case GF_JITTER_CONTRAST:
        pixels->contrast(planes, factor);
        return;
    case GF_JITTER_SATURATION:
        pixels->saturation(planes, factor);
        return;
    default:
        pixels->hue(planes, factor);
    }
}

static int32_t adjust_tensor(gf_canvas *c, int32_t version, int32_t what, double factor) {
    switch (what) {
    case GF_JITTER_BRIGHTNESS: return gf_tensor_brightness(c, version, factor);
    case GF_JITTER_CONTRAST: return gf_tensor_contrast(c, version, factor);
    case GF_JITTER_SATURATION: return gf_tensor_saturation(c, version, factor);
    default: return gf_tensor_hue(c, version, factor);
    }
}

static int32_t run(gf_canvas *c, const gf_step *step, const int32_t *record) {
    int32_t code = gf_canvas_rest(c);
    for (int i = 0; i < 4 && !code; i++) {
        float factor;
        if (record[i] < 0 || record[i] > 3) continue;
        memcpy(&factor, record + 4 + record[i], sizeof factor);
        if (!(fabsf(factor) <= GF_MOST_FACTOR)) return gf_fault_set(c->fault, GF_FAULT_CHANGED, -1, "a colour factor of %g", (double)factor);
        if (step->tensor) {
            code = adjust_tensor(c, step->version, record[i], (double)factor);
            continue;
        }
        adjust(c->pixels, &c->planes, record[i], factor);
        if (record[i] == GF_JITTER_HUE && c->planes.channels == 1) continue; // nothing was done
        c->info |= record[i] == GF_JITTER_SATURATION ? GF_INFO_GREYED : GF_INFO_LOST;
    }
    return code;
}

static const gf_field fields[] = {GF_FIELDS_FACTORS(GF_OPTIONAL), GF_NO_FIELD};

const char *gf_check_hue(gf_step *step) {
    const double *hue = step->factors[GF_JITTER_HUE];
    return step->tensor && !(hue[0] >= -0.5 && hue[1] <= 0.5) ? "hue is not within -0.5..0.5" : NULL;
}

const gf_operation gf_op_color_jitter = {.words = 8, .record = "order:4i brightness:f contrast:f saturation:f hue:f", .flags = GF_DRAWS, .fields = fields, .check = gf_check_hue, .draw = draw, .run = run};
