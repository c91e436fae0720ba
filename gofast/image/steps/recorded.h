// What was asked of a picture of Pillow's before its pixels were there: done to the canvas, then, in order. Whoever
// recorded it has not checked anything: a box or a size may be any number.
#ifndef GOFAST_RECORDED_H
#define GOFAST_RECORDED_H

#include "canvas.h"

// Python's _late/chain.py writes them. In brackets what the words are.
enum {
    GF_RECORDED_CROP,   // [x, y, width, height], inside
    GF_RECORDED_RESIZE, // [width, height, filter: Pillow's number, 1: of a box: MORE of four floats]
    GF_RECORDED_TURN,   // [Pillow's Image.Transpose]
    GF_RECORDED_GREY,   // convert("L"); the picture keeps three channels, all equal
    GF_RECORDED_WARP,   // [width, height, method and filter: Pillow's Image.Transform * 16 + Resampling, fill: 0xBBGGRR]: Image.transform;
                        // four MORE of eight doubles, of which an affine transform uses six
    GF_RECORDED_TABLE,  // Image.point: 48 MORE of 256 bytes for each channel
    GF_RECORDED_MORE,   // 16 bytes that belong to the operation before
};

typedef struct {
    int32_t kind, words[4];
} gf_recorded;

// 0, or a fault's code: GF_FAULT_UNSUPPORTED where it is no record, or of another picture.
int32_t gf_canvas_replay(gf_canvas *, const gf_recorded *, int64_t n);

#endif
