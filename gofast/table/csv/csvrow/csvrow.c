// Rows of unsigned integers 0..255 from text, and the count of lines.
//
// A row is taken only when every cell has one to three digits, no cell exceeds
// 255 and their number is right; the position of the first row that is not is
// returned, and the caller parses it in general. A row ends at its first byte
// that is neither a digit nor the delimiter: '\n', or '\r' with '\n' behind it.
//
// The vector forms compute, for every byte position at once, the value of a cell
// that would end just before it: digit[-1] + 10 digit[-2] + 100 digit[-3].
// What stands at the separators is then pressed together. Nothing depends on the
// length of the previous cell, which is what bounds every loop over cells.
#include "csvrow.h"

#include <string.h>

typedef int (*row_fn)(const uint8_t *p, const uint8_t *end, uint8_t delim, int64_t columns, uint8_t *out,
                      const uint8_t **next);

// Where a row ends, given the byte that is neither digit nor delimiter.
static inline int row_end(const uint8_t *p, const uint8_t *end, const uint8_t **next) {
    if (p >= end) return 0;
    if (*p == '\n') {
        *next = p + 1;
        return 1;
    }
    if (*p == '\r' && p + 1 < end && p[1] == '\n') {
        *next = p + 2;
        return 1;
    }
    return 0;
}

static int row_plain(const uint8_t *p, const uint8_t *end, uint8_t delim, int64_t columns, uint8_t *out,
                     const uint8_t **next) {
    for (int64_t n = 0;; p++) {
        unsigned value = 0, digit;
        int digits = 0;
        while ((digit = (unsigned)*p - '0') <= 9 && p < end) {
            value = value * 10 + digit;
            p++;
            if (++digits > 3) return 0;
        }
        if (digits == 0 || value > 255 || n == columns) return 0;
        out[n++] = (uint8_t)value;
        if (*p == delim && p < end) continue;
        return n == columns && row_end(p, end, next);
    }
}

static void scan_plain(const uint8_t *data, int64_t length, int delim, csvrow_counts *counts) {
    int64_t lines = 0;
    int32_t quotes = 0, odd = 0;
    uint8_t prev = 0;
    for (int64_t i = 0; i < length; i++) {
        uint8_t c = data[i];
        lines += c == '\n' && prev != '\n';
        quotes |= c == '"';
        odd |= prev == '\r' && c != '\n';
        odd |= prev == '\n' && c != delim && (c == ' ' || c == '\t' || c == '\r');
        prev = c;
    }
    counts->lines = lines;
    counts->quotes = quotes;
    counts->odd = odd | (prev == '\r');
}

#if defined(__x86_64__)
#include <immintrin.h>

#define AVX2 __attribute__((target("avx2,bmi,bmi2,lzcnt,popcnt")))
#define AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,avx512vbmi2,avx2,bmi,bmi2,lzcnt,popcnt")))

// Tables over one digit: 10 d, 100 d, and what lifts the sum of the lower two
// digits (0..99) over 127 exactly where the cell exceeds 255. Separators give 0:
// less '0', their low nibble is above 9 or their top bit is set. The byte before
// a row is always a separator, so nothing before the row is taken for a digit.
#define TENS 0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 0, 0, 0, 0, 0, 0
#define HUNDREDS 0, 100, -56, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0
#define EXCESS 0, 0, 72, -128, -128, -128, -128, -128, -128, -128, 0, 0, 0, 0, 0, 0

