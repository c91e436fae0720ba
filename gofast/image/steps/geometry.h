// Crops, one resize and flips, put together: so that a picture is decoded only where it is needed, and its
// rows go from the decoder to the batch without resting anywhere. Pure arithmetic, no pixels.
#ifndef GOFAST_GEOMETRY_H
#define GOFAST_GEOMETRY_H

#include "../picture/picture.h"

// What becomes of a picture: box is cut out, resized to width x height (taps end at the box, as Pillow's
// do after a crop), window is cut out of that, and mirrored.
typedef struct {
    gf_box box;
    int32_t width, height;
    int32_t filter; // where resized
    int32_t resized;
    float part[4]; // resample.h's: which part of the box is resized
    gf_box window;
    int32_t hflip, vflip;
} gf_geometry;

// The whole of a picture.
gf_geometry gf_geometry_of(int32_t width, int32_t height);

// Cuts a box out of what there is so far; it lies within.
void gf_geometry_crop(gf_geometry *, gf_box box);

// Whether a resize can still be added: Pillow rounds to uint8 after each, and mirrored taps round otherwise.
int gf_geometry_can_resize(const gf_geometry *);

void gf_geometry_resize(gf_geometry *, int32_t width, int32_t height, int32_t filter);
void gf_geometry_hflip(gf_geometry *);
void gf_geometry_vflip(gf_geometry *);

#endif
