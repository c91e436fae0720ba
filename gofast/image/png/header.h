// What a PNG says before its pixels, of a plain file: Pillow opens it without a word, and reads nothing behind them.
#ifndef GOFAST_PNG_HEADER_H
#define GOFAST_PNG_HEADER_H

#include "png.h"

typedef struct {
    int32_t width, height, depth, colour;
    size_t palette, palette_bytes; // where it lies; no bytes without one
    size_t end;                    // of the first image data's name
} gf_png_header;

// Reads the header of a whole file. 0, or a fault's code: GF_FAULT_UNSUPPORTED also where the file is right, but not plain.
int gf_png_header_read(const uint8_t *data, size_t n, gf_png_header *out, gf_fault *fault);

#endif
