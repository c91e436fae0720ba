// Decodes baseline Huffman data to coefficients, instead of libjpeg's own decoder. A decode spends two thirds of its
// time here, and this code takes two thirds of the library's time. It does not handle damage. Anything wrong (a code that
// does not exist, too many coefficients, data that end early) is "not ours". The caller then starts again with the
// library, and the tests compare with the library too.
#ifndef GOFAST_JPEG_HUFFMAN_H
#define GOFAST_JPEG_HUFFMAN_H

#include <stdint.h>

#include "libjpeg.h"
#include "marks.h"

enum {
    HUFFMAN_LOOK = 11,               // bits of a look-up: 10 are 5 % slower, 12 are no faster
    HUFFMAN_LONGEST = 16,            // bits of a code
    HUFFMAN_SLACK = 10 * 64 * 4 + 16, // bytes read behind the data, at most: an MCU of 10 blocks, 27 bits a coefficient
    HUFFMAN_MOST = 16 << 20,         // bytes of a file; larger ones are the library's
};

// A table of codes, made from the file's table. A copy of that is kept to recognise it: most files have the same few.
typedef struct {
    int made;
    lj_huffman made_of;
    int32_t limit[HUFFMAN_LONGEST + 2]; // the first invalid code of so many bits, at the left of 16 bits
    int32_t offset[HUFFMAN_LONGEST + 1];
    uint32_t look[1 << HUFFMAN_LOOK];
    uint16_t skip[1 << HUFFMAN_LOOK];
} huffman_table;

typedef struct {
    // The bytes between two markers, without stuffing. `bits` has the next count bits of them at its left.
    uint8_t *data;
    size_t room, size;
    const uint8_t *next;
    uint64_t bits;
    uint32_t count;
    const uint8_t *file, *end; // the rest of the file
    int marker;                // the marker that ended the bytes
    unsigned interval, until_restart, restarts;

    uint32_t mcu;       // the number of the next one in the scan
    uint32_t next_mark; // that of the MCU whose mark is noted next
    jpeg_marks *marks;  // or NULL

    int blocks;
    uint8_t component[10];
    const huffman_table *dc[10], *ac[10];
    int32_t last_dc[4];
    huffman_table tables[2][4]; // DC, AC
} huffman;

typedef int16_t huffman_block[64];

// Takes the data from file up to the next marker. Returns the marker's code; 0 if there is none, or the file is not ours.
int huffman_read(huffman *, const lj_decompress *, const uint8_t *file, const uint8_t *end);

// Prepares for the scan. The library has checked its tables. Returns 1 if the scan is ours.
int huffman_begin(huffman *, const lj_decompress *);

// From here on the scan is entered at these marks, and those that are not known yet are noted. They are of this file. Returns
// 1 if some are known.
int huffman_use(huffman *, jpeg_marks *);

// Writes the coefficients of an MCU into blocks full of zeroes. It is one behind those that were asked for before. Returns
// 0 if not ours.
int huffman_mcu(huffman *, uint32_t mcu, huffman_block *const *blocks);

void huffman_free(huffman *);

#endif
