// Image.transform by instruction set; what its two files share.
#ifndef GOFAST_PIXEL_WARP_H
#define GOFAST_PIXEL_WARP_H

#include "ops.h"

enum { GF_WARP_RUN = 256 }; // pixels of a row that are found, and then taken

#define DECLARE(LEVEL, TARGET)                                                        \
    void gf_warp_##LEVEL(const gf_planes *, const gf_transform *, const gf_planes *); \
    void gf_warp_smooth_##LEVEL(const gf_planes *, const gf_transform *, const gf_planes *);
LEVELS(DECLARE)
#undef DECLARE

#endif
