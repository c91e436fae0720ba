// Rows of numbers, with AVX-512: eight cells at once, whatever their lengths.
//
// The ends of a row's cells are found 64 bytes at a time. The 16 bytes before an end hold a cell, its last digit always
// in the same lane. The digits before its point move on by one, over the point, and what stands there is a number of 16
// digits. One of more than 16 bytes, with an exponent, or not a number at all is left to the plain form's cell, and a row
// that is full of them to its rows. A cell takes 3.4 ns; the plain form, which waits for each cell's length, takes 11.
#include "number.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define WITH "avx512f,avx512bw,avx512vl,avx512dq,avx512cd,avx512vbmi,avx512vbmi2,avx2,bmi,bmi2,popcnt"
#define AVX512 __attribute__((target(WITH), always_inline)) static inline

enum { LEAST = 1 << 10, TEXT = 16 << 10, BLOCK = 64 }; // bytes whose cells are found together: at first, at most, at once
enum { MOST_PLAIN = 4 };                               // of eight cells, which the plain form reads in this one's rows

typedef struct {
    __m512i whole; // signed; where there is no point
    __m512d value;
    __mmask8 good, real; // the plain form would say the same; there is a point
} eight;

// Of cells 0, 2, 4, 6 or 1, 3, 5, 7: the 16 bytes before their ends.
AVX512 __m512i four(const uint8_t *row, const int32_t *ends) {
    __m512i made = _mm512_castsi128_si512(_mm_loadu_si128((const __m128i *)(row + ends[0] - 16)));
    made = _mm512_inserti32x4(made, _mm_loadu_si128((const __m128i *)(row + ends[2] - 16)), 1);
    made = _mm512_inserti32x4(made, _mm_loadu_si128((const __m128i *)(row + ends[4] - 16)), 2);
    return _mm512_inserti32x4(made, _mm_loadu_si128((const __m128i *)(row + ends[6] - 16)), 3);
}

// A 16-bit mask for each cell, of the masks of both fours.
AVX512 __m128i masks(__mmask64 even, __mmask64 odd) {
    return _mm_unpacklo_epi16(_mm_cvtsi64_si128((int64_t)even), _mm_cvtsi64_si128((int64_t)odd));
}

// The digits of a four, without a point between them.
AVX512 __m512i joined(__m512i digits, __mmask64 digit, __m512i from_end, __m512i places) {
    digits = _mm512_maskz_mov_epi8(digit, digits);
    return _mm512_mask_mov_epi8(digits, _mm512_cmpge_epu8_mask(from_end, places), _mm512_bslli_epi128(digits, 1));
}

