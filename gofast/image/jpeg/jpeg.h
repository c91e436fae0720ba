// JPEG files, by libjpeg-turbo, which is found at run time; where it lets us, its slowest part is exchanged for ours
// (exchange.c).
#ifndef GOFAST_JPEG_H
#define GOFAST_JPEG_H

#include "../picture/format.h"

extern const gf_picture_format gf_jpeg_format;

// The library's version and path, such as "libjpeg-turbo version 3.2.0 (build 20261016), /usr/lib/libjpeg.so.62"; "" before
// it is found.
const char *gf_libjpeg_version(void);

// Whether it lets our decoder of Huffman codes take the place of its own, which is a third of the time (exchange.c).
int gf_libjpeg_exchanged(void);

#endif
