// What the image decoders, the kernels and the plan hand each other. Plain C structures: threads of the
// engine and forked worker processes use them alike.
#ifndef GOFAST_PICTURE_H
#define GOFAST_PICTURE_H

#include <stdint.h>

// Rows of RGBX pixels: 4 bytes each, the last of which means nothing (libjpeg writes 255, and so do we). Whoever made it owns the memory.
typedef struct {
    uint8_t *data;
    int64_t stride; // bytes from a row to the next
    int32_t width, height;
} gf_picture;

// A part of a picture.
typedef struct {
    int32_t x, y, width, height;
} gf_box;

// What can be wrong with a sample. The order is that of Go's picture.Fault.
enum {
    GF_FAULT_NONE,
    GF_FAULT_READ,        // the file cannot be opened or read
    GF_FAULT_FORMAT,      // a broken picture: Pillow raises too
    GF_FAULT_UNSUPPORTED, // Pillow must decode this one
    GF_FAULT_LIMIT,       // more pixels than are allowed
    GF_FAULT_INDEX,       // there is no such sample
    GF_FAULT_MEMORY,      // memory is short
    GF_FAULT_CHANGED,     // not the file that it was when its size was read
};

// One fault, in the words of the decoder where it has any.
typedef struct {
    int32_t code;
    int64_t offset; // in the file, or -1
    char text[160];
} gf_fault;

#endif
