// Image.transform and Image.rotate of a canvas, by numbers that somebody else has found.
#ifndef GOFAST_TRANSFORM_H
#define GOFAST_TRANSFORM_H

#include "canvas.h"

// Numbers are checked: one that is not finite is a fault, and so is a result that is too large. A result without pixels is
// not asked for.
int32_t gf_canvas_transform(gf_canvas *, const gf_transform *);

// Turns counter-clockwise by quarters, 0 to 3.
int32_t gf_canvas_turn(gf_canvas *, int quarters);

// What Image.rotate is given.
typedef struct {
    double angle; // in degrees, counter-clockwise
    int32_t filter; // pixel.h's
    int32_t expand;
    int32_t centred, moved; // a center, a translation was given
    double center[2], move[2];
    uint8_t fill[4];
} gf_rotation;

int32_t gf_canvas_rotate(gf_canvas *, const gf_rotation *);

// What a rotation of a picture comes to: a number of quarters, or -1 for the transform. Either has its size in that.
int32_t gf_rotation_transform(const gf_rotation *, int64_t width, int64_t height, gf_transform *);

// What torchvision's affine is given.
typedef struct {
    int32_t version; // of torchvision's transforms
    double angle, scale, shear[2]; // degrees
    double move[2], center[2];
} gf_affine;

// Makes a picture of the same size.
int32_t gf_canvas_affine(gf_canvas *, const gf_affine *, int32_t filter, const uint8_t fill[4]);

// Python's x % 360.0.
double gf_modulo360(double x);

void gf_affine_numbers(const gf_affine *, double numbers[6]);

#endif
