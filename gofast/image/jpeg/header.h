// What a JPEG's header says before its first scan.
#ifndef GOFAST_JPEG_HEADER_H
#define GOFAST_JPEG_HEADER_H

#include "jpeg.h"

typedef struct {
    int32_t width, height, components;
    uint8_t frame; // the second byte of the frame header's marker
    int asks_exif; // Pillow looks for the resolution in Exif data
    size_t end;    // of the scan's header
} gf_jpeg_header;

// As gf_picture_format's size.
int gf_jpeg_header_read(const uint8_t *data, size_t n, size_t length, gf_jpeg_header *out, gf_fault *fault);

#endif
