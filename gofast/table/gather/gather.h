// How one batch row is made from one stored row of a table. Plain C structures in C memory: Go builds them, worker
// threads and forked processes only read them.
#ifndef GOFAST_GATHER_H
#define GOFAST_GATHER_H

#include <stdint.h>

#include "../../engine/view.h"
#include "../../numbers/numbers.h"

// What becomes of the label columns.
enum { GF_LABEL_NONE, GF_LABEL_MISSING, GF_LABEL_INT64, GF_LABEL_FLOAT32, GF_LABEL_FLOAT64, GF_LABEL_ONE_HOT, GF_LABEL_COPY };

struct gf_program;
typedef void (*gf_row_fn)(const struct gf_program *, const void *src, void *dst);

// One table and its transform. The matrix and the vectors outlive the program.
typedef struct gf_program {
    const uint8_t *features; // row 0: width values of the storage type
    const uint8_t *labels;   // row 0: label_columns values of 8 bytes, or y_bytes to copy; or NULL
    int64_t rows;
    int64_t width;      // values in a row
    int64_t row_bytes;  // bytes of a stored row
    int64_t row_stride, label_stride; // bytes from one row to the next
    int64_t x_bytes;    // bytes of an output row
    int64_t y_bytes;    // bytes of an output label
    int32_t storage;    // GF_UINT8 ... GF_FLOAT64
    gf_numbers numbers; // what is made of a value; a scale is none or GF_SCALE_DIVIDE
    const float *mean;  // width values, or NULL
    const float *std;   // width values, or NULL
    const gf_codes *codes; // of stored bytes: what becomes of each in every channel; else NULL
    gf_codes_fn look_up;   // in codes
    int32_t label_mode; // GF_LABEL_...
    int32_t label_columns;
    const uint8_t *label_float; // label_columns flags: 1 where stored as float64
    int64_t missing_label;
    int64_t classes;    // width of a one-hot label
    gf_row_fn row;      // chosen by gf_program_prepare
} gf_program;

// Chooses program->row. portable: the plain loops, for tests of the others.
void gf_program_prepare(gf_program *program, int portable);

// A gf_fill_fn for views whose parts are gf_programs.
int64_t gf_fill(const gf_view *, const gf_batch *, int64_t from, int64_t to);

#endif
