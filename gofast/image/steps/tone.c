// Colours by factors, and by tables that a picture's own histogram makes.
#include "tone.h"

#include <math.h>
#include <string.h>

static int32_t rest(gf_canvas *c, float factor) {
    if (!(fabsf(factor) <= GF_MOST_FACTOR)) return gf_fault_set(c->fault, GF_FAULT_CHANGED, -1, "a colour factor of %g", (double)factor);
    return gf_canvas_rest(c);
}

int32_t gf_canvas_brightness(gf_canvas *c, float factor) {
    int32_t code = rest(c, factor);
    if (!code) c->pixels->brightness(&c->planes, factor);
    c->info |= GF_INFO_LOST;
    return code;
}

int32_t gf_canvas_contrast(gf_canvas *c, float factor) {
    int32_t code = rest(c, factor);
    if (!code) c->pixels->contrast(&c->planes, factor);
    c->info |= GF_INFO_LOST;
    return code;
}

int32_t gf_canvas_saturation(gf_canvas *c, float factor) {
    int32_t code = rest(c, factor);
    if (!code) c->pixels->saturation(&c->planes, factor);
    c->info |= GF_INFO_GREYED;
    return code;
}

int32_t gf_canvas_sharpness(gf_canvas *c, float factor) {
    gf_planes made;
    int32_t code = rest(c, factor);
    if (!code) code = gf_canvas_another(c, c->planes.width, c->planes.height, &made);
    if (code) return code;
    c->pixels->sharpen(&c->planes, factor, &made);
    gf_canvas_take(c, &made);
    return GF_FAULT_NONE;
}

// Copies, and bytes throughout: the loops below are of vectors.

int32_t gf_canvas_posterize(gf_canvas *c, int32_t bits) {
    int32_t code = gf_canvas_rest(c);
    if (code) return code;
    uint8_t kept = (uint8_t)(0xff00 >> bits);
    gf_planes p = c->planes;
    for (int i = 0; i < p.channels; i++) {
        for (int32_t y = 0; y < p.height; y++) {
            uint8_t *row = p.plane[i] + y * p.stride;
            for (int32_t x = 0; x < p.width; x++) row[x] &= kept;
        }
    }
    return GF_FAULT_NONE;
}

int32_t gf_canvas_solarize(gf_canvas *c, int32_t first) {
    if (first > 255) return GF_FAULT_NONE;
    int32_t code = gf_canvas_rest(c);
    if (code) return code;
    uint8_t threshold = (uint8_t)first;
    gf_planes p = c->planes;
    for (int i = 0; i < p.channels; i++) {
        for (int32_t y = 0; y < p.height; y++) {
            uint8_t *row = p.plane[i] + y * p.stride;
            for (int32_t x = 0; x < p.width; x++) row[x] = row[x] >= threshold ? (uint8_t)~row[x] : row[x];
        }
    }
    return GF_FAULT_NONE;
}

// Each channel stretched from black to white. A channel of one byte stays, as in Pillow.
static void stretch(const uint32_t counts[256], uint8_t table[256]) {
    int low = 0, high = 255;
    while (low < 255 && !counts[low]) low++;
    while (high > 0 && !counts[high]) high--;
    double scale = high > low ? 255.0 / (high - low) : 1, offset = high > low ? -low * scale : 0;
    for (int i = 0; i < 256; i++) {
        double value = i * scale + offset;
        table[i] = (uint8_t)(value < 0 ? 0 : value > 255 ? 255 : value);
    }
}

// What Pillow and torchvision leave alone: one byte only, and fewer than 255 pixels but for the brightest.
void gf_tone_spread(const uint32_t counts[256], uint8_t table[256]) {
    uint64_t sum = 0, last = 0;
    for (int i = 0; i < 256; i++) {
        sum += counts[i];
        if (counts[i]) last = counts[i];
    }
    uint64_t step = (sum - last) / 255, n = step / 2;
    for (int i = 0; i < 256; i++) {
        uint64_t value = step ? n / step : (uint64_t)i;
        table[i] = (uint8_t)(value < 255 ? value : 255);
        n += counts[i];
    }
}

static int32_t by_histogram(gf_canvas *c, void (*make)(const uint32_t[256], uint8_t[256])) {
    uint32_t counts[3][256];
    uint8_t tables[3][256];
    int32_t code = gf_canvas_rest(c);
    if (code) return code;
    c->pixels->histogram(&c->planes, counts);
    for (int i = 0; i < c->planes.channels; i++) make(counts[i], tables[i]);
    c->pixels->look_up(&c->planes, (const uint8_t(*)[256])tables);
    return GF_FAULT_NONE;
}

int32_t gf_canvas_autocontrast(gf_canvas *c) { return by_histogram(c, stretch); }

int32_t gf_canvas_equalize(gf_canvas *c) { return by_histogram(c, gf_tone_spread); }
