// JPEG files. They are decoded by libjpeg-turbo, which is found at run time. If the library allows it, our own code does
// its slowest part (exchange.c).
#ifndef GOFAST_JPEG_H
#define GOFAST_JPEG_H

#include "../picture/format.h"

extern const gf_picture_format gf_jpeg_format;

// The library's version and path, such as "libjpeg-turbo version 3.2.0 (build 20261016), /usr/lib/libjpeg.so.62". It is ""
// before the library is found.
const char *gf_libjpeg_version(void);

// Whether our decoder of Huffman codes takes the place of the library's. That saves a third of the time (exchange.c).
int gf_libjpeg_exchanged(void);

#endif