// The cells that end at ends[1..8] of a row and begin behind ends[0..7].
AVX512 eight cells_at(const uint8_t *row, const int32_t *ends, uint8_t mark) {
    const __m512i from_end = _mm512_broadcast_i32x4(_mm_setr_epi8(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0));
    const __m512i of_even = _mm512_maskz_mov_epi8(~0ull, _mm512_setr_epi64(0, 0, 0x0808080808080808, 0x0808080808080808,
        0x1010101010101010, 0x1010101010101010, 0x1818181818181818, 0x1818181818181818));
    const __m512i of_odd = _mm512_add_epi8(of_even, _mm512_set1_epi8(4));
    const __m512i zero = _mm512_set1_epi8('0'), nine = _mm512_set1_epi8(9), minus = _mm512_set1_epi8('-');
    const __m512i point = _mm512_set1_epi8((char)mark);

    __m256i lengths = _mm256_sub_epi32(_mm256_loadu_si256((const __m256i *)(ends + 1)), _mm256_loadu_si256((const __m256i *)ends));
    lengths = _mm256_sub_epi32(lengths, _mm256_set1_epi32(1));
    __m512i even = four(row, ends + 1), odd = four(row, ends + 2), wide = _mm512_castsi256_si512(lengths);
    __mmask64 in_even = _mm512_cmplt_epu8_mask(from_end, _mm512_permutexvar_epi8(of_even, wide));
    __mmask64 in_odd = _mm512_cmplt_epu8_mask(from_end, _mm512_permutexvar_epi8(of_odd, wide));
    __m512i even_digits = _mm512_sub_epi8(even, zero), odd_digits = _mm512_sub_epi8(odd, zero);
    __mmask64 digit_even = _mm512_mask_cmple_epu8_mask(in_even, even_digits, nine);
    __mmask64 digit_odd = _mm512_mask_cmple_epu8_mask(in_odd, odd_digits, nine);

    __m128i in = masks(in_even, in_odd), digit = masks(digit_even, digit_odd);
    __m128i sign = masks(_mm512_mask_cmpeq_epi8_mask(in_even, even, minus), _mm512_mask_cmpeq_epi8_mask(in_odd, odd, minus));
    __m128i points = masks(_mm512_mask_cmpeq_epi8_mask(in_even, even, point), _mm512_mask_cmpeq_epi8_mask(in_odd, odd, point));
    __m128i none = _mm_setzero_si128(), first = _mm_and_si128(in, _mm_sub_epi16(none, in));
    __m128i others = _mm_xor_si128(in, _mm_or_si128(digit, _mm_or_si128(sign, points)));
    __m128i second = _mm_and_si128(points, _mm_add_epi16(points, _mm_set1_epi16(-1)));
    __m128i bad = _mm_or_si128(_mm_or_si128(others, second), _mm_andnot_si128(first, sign));
    eight made;
    made.good = _mm_cmpeq_epi16_mask(bad, none) & _mm_test_epi16_mask(digit, digit) &
                _mm256_cmple_epu32_mask(lengths, _mm256_set1_epi32(16));
    made.real = _mm_test_epi16_mask(points, points);
    __mmask8 negative = _mm_test_epi16_mask(sign, sign);

    // Without a point, 16, which is behind all of them.
    __m256i places = _mm256_sub_epi32(_mm256_lzcnt_epi32(_mm256_cvtepu16_epi32(points)), _mm256_set1_epi32(16));
    wide = _mm512_castsi256_si512(places);
    even = joined(even_digits, digit_even, from_end, _mm512_permutexvar_epi8(of_even, wide));
    odd = joined(odd_digits, digit_odd, from_end, _mm512_permutexvar_epi8(of_odd, wide));
    const __m512i one = _mm512_set1_epi16(0x010A), two = _mm512_set1_epi32(0x00010064), half = _mm512_set1_epi32(0x00012710);
    even = _mm512_madd_epi16(_mm512_maddubs_epi16(even, one), two);
    odd = _mm512_madd_epi16(_mm512_maddubs_epi16(odd, one), two);
    __m512i halves = _mm512_madd_epi16(_mm512_packus_epi32(even, odd), half); // of 8 digits, the higher one first
    __m512i digits = _mm512_add_epi64(_mm512_mul_epu32(halves, _mm512_set1_epi64(100000000)), _mm512_srli_epi64(halves, 32));

    made.good &= _mm512_cmple_epu64_mask(digits, _mm512_set1_epi64(1ll << 53));
    made.good &= (__mmask8)~(negative & ~made.real & _mm512_testn_epi64_mask(digits, digits)); // "-0" depends on its column
    __m512d power = _mm512_permutex2var_pd(_mm512_loadu_pd(tens), _mm512_cvtepu32_epi64(places), _mm512_loadu_pd(tens + 8));
    made.value = _mm512_div_pd(_mm512_cvtepu64_pd(digits), power);
    made.value = _mm512_mask_xor_pd(made.value, negative, made.value, _mm512_set1_pd(-0.0));
    made.whole = _mm512_mask_sub_epi64(digits, negative, _mm512_setzero_si512(), digits);
    return made;
}