AVX512 static int row_avx512(const uint8_t *p, const uint8_t *end, uint8_t delim, int64_t columns, uint8_t *out,
                             const uint8_t **next) {
    const __m512i zero = _mm512_set1_epi8('0'), nine = _mm512_set1_epi8(9), sep = _mm512_set1_epi8((char)delim);
    const __m512i tens = _mm512_broadcast_i32x4(_mm_setr_epi8(TENS));
    const __m512i hundreds = _mm512_broadcast_i32x4(_mm_setr_epi8(HUNDREDS));
    const __m512i excess = _mm512_broadcast_i32x4(_mm_setr_epi8(EXCESS));
    uint64_t before = 0, bad = 0; // digits of the 64 bytes before; the row's first byte has none before it
    int64_t n = 0;
    for (; p < end && n <= columns; p += 64) {
        __m512i byte = _mm512_loadu_si512(p);
        __mmask64 digit = _mm512_cmple_epu8_mask(_mm512_sub_epi8(byte, zero), nine);
        __mmask64 delims = _mm512_cmpeq_epi8_mask(byte, sep);
        uint64_t digit1 = digit << 1 | before >> 63, digit2 = digit << 2 | before >> 62;
        uint64_t long_cell = digit & digit1 & digit2 & (digit << 3 | before >> 61);
        __m512i ones = _mm512_sub_epi8(_mm512_loadu_si512(p - 1), zero);
        __m512i ten = _mm512_shuffle_epi8(tens, _mm512_sub_epi8(_mm512_loadu_si512(p - 2), zero));
        __m512i third = _mm512_sub_epi8(_mm512_loadu_si512(p - 3), zero);
        __m512i low = _mm512_add_epi8(ones, _mm512_maskz_mov_epi8(digit2, ten));
        __m512i value = _mm512_add_epi8(low, _mm512_maskz_shuffle_epi8(digit2, hundreds, third));
        uint64_t large = _mm512_movepi8_mask(_mm512_add_epi8(low, _mm512_maskz_shuffle_epi8(digit2, excess, third)));
        uint64_t ends = delims, other = ~(digit | delims);
        if (other) {
            uint64_t last = other & -other;
            ends = (delims & (last - 1)) | last;
            bad |= (ends & (~digit1 | large)) | (long_cell & (last - 1));
            _mm512_storeu_si512(out + n, _mm512_maskz_compress_epi8(ends, value));
            n += __builtin_popcountll(ends);
            return bad == 0 && n == columns && row_end(p + __builtin_ctzll(other), end, next);
        }
        bad |= (ends & (~digit1 | large)) | long_cell;
        _mm512_storeu_si512(out + n, _mm512_maskz_compress_epi8(ends, value));
        n += __builtin_popcountll(ends);
        before = digit;
    }
    return 0;
}

AVX2 static inline uint32_t press(uint8_t *out, __m256i value, uint32_t ends) {
    uint64_t lanes[4];
    _mm256_storeu_si256((__m256i *)lanes, value);
    uint32_t n = 0;
    for (int i = 0; i < 4; i++) {
        uint32_t part = ends >> 8 * i & 255;
        uint64_t keep = _pdep_u64(part, 0x0101010101010101u) * 255;
        uint64_t packed = _pext_u64(lanes[i], keep);
        memcpy(out + n, &packed, 8);
        n += (uint32_t)__builtin_popcount(part);
    }
    return n;
}

AVX2 static int row_avx2(const uint8_t *p, const uint8_t *end, uint8_t delim, int64_t columns, uint8_t *out,
                         const uint8_t **next) {
    const __m256i zero = _mm256_set1_epi8('0'), nine = _mm256_set1_epi8(9), sep = _mm256_set1_epi8((char)delim);
    const __m256i tens = _mm256_broadcastsi128_si256(_mm_setr_epi8(TENS));
    const __m256i hundreds = _mm256_broadcastsi128_si256(_mm_setr_epi8(HUNDREDS));
    const __m256i excess = _mm256_broadcastsi128_si256(_mm_setr_epi8(EXCESS));
    uint32_t before = 0, bad = 0;
    int64_t n = 0;
    for (; p < end && n <= columns; p += 32) {
        __m256i byte = _mm256_loadu_si256((const __m256i *)p);
        __m256i d0 = _mm256_sub_epi8(byte, zero);
        uint32_t digit = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_min_epu8(d0, nine), d0));
        uint32_t delims = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(byte, sep));
        uint32_t digit1 = digit << 1 | before >> 31, digit2 = digit << 2 | before >> 30;
        uint32_t long_cell = digit & digit1 & digit2 & (digit << 3 | before >> 29);
        __m256i ones = _mm256_sub_epi8(_mm256_loadu_si256((const __m256i *)(p - 1)), zero);
        __m256i second = _mm256_sub_epi8(_mm256_loadu_si256((const __m256i *)(p - 2)), zero);
        __m256i third = _mm256_sub_epi8(_mm256_loadu_si256((const __m256i *)(p - 3)), zero);
        __m256i two = _mm256_cmpeq_epi8(_mm256_min_epu8(second, nine), second);
        __m256i low = _mm256_add_epi8(ones, _mm256_and_si256(two, _mm256_shuffle_epi8(tens, second)));
        __m256i value = _mm256_add_epi8(low, _mm256_and_si256(two, _mm256_shuffle_epi8(hundreds, third)));
        __m256i lifted = _mm256_add_epi8(low, _mm256_and_si256(two, _mm256_shuffle_epi8(excess, third)));
        uint32_t large = (uint32_t)_mm256_movemask_epi8(lifted);
        uint32_t ends = delims, other = ~(digit | delims);
        if (other) {
            uint32_t last = other & -other;
            ends = (delims & (last - 1)) | last;
            bad |= (ends & (~digit1 | large)) | (long_cell & (last - 1));
            n += press(out + n, value, ends);
            return bad == 0 && n == columns && row_end(p + __builtin_ctz(other), end, next);
        }
        bad |= (ends & (~digit1 | large)) | long_cell;
        n += press(out + n, value, ends);
        before = digit;
    }
    return 0;
}

