// The chunks of a PNG file. They are read in the order of Pillow's PngImagePlugin, with its checks and its leniency.
#ifndef GOFAST_PNG_CHUNKS_H
#define GOFAST_PNG_CHUNKS_H

#include "libz.h"
#include "png.h"

// The content of the header and of the chunks up to here.
typedef struct {
    const gf_libz *libz;
    gf_zstream *z; // for compressed text
    gf_fault *fault;
    const uint8_t *data;
    size_t n, at;

    int header, valid; // the header was seen; it has a known combination of depth and colour
    uint32_t width, height;
    int depth, colour, interlaced;

    const uint8_t *palette; // NULL without
    uint32_t palette_bytes;
    int transparent_index; // tRNS names a single palette entry

    int frames_known, framed, default_image, animated; // acTL and fcTL were seen; Pillow's flags that follow from them
    uint32_t frames;
    int64_t sequence; // of the last fcTL or fdAT, or -1
    uint64_t box[4];  // of the last fcTL: x, y, width, height
    int64_t text;     // an upper bound for the bytes of text

    uint32_t left; // bytes of the current IDAT that are not read yet
} gf_chunks;

// Sets the fault and returns its code.
int gf_png_fail(gf_chunks *, int code, size_t offset, const char *text);

// Reads up to the first image data. 0, or a fault's code.
int gf_png_head(gf_chunks *);

// The next piece of image data, at least 1 and at most `most` bytes. 0, or a fault's code.
int gf_png_piece(gf_chunks *, uint32_t most, const uint8_t **piece, uint32_t *length);

// Reads what follows the image data. 0, or a fault's code.
int gf_png_tail(gf_chunks *);

#endif