// Stores those of `some` that fit, at consecutive places; returns which they are.
AVX512 __mmask8 store_some(uint8_t *at, csvrow_type type, const eight *n, __mmask8 some) {
    __m128i narrow;
    __m256i single;
    if (type != CSVROW_FLOAT32 && type != CSVROW_FLOAT64) some &= (__mmask8)~n->real;
    switch (type) {
    case CSVROW_UINT8:
        narrow = _mm512_cvtepi64_epi8(n->whole);
        some &= _mm512_cmpeq_epi64_mask(_mm512_cvtepu8_epi64(narrow), n->whole);
        _mm_mask_storeu_epi8(at, some, narrow);
        break;
    case CSVROW_INT16:
        narrow = _mm512_cvtepi64_epi16(n->whole);
        some &= _mm512_cmpeq_epi64_mask(_mm512_cvtepi16_epi64(narrow), n->whole);
        _mm_mask_storeu_epi16(at, some, narrow);
        break;
    case CSVROW_INT32:
        single = _mm512_cvtepi64_epi32(n->whole);
        some &= _mm512_cmpeq_epi64_mask(_mm512_cvtepi32_epi64(single), n->whole);
        _mm256_mask_storeu_epi32(at, some, single);
        break;
    case CSVROW_INT64:
        _mm512_mask_storeu_epi64(at, some, n->whole);
        break;
    case CSVROW_FLOAT32:
        single = _mm256_castps_si256(_mm512_cvtpd_ps(n->value));
        some &= _mm512_cmp_pd_mask(_mm512_cvtps_pd(_mm256_castsi256_ps(single)), n->value, _CMP_EQ_OQ);
        _mm256_mask_storeu_epi32(at, some, single);
        break;
    case CSVROW_FLOAT64:
        _mm512_mask_storeu_pd(at, some, n->value);
        break;
    }
    return some;
}

static const int64_t sizes[] = {1, 2, 4, 8, 4, 8}; // of each type

// Stores the first 8 or `count` cells, which are of the columns from `column` on; 0: one of them is refused.
AVX512 int group_at(const csvrow_table *t, const uint8_t *row, const int32_t *ends, int count, int column,
                    csvrow_type type, uint8_t *features, uint8_t *labels) {
    const __mmask8 all = count < 8 ? (__mmask8)((1u << count) - 1) : 255;
    const int32_t first = t->to[column];
    eight n = cells_at(row, ends, (uint8_t)t->point);
    __mmask8 left = all;
    const __m256i to = _mm256_maskz_loadu_epi32(all, t->to + column);
    const __mmask8 wanted = _mm256_mask_cmpneq_epi32_mask(all, to, _mm256_set1_epi32(CSVROW_SKIP));
    if (__builtin_popcount(wanted & ~n.good) > MOST_PLAIN) return 0;
    if (first >= 0) {
        __m256i next = _mm256_add_epi32(_mm256_set1_epi32(first), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
        left &= (__mmask8)~store_some(features + first * sizes[type], type, &n, n.good & _mm256_mask_cmpeq_epi32_mask(all, to, next));
    }
    if (!left) return 1;
    int64_t whole[8];
    double value[8];
    _mm512_storeu_si512(whole, n.whole);
    _mm512_storeu_pd(value, n.value);
    for (; left; left &= (__mmask8)(left - 1)) {
        const int i = __builtin_ctz(left);
        const uint8_t *cell = row + ends[i] + 1;
        number one = {whole[i], value[i], n.real >> i & 1};
        if (!(wanted >> i & 1)) {
            if (*cell == '"') return 0;
            continue;
        }
        if (!(n.good >> i & 1) && !number_at(cell, (uint8_t)t->delim, (uint8_t)t->point, &one)) return 0;
        if (!put(t, t->to[column + i], type, &one, features, labels)) return 0;
    }
    return 1;
}

// Where the cells of some text end, and which of these ends are lines'.
typedef struct {
    int cells, lines;
    int32_t ends[TEXT + 2 * BLOCK]; // of the cell before the first one, then of each
    int32_t last[TEXT + 1];         // cells of lines
} layout;

AVX512 void find(layout *l, const uint8_t *text, int length, uint8_t delim) {
    const __m512i iota = _mm512_set_epi8(
        63, 62, 61, 60, 59, 58, 57, 56, 55, 54, 53, 52, 51, 50, 49, 48, 47, 46, 45, 44, 43, 42, 41, 40, 39, 38, 37, 36, 35, 34, 33, 32,
        31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    uint64_t before = 0; // the last byte before is '\r'
    l->cells = l->lines = 0;
    l->ends[0] = -1;
    for (int at = 0; at < length; at += BLOCK) {
        const __m512i bytes = _mm512_loadu_si512(text + at);
        const uint64_t inside = length - at < BLOCK ? (1ull << (length - at)) - 1 : ~0ull;
        const uint64_t returned = _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8('\r'));
        uint64_t lines = _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8('\n')) & ~(returned << 1 | before);
        lines = (lines | returned) & inside;
        before = returned >> 63;
        const uint64_t all = (_mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8((char)delim)) & inside) | lines;
        const __m512i places = _mm512_maskz_compress_epi8(all, iota), from = _mm512_set1_epi32(at);
        const int more = __builtin_popcountll(all);
        int32_t *ends = l->ends + 1 + l->cells;
        _mm512_storeu_si512(ends, _mm512_add_epi32(_mm512_cvtepu8_epi32(_mm512_castsi512_si128(places)), from));
        if (more > 16) {
            _mm512_storeu_si512(ends + 16, _mm512_add_epi32(_mm512_cvtepu8_epi32(_mm512_extracti32x4_epi32(places, 1)), from));
            _mm512_storeu_si512(ends + 32, _mm512_add_epi32(_mm512_cvtepu8_epi32(_mm512_extracti32x4_epi32(places, 2)), from));
            _mm512_storeu_si512(ends + 48, _mm512_add_epi32(_mm512_cvtepu8_epi32(_mm512_extracti32x4_epi32(places, 3)), from));
        }
        do { // once, mostly: whether a block has a line's end is not to be predicted
            l->last[l->lines] = l->cells + __builtin_popcountll(all & (lines - 1) & ~lines);
            l->lines += lines != 0;
            lines &= lines - 1;
        } while (lines);
        l->cells += more;
    }
    for (int i = 1; i <= 8; i++) l->ends[l->cells + i] = l->ends[l->cells];
}

