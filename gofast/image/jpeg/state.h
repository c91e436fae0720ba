// What the files of this package know of a decode.
#ifndef GOFAST_JPEG_STATE_H
#define GOFAST_JPEG_STATE_H

#include <setjmp.h>

#include "huffman.h"
#include "jpeg.h"
#include "libjpeg.h"

enum { IDLE, HEADER, ROWS };

// Why a decode was left by longjmp: the library's error, or coefficients that only the library shall judge.
enum { BROKEN = 1, NOT_OURS };

typedef struct {
    lj_decompress d; // first: the library's callbacks get a pointer to it
    const lj_library *library;
    lj_errors errors;
    lj_source source;
    void *(*small)(lj_decompress *, int, size_t);
    jmp_buf broken;
    int made, stage;

    const uint8_t *data;
    size_t n, shown; // bytes of the file, and how many of them the library may see
    int64_t max_pixels;
    int finishing;
    int many_scans, clean;

    gf_box region;
    int32_t first, columns; // that are decoded: the region's, and some more
    int32_t taken;          // rows of the region
    uint8_t *memory;
    size_t size;
    uint8_t *buffer; // GF_FORMAT_ROWS rows, in memory
    int64_t stride;

    // Coefficients.
    int by_library, not_ours;         // all files', for tests; this file's
    int64_t exchanged;                // how many files' were ours
    unsigned mcu, first_mcu, end_mcu; // the next one of a row, and those that are wanted
    huffman huffman;
} gf_jpeg;

// library.c: gf_jpeg_format's load.
int lj_load(const char *path, char *why, size_t size);

// feed.c: the file's bytes, as Pillow gives them to the library.

void feed_make(gf_jpeg *);

// All of a file, until feed_blocks.
void feed_begin(gf_jpeg *);

// From here on in Pillow's blocks.
void feed_blocks(gf_jpeg *);

int64_t feed_position(const gf_jpeg *);

// Whether the entropy-coded data from p on are surely accepted: the decoder reads no further than the next marker that
// is not a restart one, and when that is the end of the image, reading on to it finds nothing that could fail.
int feed_ends_cleanly(const uint8_t *p, const uint8_t *end);

// exchange.c: our decoder of coefficients in the place of the library's.

// Looks at the file's data from here on. 1 when they are surely accepted, as of feed_ends_cleanly; else that is not known.
int exchange_look(gf_jpeg *);

// Exchanges the decoder where it can be. The library has started, and the columns are chosen.
void exchange_start(gf_jpeg *);

// Finds out whether the library lets it be exchanged: a small picture must come out the same both ways.
void exchange_try(lj_library *);

#endif
