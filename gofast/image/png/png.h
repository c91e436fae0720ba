// PNG files, by an inflate of our own (internal/inflate) and by zlib, which is found at run time.
#ifndef GOFAST_PNG_H
#define GOFAST_PNG_H

#include "../picture/format.h"

extern const gf_picture_format gf_png_format;

#endif
