// Pictures that lie in memory as pixels, not as files: an array of N of one size, as torchvision's MNIST or CIFAR10 keeps them.
#ifndef GOFAST_STORED_H
#define GOFAST_STORED_H

#include <stdint.h>

#include "pixel/pixel.h"

// The memory is the user's, who may write to it at any time: a picture is copied before any step. Strides are in bytes and of
// any sign: an array may be a view that exchanges axes, as torchvision's SVHN and STL10 are.
typedef struct {
    const uint8_t *data; // the first picture's first pixel; NULL: the samples are files
    int64_t picture, row, pixel, channel; // from one to the next
    int32_t width, height, channels;      // 3 channels, or 1: grey
} gf_stored;

// Copies a picture into planes of its size and channels.
void gf_stored_copy(const gf_stored *, int64_t sample, const gf_planes *);

#endif
