// The state of a decode, shared by the files of this package.
#ifndef GOFAST_JPEG_STATE_H
#define GOFAST_JPEG_STATE_H

#include <setjmp.h>

#include "coefficients.h"
#include "huffman.h"
#include "jpeg.h"
#include "libjpeg.h"

enum { IDLE, HEADER, ROWS };

// Why a decode was left by longjmp: an error of the library, or coefficients that the library must decode.
enum { BROKEN = 1, NOT_OURS };

// A record that is written while its file is decoded. memory is NULL where there is none.
typedef struct {
    gf_bytes *memory;
    size_t before, header;                  // bytes in front of the record, and of the file's header
    uint8_t *anchors, *first, *next, *end;  // in memory: anchors, and coefficients
    uint32_t mcu, mcus;                     // the next one that is written, and all
    coefficients_mcu order;
    int32_t last_dc[4];
} packing;

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
    uint32_t comes_again;
    int64_t max_pixels;
    int finishing;
    int many_scans, clean, ends_cleanly; // the last: as somebody has found

    gf_box region;
    int32_t first, columns; // the decoded columns: those of the region, and some more
    int32_t taken;          // rows of the region so far
    uint8_t *memory;
    size_t size;
    uint8_t *buffer; // GF_FORMAT_ROWS rows, in memory
    int64_t stride;

    // Coefficients.
    int by_library, not_ours;         // the library decodes all files (for tests); it decodes this file
    int64_t exchanged, marked;        // the number of files decoded by our code, and of those with known marks
    uint32_t mcu;                     // that the library asks for next
    unsigned column, first_mcu, end_mcu; // its place in its row, and the range that is wanted
    huffman huffman;

    int packed; // the picture is a record (pack.c), and data are its header
    coefficients coefficients;
    packing packing;
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

// Whether the entropy-coded data from p on are certainly accepted. The decoder reads no further than the next marker that
// is not a restart marker. If that is the end of the image, nothing before it can fail.
int feed_ends_cleanly(const uint8_t *p, const uint8_t *end);

// pack.c: coefficients that are kept.

// Takes a record apart; 0 if it is none.
int pack_open(gf_jpeg *, const uint8_t *data, size_t n);

// Prepares for a record's scan, of which the library has read the header. 0 if it is another picture's.
int pack_start(gf_jpeg *);

// Begins the record of a file whose codes are ours. 0 if there can be none.
int pack_begin(gf_jpeg *);

// Decodes an MCU into blocks full of zeroes, as huffman_mcu does, and writes it and all before it.
int pack_mcu(gf_jpeg *, uint32_t mcu, huffman_block *const *blocks);

// exchange.c: our decoder of coefficients instead of the library's.

// Looks at the file's data from here on. Returns 1 if they are certainly accepted, as by feed_ends_cleanly; else 0: not known.
int exchange_look(gf_jpeg *);

// Exchanges the decoder if possible. The library must have started, and the columns must be chosen. Returns 0 if a record
// cannot be decoded so.
int exchange_start(gf_jpeg *);

// Finds out whether the decoder can be exchanged: both ways must decode a small picture to the same pixels.
void exchange_try(lj_library *);

#endif
