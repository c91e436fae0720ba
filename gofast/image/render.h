// From a source's rows, through a geometry, to a sink: row by row, so that a picture never rests outside the
// caches on its way.
#ifndef GOFAST_RENDER_H
#define GOFAST_RENDER_H

#include "resample/resample.h"
#include "image.h"
#include "picture/opened.h"
#include "steps/geometry.h"

// Where finished rows go: to the numbers of a sample, to planes, or to a picture.
typedef struct {
    const gf_pixel_ops *pixels;
    const gf_normalise *normalise; // numbers, at out
    uint8_t *out[3];               // row 0; channels last: only out[0]
    int64_t out_stride;
    const gf_planes *planes;       // or bytes
    const gf_picture *picture;     // or RGBX
} gf_sink;

// A thread's memory for rendering.
typedef struct {
    gf_resize resize;
    gf_bytes row; // one RGBX row, mirrored
} gf_renderer;

// 0, or a fault's code. The rows of the sink are those of the geometry's window.
int32_t gf_render(gf_renderer *, gf_opened *, const gf_geometry *, int32_t pass_order, const gf_sink *, gf_fault *);

// The resize of a geometry, and the part of the source that it needs once it has begun.
gf_resize_plan gf_render_plan(const gf_geometry *, int32_t pass_order);
gf_box gf_render_region(const gf_geometry *, const gf_resize *begun);

// All of planes.
void gf_render_planes(const gf_planes *, const gf_sink *);

// The sink that writes a finished sample of `normalise`, width x height, at x.
gf_sink gf_sink_sample(const gf_normalise *, int32_t width, int32_t height, uint8_t *x);

#endif
