// A picture on its way through the steps. It rests in planes once a step needs its pixels; until then, and after a
// resize of those, it is a source and what its geometry will make of it.
#ifndef GOFAST_CANVAS_H
#define GOFAST_CANVAS_H

#include "../pixel/pixel.h"
#include "geometry.h"
#include "step.h"

// What a step may make of a picture: Pillow has a limit for files only. More is left to Python.
enum { GF_CANVAS_MOST_PIXELS = 1 << 28 };

// What torchvision's steps would have done to what a PIL image says beside pixels, its info.
enum {
    GF_INFO_PADDED = 1, // Pillow has expanded it
    GF_INFO_GREYED = 2, // Pillow has converted it to grey and back
    GF_INFO_LOST = 4,   // pixels alone were taken over
};

// A box that is erased when the sample is finished, since what lies in it is the same whenever it is erased.
typedef struct {
    gf_box box;
    const float *value;
} gf_erasure;

typedef struct gf_canvas gf_canvas;
struct gf_canvas {
    // Whoever has the source and the memory, run.c. Each returns 0 or a fault's code.
    int32_t (*lay_out)(gf_canvas *, int buffer, int32_t width, int32_t height, gf_planes *); // planes of a size in one of two buffers
    int32_t (*render)(gf_canvas *, const gf_planes *);                                       // the source, through the geometry
    int32_t (*reopen)(gf_canvas *);                                                          // planes become the source
    int32_t (*room)(gf_canvas *, size_t bytes, uint8_t **);                                  // for a step on a picture at rest, until it is done
    const gf_pixel_ops *pixels;
    gf_geometry geometry;
    int resting;
    gf_planes planes;
    int buffer; // the one that holds the planes
    gf_erasure erasures[GF_MOST_ERASURES];
    int n_erasures;
    const gf_step *crops; // five_crop or ten_crop: whoever finishes the sample cuts them out; NULL: it is one picture
    int32_t info; // GF_INFO_..., several
    gf_fault *fault;
};

static inline int32_t gf_canvas_width(const gf_canvas *c) { return c->resting ? c->planes.width : c->geometry.window.width; }

static inline int32_t gf_canvas_height(const gf_canvas *c) { return c->resting ? c->planes.height : c->geometry.window.height; }

// Brings the picture to rest.
int32_t gf_canvas_rest(gf_canvas *);

// Cuts out a box that lies inside.
void gf_canvas_crop(gf_canvas *, gf_box);
int32_t gf_canvas_resize(gf_canvas *, int32_t width, int32_t height, int32_t filter);

// Resizes a part of it, which is resample.h's.
int32_t gf_canvas_resize_part(gf_canvas *, const float part[4], int32_t width, int32_t height, int32_t filter);

// The five boxes of a picture in torchvision's order: corners from the top left on, and the center.
void gf_canvas_five(const gf_canvas *, const gf_step *, gf_box boxes[5]);

// Another picture of the same channels, for a step that makes one out of the planes, which are brought to rest; and puts
// it in their place.
int32_t gf_canvas_another(gf_canvas *, int32_t width, int32_t height, gf_planes *made);
void gf_canvas_take(gf_canvas *, const gf_planes *made);

// 0 where the box lies in a picture of that size. A fault where it does not: the draws were made for a picture of another
// size, or the record is not one.
int32_t gf_canvas_inside(const gf_canvas *, gf_box, int32_t width, int32_t height);

#endif
