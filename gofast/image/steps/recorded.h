// What was asked of a picture of Pillow's before its pixels were there: done to the canvas, then, in order. Whoever
// recorded it has not checked anything: a box or a size may be any number.
#ifndef GOFAST_RECORDED_H
#define GOFAST_RECORDED_H

#include "canvas.h"

// Python's _lazy/chain.py writes them. In brackets what the words are; what is more than those lies in MORE behind them.
enum {
    GF_RECORDED_CROP,        // [x, y, width, height], inside
    GF_RECORDED_RESIZE,      // [width, height, filter: Pillow's number]
    GF_RECORDED_RESIZE_PART, // the same, of a box: four floats more
    GF_RECORDED_TURN,        // [Pillow's Image.Transpose]
    GF_RECORDED_GREY,        // convert("L"); the picture keeps three channels, all equal
    GF_RECORDED_WARP,        // [width, height, method and filter: Pillow's Image.Transform * 16 + Resampling, fill: 0xBBGGRR]: Image.transform;
                             // eight doubles more, of which an affine transform uses six
    GF_RECORDED_TABLE,       // Image.point: 256 bytes more for each channel
    GF_RECORDED_BLUR,        // [two floats: the radius either way, 1: Gaussian, 0: box]
    GF_RECORDED_ENHANCE,     // [GF_ENHANCE_..., 0, a double: the factor]
    GF_RECORDED_LEVELS,      // [GF_LEVELS_...]
    GF_RECORDED_PAD,         // [left, top, right, bottom]; 0xBBGGRR more
    GF_RECORDED_FILL,        // [x, y, width, height], inside: becomes one colour; 0xBBGGRR more
    GF_RECORDED_INDICES,     // the first: of a picture with a palette, its numbers are the pixels; three channels, all equal
    GF_RECORDED_MORE,        // 16 bytes that belong to the operation before
    GF_RECORDED_KINDS
};

// Classes of ImageEnhance, and torchvision's adjust_hue.
enum { GF_ENHANCE_BRIGHTNESS, GF_ENHANCE_CONTRAST, GF_ENHANCE_COLOR, GF_ENHANCE_SHARPNESS, GF_ENHANCE_HUE };

// Tables made of how often each byte comes: ImageOps.
enum { GF_LEVELS_EQUALIZE, GF_LEVELS_AUTOCONTRAST };

typedef struct {
    int32_t kind, words[4];
} gf_recorded;

// 0, or a fault's code: GF_FAULT_UNSUPPORTED where it is no record, or of another picture.
int32_t gf_canvas_replay(gf_canvas *, const gf_recorded *, int64_t n);

#endif