AVX512 int64_t rows_at(const csvrow_table *t, const uint8_t **at, const uint8_t *end, int64_t most, csvrow_type type,
                       uint8_t *features, int64_t width, uint8_t *labels) {
    layout l;
    int64_t rows = 0;
    for (int length = LEAST; rows < most && *at < end; length = length < TEXT ? 2 * length : TEXT) {
        const uint8_t *text = *at;
        const int some = end - text < length ? (int)(end - text) : length;
        find(&l, text, some, (uint8_t)t->delim);
        if (l.lines == 0 && some == TEXT) break; // a long row is the plain form's
        for (int line = 0, first = 0; line < l.lines && rows < most; line++, rows++) {
            const int cells = l.last[line] + 1 - first;
            int32_t *stops = l.ends + first, *stop = stops + cells;
            if (cells != t->columns) return rows;
            const uint8_t *next = text + *stop;
            if (*next == '\r') next++;
            if (next >= end || *next != '\n' || next + 1 - *at > t->most) return rows;
            for (int column = 0; column < cells; column += 8)
                if (!group_at(t, text, stops + column, cells - column, column, type, features, labels)) return rows;
            *stop = (int32_t)(next - text); // the next line begins behind it
            *at = next + 1, first += cells;
            features += width, labels += 8 * (int64_t)t->labels;
        }
    }
    return rows;
}

#define ROWS_OF(TYPE) \
    case TYPE: return rows_at(t, at, end, most, TYPE, features, width, labels)

__attribute__((target(WITH))) int64_t numbers512(const csvrow_table *t, const uint8_t **at, const uint8_t *end, int64_t most,
                                                 uint8_t *features, int64_t width, uint8_t *labels) {
    switch ((csvrow_type)t->type) {
        ROWS_OF(CSVROW_UINT8);
        ROWS_OF(CSVROW_INT16);
        ROWS_OF(CSVROW_INT32);
        ROWS_OF(CSVROW_INT64);
        ROWS_OF(CSVROW_FLOAT32);
        ROWS_OF(CSVROW_FLOAT64);
    }
    return 0;
}

#else

int64_t numbers512(const csvrow_table *t, const uint8_t **at, const uint8_t *end, int64_t most, uint8_t *features,
                   int64_t width, uint8_t *labels) {
    (void)t, (void)at, (void)end, (void)most, (void)features, (void)width, (void)labels;
    return 0;
}

#endif
