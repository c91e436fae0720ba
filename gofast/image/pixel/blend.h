// Image.blend, which several steps end with.
#ifndef GOFAST_PIXEL_BLEND_H
#define GOFAST_PIXEL_BLEND_H

#include "ops.h"

// Image.blend of two bytes: float32, each step rounded, cut off. Pillow clips only
// where alpha is outside of 0 to 1; inside, clipping changes nothing.
INLINE uint8_t blend(int from, int to, float alpha) {
    float x = (float)(to - from) * alpha;
    x = (float)from + x;
    x = x > 0.0f ? x : 0.0f;
    x = x < 255.0f ? x : 255.0f;
    return (uint8_t)(int)x;
}

#endif
