// The kernel for rows of any numbers; numbers.c explains it.
#ifndef GOFAST_CSVROW_NUMBERS_H
#define GOFAST_CSVROW_NUMBERS_H

#include "csvrow.h"

// What stores the features, in the order of Type in numbers.go.
typedef enum { CSVROW_UINT8, CSVROW_INT16, CSVROW_INT32, CSVROW_INT64, CSVROW_FLOAT32, CSVROW_FLOAT64 } csvrow_type;

enum { CSVROW_SKIP = INT32_MIN };

typedef struct {
    const int32_t *to;   // of each column: its feature, or -1 - its label, or CSVROW_SKIP
    const uint8_t *real; // of each label: a double, else an int64
    int64_t most;        // bytes of a row
    int32_t columns, labels, type, delim, point;
} csvrow_table;

// Width is the bytes of a row's features. The last of the rows ends with its newline. Bytes before the first may be read.
void csvrow_numbers(int variant, const csvrow_table *t, const uint8_t *data, int64_t from, int64_t to, int64_t most,
                    uint8_t *features, int64_t width, uint8_t *labels, csvrow_result *result);

#endif
