// What changes a canvas's colours: torchvision's functions of PIL images of the same names. And Pillow's own blur.
#ifndef GOFAST_TONE_H
#define GOFAST_TONE_H

#include "canvas.h"

// Factors of at most GF_MOST_FACTOR.
int32_t gf_canvas_brightness(gf_canvas *, float factor);
int32_t gf_canvas_contrast(gf_canvas *, float factor);
int32_t gf_canvas_saturation(gf_canvas *, float factor);
int32_t gf_canvas_sharpness(gf_canvas *, float factor);

int32_t gf_canvas_posterize(gf_canvas *, int32_t bits);    // 1 to 8
int32_t gf_canvas_solarize(gf_canvas *, int32_t threshold); // the first byte that is inverted, 256: none
int32_t gf_canvas_autocontrast(gf_canvas *);
int32_t gf_canvas_equalize(gf_canvas *);

// Pillow's BoxBlur, or GaussianBlur, by a radius either way.
int32_t gf_canvas_box_blur(gf_canvas *, const float radius[2], int gaussian);

// Equalizing: a channel's bytes spread evenly, by how often each comes.
void gf_tone_spread(const uint32_t counts[256], uint8_t table[256]);

#endif
