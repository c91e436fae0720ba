// Pictures without a file format: how litData and mosaicml-streaming store one that Pillow has in memory ("pil").
#ifndef GOFAST_PIXELS_H
#define GOFAST_PIXELS_H

#include <stddef.h>
#include <stdint.h>

enum {
    GF_PIXELS_HEAD = 16, // bytes before the rows, at most: width, height and the mode's length as words of 32 bits, and the mode
    GF_PIXELS_ROOM = 64, // bytes that must be writable before these
};

// Makes a file that the decoders and Pillow know of such a picture's first n bytes: a header of Netpbm in the place of the
// picture's own, in front of the same rows. Returns where the file begins, and by how much it is longer; NULL: it is no such
// picture.
uint8_t *gf_pixels_file(uint8_t *stored, size_t n, ptrdiff_t *longer);

#endif
