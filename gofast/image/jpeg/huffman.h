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
    HUFFMAN_RARE = 64,               // of an entry
    HUFFMAN_SLACK = 10 * 64 * 4 + 16, // bytes read behind the data, at most: an MCU of 10 blocks, 27 bits a coefficient
    HUFFMAN_MOST = 16 << 20,         // bytes of a file; larger ones are the library's
};

// What an entry may move on besides the coefficients of a run: more than any other symbol.
enum {
    HUFFMAN_END = 128,  // the end of a block
    HUFFMAN_NONE = 192, // no symbol
};

// A symbol that begins with the bits of a look-up. Each field is a byte of its own, since a processor loads four bytes in
// less time than it shifts three fields out of a word: 9 % of the decoder.
typedef struct {
    uint8_t bits;   // of the code and of the value after it; HUFFMAN_RARE more: a symbol that needs a look of its own
    uint8_t on;     // how many coefficients it moves on, including the one with the value
    uint8_t length; // bits of the code
    uint8_t shift;  // 64 less the bits of the value
} huffman_entry;

// A table of codes, made from the file's table. A copy of that is kept to recognise it: most files have the same few.
typedef struct {
    int made;
    lj_huffman made_of;
    int32_t limit[HUFFMAN_LONGEST + 2]; // the first invalid code of so many bits, at the left of 16 bits
    int32_t offset[HUFFMAN_LONGEST + 1];
    huffman_entry look[1 << HUFFMAN_LOOK];
    // How far all symbols that a look-up holds whole move on together, two on average: bits of codes and values in the low
    // byte, coefficients in the high one; if there is no whole symbol, 64.
    uint16_t skip[1 << HUFFMAN_LOOK];
    int skips; // whether these are made
} huffman_table;

typedef int16_t huffman_block[64];

// The MCUs that will be asked for: columns first..end of the rows before end_row. A row has so many in all.
typedef struct {
    uint32_t per_row, first, end, end_row;
} huffman_wanted;

// A place in the scan. `bits` has the next count bits at its left.
typedef struct {
    const uint8_t *next;
    uint64_t bits;
    uint32_t count;
    uint32_t mcu; // the number of the next one in the scan
    int32_t last_dc[4];
} huffman_place;

typedef struct {
    uint8_t *data; // the bytes between two markers, without stuffing
    size_t room, size;
    huffman_place here;
    const uint8_t *file, *end; // the rest of the file
    int marker;                // the marker that ended the bytes
    unsigned interval, until_restart, restarts;

    uint32_t next_mark; // the MCU whose mark is noted next
    jpeg_marks *marks;  // or NULL

    // Two rows at a time: while an MCU is decoded, the one below it is decoded too, and kept until it is asked for.
    huffman_wanted wanted;
    huffman_place below;
    uint32_t pair_end, kept_from; // MCUs: that of the row above at which pairs end, and the first one that is kept
    huffman_block *kept;
    size_t kept_room;

    int blocks;
    uint8_t component[10];
    const huffman_table *dc[10];
    huffman_table *ac[10];
    huffman_table tables[2][4]; // DC, AC
} huffman;

// Takes the data from file up to the next marker. Returns the marker's code; 0 if there is none, or the file is not ours.
int huffman_read(huffman *, const lj_decompress *, const uint8_t *file, const uint8_t *end);

// Prepares for the scan. The library has checked its tables. Returns 1 if the scan is ours.
int huffman_begin(huffman *, const lj_decompress *);

// Whether the scan can have marks.
int huffman_may_be_marked(const huffman *);

// From here on the scan is entered at these marks, and those that are not known yet are noted. They are of this file. Where
// they are known, two rows of what is wanted are decoded at a time. Returns 1 if some are known.
int huffman_use(huffman *, jpeg_marks *, huffman_wanted);

// Writes the coefficients of an MCU into blocks full of zeroes. It is one behind those that were asked for before. Returns
// 0 if not ours.
int huffman_mcu(huffman *, uint32_t mcu, huffman_block *const *blocks);

void huffman_free(huffman *);

// Among huffman.c, huffman_table.c and huffman_scan.c:

// Copies the bytes up to the next marker, without the zero after each 0xff. Returns 0 if no marker follows.
int huffman_next_bytes(huffman *);

// Memory at least so large instead of some that is; what that held is lost. NULL if there is none.
void *huffman_fit(void *memory, size_t *room, size_t size);

// Decode the next MCU at a place; skip one; decode one here and one below. Return 0 if not ours. They may read behind the data.
int huffman_keep(const huffman *, huffman_place *, huffman_block *const *blocks);
int huffman_skip(const huffman *, huffman_place *);
int huffman_two(huffman *, huffman_block *const *blocks, huffman_block *below);

// Makes a table, if it is another one than before, without its skips.
void huffman_make_table(huffman_table *, const lj_huffman *, int ac);

void huffman_make_skips(huffman_table *);

// The entry of a code that is longer than a look-up, if there is such a code.
huffman_entry huffman_long_entry(const huffman_table *, uint64_t bits, int ac);

#endif
