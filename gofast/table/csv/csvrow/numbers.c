// Rows of numbers from text, into any type that stores features.
//
// A row is taken when every wanted cell is digits with a sign before, a point among and an exponent behind them, or not,
// and its number fits its place exactly. Any other row is refused, and the caller parses it in general.
// This is the plain form, which says what numbers512.c must compute.
#include "number.h"

// The end of the row at p, which is in its places then; NULL: it is refused.
__attribute__((always_inline)) static inline const uint8_t *row_at(const csvrow_table *t, const uint8_t *p,
                                                                   const uint8_t *end, csvrow_type type,
                                                                   uint8_t *features, uint8_t *labels) {
    const uint8_t delim = (uint8_t)t->delim, mark = (uint8_t)t->point;
    for (int64_t column = 0;; p++) {
        const int32_t to = t->to[column];
        if (to == CSVROW_SKIP) {
            if (*p == '"') return NULL;
            while (!ends(*p, delim)) p++;
        } else {
            number n;
            if (!(p = number_at(p, delim, mark, &n))) return NULL;
            if (!put(t, to, type, &n, features, labels)) return NULL;
        }
        if (++column == t->columns) break;
        if (*p != delim) return NULL;
    }
    if (*p == '\r') p++;
    return p < end && *p == '\n' ? p + 1 : NULL;
}

#define ROWS(TYPE)                                                                       \
    for (; rows < most && p < end; rows++) {                                             \
        const uint8_t *next = row_at(t, p, end, TYPE, features, labels);                 \
        if (!next || next - p > t->most) break;                                          \
        p = next, features += width, labels += 8 * (int64_t)t->labels;                   \
    }                                                                                    \
    break

enum { PLAIN_ROWS = 32 }; // in turn with the form for AVX-512, where that refuses some

static int64_t rows_plain(const csvrow_table *t, const uint8_t **at, const uint8_t *end, int64_t most, uint8_t *features,
                          int64_t width, uint8_t *labels) {
    const uint8_t *p = *at;
    int64_t rows = 0;
    switch ((csvrow_type)t->type) {
    case CSVROW_UINT8: ROWS(CSVROW_UINT8);
    case CSVROW_INT16: ROWS(CSVROW_INT16);
    case CSVROW_INT32: ROWS(CSVROW_INT32);
    case CSVROW_INT64: ROWS(CSVROW_INT64);
    case CSVROW_FLOAT32: ROWS(CSVROW_FLOAT32);
    case CSVROW_FLOAT64: ROWS(CSVROW_FLOAT64);
    }
    *at = p;
    return rows;
}

void csvrow_numbers(int variant, const csvrow_table *t, const uint8_t *data, int64_t from, int64_t to, int64_t most,
                    uint8_t *features, int64_t width, uint8_t *labels, csvrow_result *result) {
    const uint8_t *p = data + from, *end = data + to;
    int64_t rows = 0, tried = 0, taken = 0; // the last two by the plain form, where the other one refused
    while (rows < most && p < end && taken == tried) {
        if (variant == CSVROW_AVX512)
            rows += numbers512(t, &p, end, most - rows, features + rows * width, width, labels + rows * 8 * t->labels);
        tried = variant == CSVROW_AVX512 && most - rows > PLAIN_ROWS ? PLAIN_ROWS : most - rows;
        taken = rows_plain(t, &p, end, tried, features + rows * width, width, labels + rows * 8 * t->labels);
        rows += taken;
    }
    result->rows = rows;
    result->next = p - data;
}
