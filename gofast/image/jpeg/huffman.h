// Baseline Huffman data as coefficients, in the place of libjpeg's own decoder of them: two thirds of a decode are spent
// here, and this takes two thirds of the library's time. It knows nothing of damage. Whatever is not as it should be, a
// code that does not exist, too many coefficients, data that end early, is "not ours": the caller then begins
// again with the library, which is also the oracle of the tests.
#ifndef GOFAST_JPEG_HUFFMAN_H
#define GOFAST_JPEG_HUFFMAN_H

#include <stdint.h>

#include "libjpeg.h"

enum {
    HUFFMAN_LOOK = 11,               // bits of a look-up: 10 are 5 % slower, 12 are no faster
    HUFFMAN_LONGEST = 16,            // bits of a code
    HUFFMAN_SLACK = 10 * 64 * 4 + 16, // bytes read behind the data, at most: an MCU of 10 blocks, 27 bits a coefficient
    HUFFMAN_MOST = 16 << 20,         // bytes of a file; larger ones are the library's
};

// A table of codes, made of the file's own, which is kept to know it again: most files have the same few.
typedef struct {
    int made;
    lj_huffman made_of;
    int32_t limit[HUFFMAN_LONGEST + 2]; // the first code of so many bits that is none, at the left of 16 bits
    int32_t offset[HUFFMAN_LONGEST + 1];
    uint32_t look[1 << HUFFMAN_LOOK];
    uint16_t skip[1 << HUFFMAN_LOOK];
} huffman_table;

typedef struct {
    // The bytes between two markers, unstuffed, and how far they are read: count bits wait at the left of bits.
    uint8_t *data;
    size_t room, size;
    const uint8_t *next;
    uint64_t bits;
    uint32_t count;
    const uint8_t *file, *end; // what follows in the file
    int marker;                // that ended the bytes
    unsigned interval, until_restart, restarts;

    int blocks;
    uint8_t component[10];
    const huffman_table *dc[10], *ac[10];
    int32_t last_dc[4];
    huffman_table tables[2][4]; // DC, AC
} huffman;

typedef int16_t huffman_block[64];

// Takes the data that begin at file, up to the next marker. Its code; 0 when there is none, or the file is not ours.
int huffman_read(huffman *, const lj_decompress *, const uint8_t *file, const uint8_t *end);

// Prepares for the scan, of which the library has examined the tables. 1 when it is ours.
int huffman_begin(huffman *, const lj_decompress *);

// The next MCU's coefficients, into blocks full of zeroes, or nowhere where blocks is NULL. 0 when it is not ours.
int huffman_mcu(huffman *, huffman_block *const *blocks);

void huffman_free(huffman *);

#endif
