// Marks: places where the Huffman codes of a file can be entered. A decode notes them, and the next decodes of the same
// file go on from the last one before the rows and columns that they want, instead of reading all codes before those.
// They are known by the file's content, so nobody has to say whose they are or whether the file is still the same. They lie
// in memory that processes share, and end with these.
#ifndef GOFAST_JPEG_MARKS_H
#define GOFAST_JPEG_MARKS_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    uint64_t hash, size;    // of the file
    uint32_t every, room;   // MCUs from a mark to the next; the marks there are, when all are known
    _Atomic uint32_t known; // the first so many of them
    _Atomic uint64_t mark[]; // the i-th is that of MCU (i + 1) * every: huffman_scan.c
} jpeg_marks;

// The marks of a file whose scan has so many MCUs. Those of a file that is not known yet are made without any that is known,
// if it is certain that the file comes again, or else when it comes for the second time. NULL: there are none.
jpeg_marks *marks_of(const uint8_t *file, size_t n, uint32_t mcus, int comes_again);

#endif
