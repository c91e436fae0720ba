// What changes a canvas as torchvision's functions of uint8 tensors change those: torch's arithmetic, on three channels.
// What is the same of a tensor and of a PIL image stands in tone.h: posterizing, solarizing, equalizing.
#ifndef GOFAST_TENSOR_H
#define GOFAST_TENSOR_H

#include "canvas.h"
#include "transform.h"

// version: torchvision's. Factors of at most GF_MOST_FACTOR.
int32_t gf_tensor_brightness(gf_canvas *, int32_t version, double factor);
int32_t gf_tensor_contrast(gf_canvas *, int32_t version, double factor);
int32_t gf_tensor_saturation(gf_canvas *, int32_t version, double factor);
int32_t gf_tensor_hue(gf_canvas *, int32_t version, double turn);
int32_t gf_tensor_sharpness(gf_canvas *, int32_t version, double factor);
int32_t gf_tensor_autocontrast(gf_canvas *, int32_t version);
int32_t gf_tensor_grey(gf_canvas *, int32_t version, int32_t channels);

// Fills in the tables of contrast of a canvas of these planes, for whoever looks up in others.
int32_t gf_tensor_contrast_tables(const gf_canvas *, const gf_planes *, int32_t version, double factor, uint8_t tables[3][256]);

// The center is told from the picture's middle. Filter and fill are the step's.
int32_t gf_tensor_affine(gf_canvas *, const gf_affine *, const gf_step *);
// Counter-clockwise, around the step's center.
int32_t gf_tensor_rotate(gf_canvas *, double angle, const gf_step *);

#endif
