// Marks: places where the Huffman codes of a file can be entered. A decode notes them, and the next decodes of the same
// file go on from the last one before the rows and columns that they want, instead of reading all codes before those.
// They are known by the file's content, so nobody has to say whose they are or whether the file is still the same. They lie
// in memory that processes share, and those of a dataset's files in a file for later runs too (kept.go).
#ifndef GOFAST_JPEG_MARKS_H
#define GOFAST_JPEG_MARKS_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    uint64_t hash, size;    // of the file
    uint32_t every, room;   // MCUs from a mark to the next; the marks there are, when all are known
    _Atomic uint32_t known; // the first so many of them
    _Atomic uint32_t of;    // the dataset's number, and MARKS_MET; 0 while this is being made
    _Atomic uint64_t mark[]; // the i-th is that of MCU (i + 1) * every: huffman.c
} jpeg_marks;

// In `of`: a decode of these processes has met the file. Marks of others come from an earlier run.
#define MARKS_MET (1u << 31)

// The marks of a file whose scan has so many MCUs. Those of a file that is not known yet are made without any that is known,
// if it is certain that the file comes again, or else when it comes for the second time. comes_again is the number of its
// dataset, 1 or more, or 0 where that is not certain. NULL: there are none.
jpeg_marks *marks_of(const uint8_t *file, size_t n, uint32_t mcus, uint32_t comes_again);

#endif