// Sums over blocks of 64 bytes; the last two fields carry the last byte over.
typedef struct {
    int64_t lines;
    uint64_t quotes, odd, newline_before, return_before;
} scan_state;

AVX2 static inline void scan_masks(scan_state *s, uint64_t newline, uint64_t ret, uint64_t blank, uint64_t quote) {
    uint64_t after_newline = newline << 1 | s->newline_before;
    s->lines += __builtin_popcountll(newline & ~after_newline);
    s->quotes |= quote;
    s->odd |= ((ret << 1 | s->return_before) & ~newline) | (after_newline & (blank | ret));
    s->newline_before = newline >> 63;
    s->return_before = ret >> 63;
}

// The last, partial block and the result. `data` is what is left.
AVX2 static inline void scan_finish(scan_state *s, const uint8_t *data, int64_t left, int delim,
                                    csvrow_counts *counts) {
    uint64_t newline = 0, ret = 0, blank = 0, quote = 0;
    for (int64_t i = 0; i < left; i++) {
        uint8_t c = data[i];
        newline |= (uint64_t)(c == '\n') << i;
        ret |= (uint64_t)(c == '\r') << i;
        blank |= (uint64_t)((c == ' ' || c == '\t') && c != delim) << i;
        quote |= (uint64_t)(c == '"') << i;
    }
    uint64_t inside = left ? ~0ull >> (64 - left) : 0;
    int return_last = left ? (int)(ret >> (left - 1) & 1) : (int)s->return_before;
    uint64_t after_newline = newline << 1 | s->newline_before;
    s->lines += __builtin_popcountll(newline & ~after_newline);
    s->quotes |= quote;
    s->odd |= inside & (((ret << 1 | s->return_before) & ~newline) | (after_newline & (blank | ret)));
    counts->lines = s->lines;
    counts->quotes = s->quotes != 0;
    counts->odd = s->odd != 0 || return_last;
}

AVX512 static void scan_avx512(const uint8_t *data, int64_t length, int delim, csvrow_counts *counts) {
    const __m512i newline = _mm512_set1_epi8('\n'), ret = _mm512_set1_epi8('\r'), quote = _mm512_set1_epi8('"');
    const __m512i space = _mm512_set1_epi8(' '), tab = _mm512_set1_epi8(delim == '\t' ? ' ' : '\t');
    scan_state s = {0};
    int64_t i = 0;
    for (; i + 64 <= length; i += 64) {
        __m512i byte = _mm512_loadu_si512(data + i);
        scan_masks(&s, _mm512_cmpeq_epi8_mask(byte, newline), _mm512_cmpeq_epi8_mask(byte, ret),
                   _mm512_cmpeq_epi8_mask(byte, space) | _mm512_cmpeq_epi8_mask(byte, tab),
                   _mm512_cmpeq_epi8_mask(byte, quote));
    }
    scan_finish(&s, data + i, length - i, delim, counts);
}

AVX2 static inline uint64_t equal64(__m256i low, __m256i high, __m256i wanted) {
    uint32_t a = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(low, wanted));
    uint32_t b = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(high, wanted));
    return (uint64_t)b << 32 | a;
}

