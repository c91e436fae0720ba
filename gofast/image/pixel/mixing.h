// MixUp and CutMix: a batch of which each sample is mixed with the one before it, the first with the last.
#ifndef GOFAST_MIXING_H
#define GOFAST_MIXING_H

#include <stdint.h>

// to[i] = x[i - 1] * rest + x[i] * part, every step rounded: what torch makes of x.roll(1, 0).mul(rest).add(x.mul(part)).
void gf_mixup(const float *x, float *to, int64_t samples, int64_t values, float part, float rest);

// Samples of planes x height rows of row_bytes. In rows top..bottom-1 of each plane, bytes left..right-1 are those of
// the sample before; the box lies inside.
typedef struct {
    int64_t samples, planes, height, row_bytes;
    int64_t left, top, right, bottom;
} gf_cutmix_shape;

void gf_cutmix(const uint8_t *x, uint8_t *to, const gf_cutmix_shape *);

#endif
