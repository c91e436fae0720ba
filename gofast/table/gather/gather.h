// How one batch row is made from one stored row of a table. Plain C structures in C memory: Go builds them, worker
// threads and forked processes only read them.
#ifndef GOFAST_GATHER_H
#define GOFAST_GATHER_H

#include <stdint.h>

#include "../../engine/view.h"

// Storage types, in the order of table.Type.
enum { GF_UINT8 = 1, GF_INT16, GF_INT32, GF_INT64, GF_FLOAT32, GF_FLOAT64 };

// Output types. Integers: only of stored integers that fit, without arithmetic.
enum { GF_OUT_FLOAT32, GF_OUT_FLOAT16, GF_OUT_BFLOAT16, GF_OUT_FLOAT64, GF_OUT_UINT8, GF_OUT_INT16, GF_OUT_INT32, GF_OUT_INT64 };

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
    int32_t storage;    // GF_UINT8 ...
    int32_t out;        // GF_OUT_...
    int32_t unit;       // divide by 255
    int32_t normalise;  // then (x - mean) / std
    const float *mean;  // width values
    const float *std;   // width values
    const uint8_t *table; // 256 output values, where every feature has the same one; else NULL
    int32_t label_mode; // GF_LABEL_...
    int32_t label_columns;
    const uint8_t *label_float; // label_columns flags: 1 where stored as float64
    int64_t missing_label;
    int64_t classes;    // width of a one-hot label
    gf_row_fn row;      // chosen by gf_program_prepare
} gf_program;

// Chooses program->row. variant: 0 best for this CPU, 1 portable; for tests.
void gf_program_prepare(gf_program *program, int variant);

// A gf_fill_fn for views whose parts are gf_programs.
int64_t gf_fill(const gf_view *, const gf_batch *, int64_t from, int64_t to);

#endif
