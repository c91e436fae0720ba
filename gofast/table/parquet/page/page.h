// The hot loops of a Parquet page: run-length/bit-packed values, narrowing, and
// the transposition of decoded columns into rows. Nothing here keeps a pointer.
#ifndef GOFAST_PAGE_H
#define GOFAST_PAGE_H

#include <stdint.h>

// Instruction sets, in page.go's order.
enum { GF_PLAIN = 0, GF_AVX2 = 1, GF_AVX512 = 2 };

// Outcomes, in page.go's order.
enum { GF_OK = 0, GF_SHORT = 1, GF_OVERRUN = 2, GF_RANGE = 3 };

// The best instruction set of this machine.
int gf_page_level(void);

// Decodes n values of width 0..8 bits and writes table[value], one byte each.
// A value >= size is GF_RANGE.
int gf_runs8(int level, const uint8_t *src, int64_t len, int width, uint8_t *dst, int64_t n,
             const uint8_t table[256], int size);

// Decodes n values of width 0..32 bits. A value >= size is GF_RANGE.
int gf_runs32(int level, const uint8_t *src, int64_t len, int width, uint32_t *dst, int64_t n, uint64_t size);

// Decodes n values of width 0..32 bits and writes table[value], of so many bytes each. A value >= size is GF_RANGE.
int gf_entries(int level, const uint8_t *src, int64_t len, int width, void *dst, int64_t n, const void *table, uint64_t size, int bytes);

// Narrows n little-endian integers to bytes; non-zero when one is outside 0..255.
int gf_narrow32(const void *src, uint8_t *dst, int64_t n);
int gf_narrow64(const void *src, uint8_t *dst, int64_t n);

// Whether one of n floats of 4 or 8 bytes is NaN.
int gf_has_nan(const void *src, int64_t n, int size);

// Writes cols columns (each column_bytes apart, rows values of size bytes) as
// rows that are row_bytes apart.
void gf_rows(int level, const void *src, int64_t column_bytes, int64_t rows, int64_t cols, int size,
             void *dst, int64_t row_bytes);

#endif
