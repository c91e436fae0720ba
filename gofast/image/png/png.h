// PNG files, by an inflate of our own (quick.c) and by zlib, which is found at run time.
#ifndef GOFAST_PNG_H
#define GOFAST_PNG_H

#include "../picture/format.h"

extern const gf_picture_format gf_png_format;

// Chooses the kernels of a state: 0 best for this CPU, 1 plain, and zlib for everything; for tests.
void gf_png_variant(void *state, int variant);

#endif
