// Coefficients of a JPEG in a form that is kept for later epochs: reading them takes a seventh of the time of the Huffman
// codes, and can begin at any fourth MCU. They take 1.2 to 1.5 times the codes' bytes. Like the codes they lose nothing.
//
// A block is
//     int8         DC less the last one of its component; -128: an int16 follows, which is the DC itself
//     uint8        the rows that are not zero, of 8 in natural order
//     uint8 each   the columns of such a row that are not zero; the DC counts as zero
//     4 bits each  their values in -7..7, the lower half of a byte first; 8: another value, behind these
//     int8 each    those others; -128: an int16 follows
// Every fourth MCU is an anchor: its place is known, and the last DC is taken as 0.
#ifndef GOFAST_JPEG_COEFFICIENTS_H
#define GOFAST_JPEG_COEFFICIENTS_H

#include "libjpeg.h"

enum {
    COEFFICIENTS_EVERY = 4,
    COEFFICIENTS_MOST = 3 + 1 + 8 + 32 + 63 * 3, // bytes of a block
    COEFFICIENTS_SLACK = COEFFICIENTS_MOST + 64, // read or written behind the last block, at most
};

typedef int16_t coefficients_block[64];

// The blocks of an MCU.
typedef struct {
    int count;
    uint8_t component[10]; // below 4
} coefficients_mcu;

coefficients_mcu coefficients_mcu_of(const lj_decompress *);

typedef struct {
    const uint8_t *anchors, *data, *next, *end; // anchors are uint32s, offsets in data
    uint32_t count, mcu;                       // of MCUs, and the next one
    coefficients_mcu order;
    int32_t last_dc[4];
} coefficients;

// Reads an MCU into blocks full of zeroes. It is one behind those that were asked for before. Returns 0 where the data are
// damaged.
int coefficients_read(coefficients *, uint32_t mcu, coefficients_block *const *blocks);

// Writes a block; where the next one goes. There is room for COEFFICIENTS_SLACK bytes.
uint8_t *coefficients_write(uint8_t *at, const int16_t *block, int32_t *last_dc);

enum { COEFFICIENTS_WIDE = 2 };

// For tests: the highest form that may be used. 0 is plain C.
extern int coefficients_most;

#endif
