// One cell becomes a number, and goes to its place. Floats are correctly rounded: by one operation of exact doubles, or by
// a division or product of 128 bits.
#ifndef GOFAST_CSVROW_NUMBER_H
#define GOFAST_CSVROW_NUMBER_H

#include "numbers.h"

#include <string.h>

// All powers of ten that a double holds, and all of five that 64 bits do.
static const double tens[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                              1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
static const uint64_t fives[] = {
    1u, 5u, 25u, 125u, 625u, 3125u, 15625u, 78125u, 390625u, 1953125u, 9765625u, 48828125u, 244140625u,
    1220703125u, 6103515625u, 30517578125u, 152587890625u, 762939453125u, 3814697265625u, 19073486328125u,
    95367431640625u, 476837158203125u, 2384185791015625u, 11920928955078125u, 59604644775390625u,
    298023223876953125u, 1490116119384765625u, 7450580596923828125u,
};
enum { MOST_TENS = 22, MOST_FIVES = 27, MOST_DIGITS = 19, MOST_WHOLE = 18 };

// top 2^exponent, rounded to even. The highest bit of top is set; more says that there is something behind the lowest.
static double rounded(uint64_t top, int more, int exponent) {
    uint64_t kept = top >> 11, rest = top & 2047;
    kept += rest > 1024 || (rest == 1024 && (more || (kept & 1)));
    uint64_t bits = (uint64_t)(1023 + exponent + 11) << 52; // far from both ends of what a double holds
    double scale;
    memcpy(&scale, &bits, 8);
    return (double)kept * scale;
}

// digits / 10^places, correctly rounded; digits is not 0, and places at most MOST_FIVES either way.
static double decimal(uint64_t digits, int places) {
    unsigned __int128 wide;
    int left = __builtin_clzll(digits);
    if (places < 0) {
        wide = (unsigned __int128)digits * fives[-places];
        left = wide >> 64 ? __builtin_clzll((uint64_t)(wide >> 64)) : 64 + __builtin_clzll((uint64_t)wide);
        wide <<= left;
        return rounded((uint64_t)(wide >> 64), (uint64_t)wide != 0, 64 - left - places);
    }
    uint64_t five = fives[places], top = digits << left;
    int five_left = __builtin_clzll(five);
    five <<= five_left;
    int carried = top >= five; // the quotient has 64 bits, of which the highest is set
    wide = (unsigned __int128)top << (64 - carried);
    uint64_t quotient = (uint64_t)(wide / five);
    return rounded(quotient, wide != (unsigned __int128)quotient * five, carried - 64 + five_left - left - places);
}

static const uint64_t shifts[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};

// Goes on with *digits by the digits at p, eight at a time: how many there are is not to be predicted, so no branch
// depends on it.
static inline const uint8_t *digits_at(const uint8_t *p, uint64_t *digits) {
    for (;;) {
        uint64_t v;
        memcpy(&v, p, 8);
        uint64_t low = v - 0x3030303030303030u, others = ((v + 0x4646464646464646u) | low) & 0x8080808080808080u;
        int count = others ? __builtin_ctzll(others) / 8 : 8; // no byte before the first other one borrows
        if (count == 0) return p;
        low <<= 64 - 8 * count; // zeros before them
        low = low * 10 + (low >> 8); // of two digits, in every other byte
        low = ((low & 0x000000FF000000FFu) * (100 + (1000000ull << 32)) +
               ((low >> 16 & 0x000000FF000000FFu) * (1 + (10000ull << 32)))) >> 32;
        *digits = *digits * shifts[count] + low;
        p += count;
        if (count < 8) return p;
    }
}

typedef struct {
    int64_t whole; // where it is no real
    double value;
    int real;
} number;

static inline int ends(uint8_t c, uint8_t delim) { return c == delim || c == '\n' || c == '\r'; }

// The number at p, and where it ends; NULL: it is none, or not one for this.
static inline const uint8_t *number_at(const uint8_t *p, uint8_t delim, uint8_t mark, number *n) {
    int negative = *p == '-';
    p += negative;
    const uint8_t *start = p;
    uint64_t digits = 0;
    p = digits_at(p, &digits);
    int64_t all = p - start;
    if (ends(*p, delim)) {
        if (all == 0 || all > MOST_WHOLE || (negative && digits == 0)) return NULL; // "-0" depends on its column
        n->whole = negative ? -(int64_t)digits : (int64_t)digits;
        n->real = 0;
        return p;
    }
    int places = 0;
    if (*p == mark) {
        const uint8_t *point = ++p;
        p = digits_at(p, &digits);
        if (p - point > 64) return NULL;
        places = (int)(p - point);
        all += places;
    }
    if (all == 0) return NULL;
    if (all > MOST_DIGITS) { // those behind the zeros may still be few enough
        for (; *start == '0' || *start == mark; start++) all -= *start == '0';
        if (all > MOST_DIGITS) return NULL;
    }
    if (*p == 'e' || *p == 'E') {
        int down = p[1] == '-', exponent = 0;
        p += 1 + (down || p[1] == '+');
        const uint8_t *from = p;
        for (unsigned digit; (digit = (unsigned)*p - '0') <= 9 && p - from < 4; p++) exponent = exponent * 10 + (int)digit;
        if (p == from) return NULL;
        places += down ? exponent : -exponent;
    }
    if (!ends(*p, delim)) return NULL;
    double value;
    if (digits <= 1ull << 53 && places >= -MOST_TENS && places <= MOST_TENS)
        value = places < 0 ? (double)digits * tens[-places] : (double)digits / tens[places];
    else if (digits && places >= -MOST_FIVES && places <= MOST_FIVES)
        value = decimal(digits, places);
    else
        return NULL;
    n->value = negative ? -value : value;
    n->real = 1;
    return p;
}

static inline int store_whole(uint8_t *row, int64_t at, csvrow_type type, int64_t v) {
#define AS(TYPE)                           \
    do {                                   \
        TYPE made = (TYPE)v;               \
        if ((int64_t)made != v) return 0;  \
        memcpy(row + at * (int64_t)sizeof made, &made, sizeof made); \
        return 1;                          \
    } while (0)
    switch (type) {
    case CSVROW_UINT8: AS(uint8_t);
    case CSVROW_INT16: AS(int16_t);
    case CSVROW_INT32: AS(int32_t);
    case CSVROW_INT64: AS(int64_t);
    case CSVROW_FLOAT32: AS(float);
    case CSVROW_FLOAT64: AS(double);
    }
    return 0;
}

static inline int store(uint8_t *row, int64_t at, csvrow_type type, const number *n) {
    if (!n->real) return store_whole(row, at, type, n->whole);
    if (type == CSVROW_FLOAT64) {
        memcpy(row + 8 * at, &n->value, 8);
        return 1;
    }
    float made = (float)n->value;
    if (type != CSVROW_FLOAT32 || (double)made != n->value) return 0;
    memcpy(row + 4 * at, &made, 4);
    return 1;
}

// Puts a number to the feature or the label that `to` says; 0: it does not fit there.
static inline int put(const csvrow_table *t, int32_t to, csvrow_type type, const number *n, uint8_t *features,
                      uint8_t *labels) {
    if (to >= 0) return store(features, to, type, n);
    if (t->real[-1 - to]) return store(labels, -1 - to, CSVROW_FLOAT64, n);
    return !n->real && store(labels, -1 - to, CSVROW_INT64, n);
}

// The form for AVX-512: takes rows from *at on, and moves it behind them. It may refuse what the plain form takes.
int64_t numbers512(const csvrow_table *t, const uint8_t **at, const uint8_t *end, int64_t most, uint8_t *features,
                   int64_t width, uint8_t *labels);

#endif
