// What the image decoders, the kernels and the plan hand each other. Plain C structures: threads of the
// engine and forked worker processes use them alike.
#ifndef GOFAST_PICTURE_H
#define GOFAST_PICTURE_H

#include <stdint.h>

#include "../../internal/fault/fault.h"

// Rows of RGBX pixels: 4 bytes each, the last of which means nothing. Whoever made it owns the memory.
typedef struct {
    uint8_t *data;
    int64_t stride; // bytes from a row to the next
    int32_t width, height;
} gf_picture;

// A part of a picture.
typedef struct {
    int32_t x, y, width, height;
} gf_box;

#endif