AVX2 static void scan_avx2(const uint8_t *data, int64_t length, int delim, csvrow_counts *counts) {
    const __m256i newline = _mm256_set1_epi8('\n'), ret = _mm256_set1_epi8('\r'), quote = _mm256_set1_epi8('"');
    const __m256i space = _mm256_set1_epi8(' '), tab = _mm256_set1_epi8(delim == '\t' ? ' ' : '\t');
    scan_state s = {0};
    int64_t i = 0;
    for (; i + 64 <= length; i += 64) {
        __m256i low = _mm256_loadu_si256((const __m256i *)(data + i));
        __m256i high = _mm256_loadu_si256((const __m256i *)(data + i + 32));
        scan_masks(&s, equal64(low, high, newline), equal64(low, high, ret),
                   equal64(low, high, space) | equal64(low, high, tab), equal64(low, high, quote));
    }
    scan_finish(&s, data + i, length - i, delim, counts);
}

int csvrow_best(void) {
    __builtin_cpu_init();
    int bmi = __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt");
    if (!bmi || !__builtin_cpu_supports("avx2")) return CSVROW_PLAIN;
    if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512vbmi") &&
        __builtin_cpu_supports("avx512vbmi2"))
        return CSVROW_AVX512;
    return CSVROW_AVX2;
}

static row_fn row_of(int variant) {
    return variant == CSVROW_AVX512 ? row_avx512 : variant == CSVROW_AVX2 ? row_avx2 : row_plain;
}

void csvrow_scan(int variant, const uint8_t *data, int64_t length, int delim, csvrow_counts *counts) {
    if (variant == CSVROW_AVX512)
        scan_avx512(data, length, delim, counts);
    else if (variant == CSVROW_AVX2)
        scan_avx2(data, length, delim, counts);
    else
        scan_plain(data, length, delim, counts);
}

#else

int csvrow_best(void) { return CSVROW_PLAIN; }

static row_fn row_of(int variant) {
    (void)variant;
    return row_plain;
}

void csvrow_scan(int variant, const uint8_t *data, int64_t length, int delim, csvrow_counts *counts) {
    (void)variant;
    scan_plain(data, length, delim, counts);
}

#endif

// Skips `lead` cells of any unquoted text, CSVROW_LEAD bytes in all; NULL when the
// row ends before or they are longer.
static const uint8_t *skip_lead(const uint8_t *p, const uint8_t *end, int lead, uint8_t delim) {
    const uint8_t *row = p;
    for (; lead > 0; lead--) {
        const uint8_t *start = p;
        while (p < end && *p != delim) {
            if (*p == '\n' || *p == '\r' || (*p == '"' && p == start)) return NULL;
            p++;
        }
        p++;
    }
    return p < end && p - row <= CSVROW_LEAD ? p : NULL;
}

void csvrow_parse(int variant, const uint8_t *data, int64_t from, int64_t to, int64_t most, int delim, int lead,
                  int columns, const csvrow_run *runs, int run_count, const csvrow_label *labels, int label_count,
                  uint8_t *scratch, uint8_t *features, int64_t width, uint8_t *label_out, csvrow_result *result) {
    const row_fn row = row_of(variant);
    const uint8_t *p = data + from, *end = data + to, *next = p;
    int64_t rows = 0;
    for (; rows < most && p < end; rows++, p = next) {
        const uint8_t *cells = lead ? skip_lead(p, end, lead, (uint8_t)delim) : p;
        if (!cells || !row(cells, end, (uint8_t)delim, columns, scratch, &next)) break;
        for (int r = 0; r < run_count; r++) {
            const csvrow_run run = runs[r];
            if (run.count == 1)
                features[run.to] = scratch[run.from];
            else
                memcpy(features + run.to, scratch + run.from, (size_t)run.count);
        }
        for (int l = 0; l < label_count; l++) {
            uint8_t value = scratch[labels[l].column];
            int64_t whole = value;
            double real = value;
            memcpy(label_out + 8 * l, labels[l].real ? (void *)&real : (void *)&whole, 8);
        }
        features += width;
        label_out += 8 * label_count;
    }
    result->rows = rows;
    result->next = p - data;
}
