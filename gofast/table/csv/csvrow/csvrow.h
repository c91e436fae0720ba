// Kernels for tables of small integers written as text. csvrow.c explains them; its plain
// forms say what the others must compute.
#ifndef GOFAST_CSVROW_H
#define GOFAST_CSVROW_H

#include <stdint.h>

enum { CSVROW_PLAIN = 0, CSVROW_AVX2 = 1, CSVROW_AVX512 = 2 };

// The most bytes of the leading cells.
enum { CSVROW_LEAD = 256 };

// The best variant that this processor runs.
int csvrow_best(void);

typedef struct {
    int64_t lines;  // '\n' bytes that do not follow a '\n'
    int32_t quotes; // some byte is '"'
    int32_t odd;    // a '\r' without '\n' after it, or a line that starts with a blank or '\r'
} csvrow_counts;

void csvrow_scan(int variant, const uint8_t *data, int64_t length, int delim, csvrow_counts *counts);

typedef struct {
    int32_t from, to, count; // `count` cells from column `from` go to feature `to`
} csvrow_run;

typedef struct {
    int32_t column, real; // real: store a double, else an int64
} csvrow_label;

typedef struct {
    int64_t rows; // rows stored
    int64_t next; // where the first row that was not taken starts
} csvrow_result;

void csvrow_parse(int variant, const uint8_t *data, int64_t from, int64_t to, int64_t most, int delim, int lead,
                  int columns, const csvrow_run *runs, int run_count, const csvrow_label *labels, int label_count,
                  uint8_t *scratch, uint8_t *features, int64_t width, uint8_t *label_out, csvrow_result *result);

#endif
