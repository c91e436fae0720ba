// The bytes of one picture file.
#ifndef GOFAST_FILE_H
#define GOFAST_FILE_H

#include "image.h"

// Memory that is used again for the next picture.
typedef struct {
    uint8_t *data;
    size_t size, length, room; // length: of the whole file
} gf_bytes;

// Makes room for at least so many bytes, and slack that decoders may read behind them; 0 when memory is short.
int gf_bytes_reserve(gf_bytes *, size_t size);

// Reads a file, or its first `most` bytes, with pread: a file that shrinks is a fault, not a signal.
int32_t gf_file_read(const gf_image_program *, int64_t sample, int64_t most, gf_bytes *, gf_fault *);

// Asks the kernel to fetch a file that will be read soon, and does not wait for it. What goes wrong is for the read to say.
void gf_file_hint(const gf_image_program *, int64_t sample);

#endif
