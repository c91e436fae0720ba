// What a row of an affine grid has in common.
#ifndef GOFAST_PIXEL_GRID_H
#define GOFAST_PIXEL_GRID_H

#include "ops.h"

typedef struct {
    float left, middle; // of the first pixel, and of the row: their middles
    float x, y;         // what the row adds to where its pixels are seen
    float half_width, half_height;
} grid_row;

#endif
