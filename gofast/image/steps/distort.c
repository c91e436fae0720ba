// RandomChannelPermutation and RandomPhotometricDistort.
#include "operation.h"

enum { ORDER = 0, FACTORS = 4, PERMUTES = 8, PERMUTATION = 9 };

static int32_t draw_permutation(gf_drawing *d, const gf_step *step, int32_t *record) {
    (void)step;
    gf_permutation(d->words, record, 3);
    return GF_DRAW_OK;
}

static int32_t permute(gf_canvas *c, const gf_step *step, const int32_t *record) {
    (void)step;
    int32_t code = gf_canvas_rest(c);
    if (code) return code;
    gf_planes old = c->planes;
    if (old.channels != 3) return gf_fault_set(c->fault, GF_FAULT_UNSUPPORTED, -1, "one channel has no order");
    for (int i = 0; i < 3; i++) {
        if (record[i] < 0 || record[i] > 2) return gf_fault_set(c->fault, GF_FAULT_CHANGED, -1, "channel %d", record[i]);
        c->planes.plane[i] = old.plane[record[i]];
    }
    c->info |= GF_INFO_LOST;
    return GF_FAULT_NONE;
}

const gf_operation gf_op_channel_permutation = {.words = 3, .record = "channels:3i", .flags = GF_DRAWS, .draw = draw_permutation, .run = permute};

// The first eight words are a color_jitter's: contrast comes second or last.
static int32_t draw_distort(gf_drawing *d, const gf_step *step, int32_t *record) {
    int on[4];
    for (int i = 0; i < 4; i++) {
        on[i] = gf_rand(d->words) < (float)step->p;
        if (!on[i]) continue;
        float factor = gf_uniform(d->words, (float)step->factors[i][0], (float)step->factors[i][1]);
        memcpy(record + FACTORS + i, &factor, sizeof factor);
    }
    int first = gf_rand(d->words) < 0.5f;
    const int32_t order[4] = {GF_JITTER_BRIGHTNESS, first ? GF_JITTER_CONTRAST : GF_JITTER_SATURATION,
                              first ? GF_JITTER_SATURATION : GF_JITTER_HUE, first ? GF_JITTER_HUE : GF_JITTER_CONTRAST};
    for (int i = 0; i < 4; i++) record[ORDER + i] = on[order[i]] ? order[i] : -1;
    record[PERMUTES] = gf_rand(d->words) < (float)step->p;
    if (record[PERMUTES]) gf_permutation(d->words, record + PERMUTATION, 3);
    return GF_DRAW_OK;
}

static int32_t distort(gf_canvas *c, const gf_step *step, const int32_t *record) {
    int32_t code = gf_op_color_jitter.run(c, step, record);
    return code || !record[PERMUTES] ? code : permute(c, step, record + PERMUTATION);
}

static const gf_field fields[] = {GF_FIELD_P, GF_FIELDS_FACTORS(0), GF_NO_FIELD};
const gf_operation gf_op_photometric_distort = {.words = 12, .record = "order:4i brightness:f contrast:f saturation:f hue:f permutes:? channels:3i", .flags = GF_DRAWS, .fields = fields, .check = gf_check_hue, .draw = draw_distort, .run = distort};
