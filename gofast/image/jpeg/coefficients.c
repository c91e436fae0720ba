#include "coefficients.h"

#include <string.h>
#ifdef __x86_64__
#include <immintrin.h>
#endif

enum { ESCAPE = -128, OTHER = 8, LEAST = -7, GREATEST = 7 };
enum { PLAIN = 0, PAIRS = 1 }; // forms: a value at a time; two rows, with BMI2 and SSE; COEFFICIENTS_WIDE: all, with AVX-512

int coefficients_most = COEFFICIENTS_WIDE;

static inline uint64_t load(const uint8_t *p) {
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

static const uint64_t ONES = 0x0101010101010101;

// The bits of a mask, spread to those of another one; and back.
static inline uint64_t deposit_plain(uint64_t bits, uint64_t mask) {
    uint64_t out = 0;
    for (; mask; mask &= mask - 1, bits >>= 1)
        if (bits & 1) out |= mask & -mask;
    return out;
}

static inline uint64_t extract_plain(uint64_t bits, uint64_t mask) {
    uint64_t out = 0;
    for (int i = 0; mask; mask &= mask - 1, i++)
        if (bits & mask & -mask) out |= 1ull << i;
    return out;
}

#ifdef __x86_64__
#define QUICK __attribute__((target("bmi2,popcnt,sse4.1")))
#define WIDE __attribute__((target("avx512f,avx512bw,avx512vl,avx512vbmi2,avx2,bmi,bmi2,popcnt")))
#define AS_BYTES_BMI2(bits) (_pdep_u64(bits, ONES) * 255)
QUICK static inline uint64_t deposit_bmi2(uint64_t bits, uint64_t mask) { return _pdep_u64(bits, mask); }
QUICK static inline uint64_t extract_bmi2(uint64_t bits, uint64_t mask) { return _pext_u64(bits, mask); }
#define DEPOSIT(bits, mask) (quick ? deposit_bmi2(bits, mask) : deposit_plain(bits, mask))
#define EXTRACT(bits, mask) (quick ? extract_bmi2(bits, mask) : extract_plain(bits, mask))
#else
#define DEPOSIT(bits, mask) deposit_plain(bits, mask)
#define EXTRACT(bits, mask) extract_plain(bits, mask)
#endif

// Eight bits as eight bytes of 0 or 255.
#define AS_BYTES(bits) (DEPOSIT(bits, ONES) * 255)

// Sixteen bits as sixteen halves of bytes.
#define AS_HALVES(bits) (DEPOSIT(bits, ONES | ONES << 4) * 15)

// Sixteen halves of bytes as values of -8..7; returns which of these are OTHER.
static inline uint32_t store_plain(int16_t *two, uint64_t halves) {
    uint32_t others = 0;
    for (int i = 0; i < 16; i++, halves >>= 4) {
        two[i] = (int16_t)(((halves & 15) ^ 8) - 8);
        others |= (uint32_t)((halves & 15) == OTHER) << i;
    }
    return others;
}

#ifdef __x86_64__
QUICK static inline uint32_t store_sse(int16_t *two, uint64_t halves) {
    __m128i eight = _mm_set1_epi8(OTHER), low = _mm_set1_epi8(15), v = _mm_cvtsi64_si128((int64_t)halves);
    v = _mm_and_si128(_mm_unpacklo_epi8(v, _mm_srli_epi64(v, 4)), low);
    __m128i values = _mm_sub_epi8(_mm_xor_si128(v, eight), eight);
    _mm_storeu_si128((__m128i *)two, _mm_cvtepi8_epi16(values));
    _mm_storeu_si128((__m128i *)(two + 8), _mm_cvtepi8_epi16(_mm_srli_si128(values, 8)));
    return (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(v, eight));
}
#endif

// A value that takes one byte, or an escape and two.
static inline const uint8_t *get(const uint8_t *at, int16_t *value) {
    *value = (int8_t)*at++;
    if (__builtin_expect(*value != ESCAPE, 1)) return at;
    memcpy(value, at, sizeof *value);
    return at + sizeof *value;
}

static inline uint8_t *put(uint8_t *at, int32_t value, int16_t whole) {
    int near = value > ESCAPE && value <= INT8_MAX;
    *at++ = (uint8_t)(near ? value : ESCAPE);
    if (near) return at;
    memcpy(at, &whole, sizeof whole);
    return at + sizeof whole;
}

// All rows alike, two at a time, and all other values behind them: a branch for each would cost more than the work.
static inline __attribute__((always_inline)) const uint8_t *read_block(const uint8_t *p, int16_t *out, int32_t *last_dc, int quick) {
    int16_t dc;
    const uint8_t *at_dc = p;
    p = get(p, &dc);
    if (*at_dc != (uint8_t)ESCAPE) dc = (int16_t)(*last_dc + dc);
    *last_dc = dc;
    uint32_t rows = *p++;
    uint64_t columns = DEPOSIT(load(p), AS_BYTES(rows)), others = 0;
    const uint8_t *values = p + __builtin_popcount(rows), *other = values + (__builtin_popcountll(columns) + 1) / 2;
    for (uint32_t r = 0, at = 0; r < 64; r += 16, columns >>= 16) {
        uint32_t odd = at & 1;
        uint64_t halves = load(values + at / 2) >> 4 * odd | (uint64_t)(values[at / 2 + 8] & -odd) << 60;
        at += (uint32_t)__builtin_popcountll(columns & 0xffff);
        halves = DEPOSIT(halves, AS_HALVES(columns & 0xffff));
#ifdef __x86_64__
        if (quick) others |= (uint64_t)store_sse(out + r, halves) << r;
        else
#endif
            others |= (uint64_t)store_plain(out + r, halves) << r;
    }
    for (; others; others &= others - 1) other = get(other, &out[__builtin_ctzll(others)]);
    out[0] = dc;
    return other;
}

#ifdef __x86_64__
// All values at once. Returns NULL where one of them is an escape.
WIDE static inline const uint8_t *read_block_wide(const uint8_t *p, int16_t *out, int32_t *last_dc) {
    int16_t dc;
    const uint8_t *at_dc = p;
    p = get(p, &dc);
    if (*at_dc != (uint8_t)ESCAPE) dc = (int16_t)(*last_dc + dc);
    uint32_t rows = *p++;
    uint64_t columns = _pdep_u64(load(p), AS_BYTES_BMI2(rows));
    const uint8_t *values = p + __builtin_popcount(rows), *other = values + (__builtin_popcountll(columns) + 1) / 2;
    const __m512i eight = _mm512_set1_epi8(OTHER);
    __m512i v = _mm512_cvtepu8_epi16(_mm256_loadu_si256((const __m256i *)values));
    v = _mm512_and_si512(_mm512_or_si512(v, _mm512_slli_epi16(v, 4)), _mm512_set1_epi8(15));
    v = _mm512_maskz_expand_epi8(columns, v);
    const uint64_t others = _mm512_cmpeq_epi8_mask(v, eight);
    v = _mm512_mask_expand_epi8(_mm512_sub_epi8(_mm512_xor_si512(v, eight), eight), others, _mm512_loadu_si512(other));
    if (_mm512_mask_cmpeq_epi8_mask(others, v, _mm512_set1_epi8(ESCAPE))) return NULL;
    _mm512_storeu_si512(out, _mm512_cvtepi8_epi16(_mm512_castsi512_si256(v)));
    _mm512_storeu_si512(out + 32, _mm512_cvtepi8_epi16(_mm512_extracti64x4_epi64(v, 1)));
    *last_dc = out[0] = dc;
    return other + __builtin_popcountll(others);
}
#endif

static inline __attribute__((always_inline)) int read_mcu(coefficients *c, coefficients_block *const *blocks, int form) {
    const uint8_t *p = c->next;
    for (int i = 0; i < c->order.count; i++) {
        if (p >= c->end) return 0;
        int32_t *last_dc = &c->last_dc[c->order.component[i]];
#ifdef __x86_64__
        const uint8_t *next = form == COEFFICIENTS_WIDE ? read_block_wide(p, *blocks[i], last_dc) : NULL;
        if (next) {
            p = next;
            continue;
        }
#endif
        p = read_block(p, *blocks[i], last_dc, form != PLAIN);
    }
    c->next = p;
    return p <= c->end;
}

static int read_plain(coefficients *c, coefficients_block *const *blocks) { return read_mcu(c, blocks, PLAIN); }

#ifdef __x86_64__
QUICK static int read_quick(coefficients *c, coefficients_block *const *blocks) { return read_mcu(c, blocks, PAIRS); }

WIDE static int read_wide(coefficients *c, coefficients_block *const *blocks) { return read_mcu(c, blocks, COEFFICIENTS_WIDE); }

static int best;

__attribute__((constructor)) static void find_best(void) {
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("bmi2") || !__builtin_cpu_supports("sse4.1") || !__builtin_cpu_supports("popcnt")) return;
    int wide = __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vbmi2");
    best = wide ? COEFFICIENTS_WIDE : PAIRS;
}

static int form(void) { return best < coefficients_most ? best : coefficients_most; }
#endif

static int next_mcu(coefficients *c, coefficients_block *const *blocks) {
    if (c->mcu++ % COEFFICIENTS_EVERY == 0) memset(c->last_dc, 0, sizeof c->last_dc);
#ifdef __x86_64__
    if (form() == COEFFICIENTS_WIDE) return read_wide(c, blocks);
    if (form() == PAIRS) return read_quick(c, blocks);
#endif
    return read_plain(c, blocks);
}

int coefficients_read(coefficients *c, uint32_t mcu, coefficients_block *const *blocks) {
    if (mcu >= c->count) return 0;
    if (mcu / COEFFICIENTS_EVERY != c->mcu / COEFFICIENTS_EVERY || mcu < c->mcu) {
        uint32_t anchor = mcu / COEFFICIENTS_EVERY, offset;
        memcpy(&offset, c->anchors + anchor * sizeof offset, sizeof offset);
        if (offset >= (size_t)(c->end - c->data)) return 0;
        c->next = c->data + offset;
        c->mcu = anchor * COEFFICIENTS_EVERY;
    }
    coefficients_block unwanted[10], *const nowhere[10] = {&unwanted[0], &unwanted[1], &unwanted[2], &unwanted[3], &unwanted[4],
                                                           &unwanted[5], &unwanted[6], &unwanted[7], &unwanted[8], &unwanted[9]};
    while (c->mcu < mcu)
        if (!next_mcu(c, nowhere)) return 0;
    return next_mcu(c, blocks);
}

// Two rows as sixteen halves of bytes, which of these are not zero, and which are other values.
typedef struct {
    uint64_t halves;
    uint32_t there, others;
} pair;

static inline pair pair_plain(const int16_t *at, int16_t first) {
    pair p = {0};
    for (int i = 0; i < 16; i++) {
        int value = i ? at[i] : first, other = value < LEAST || value > GREATEST;
        p.there |= (uint32_t)(value != 0) << i;
        p.others |= (uint32_t)other << i;
        p.halves |= (uint64_t)(other ? OTHER : value & 15) << 4 * i;
    }
    return p;
}

#ifdef __x86_64__
QUICK static inline pair pair_sse(const int16_t *at, int16_t first) {
    __m128i low = _mm_insert_epi16(_mm_loadu_si128((const __m128i *)at), first, 0), high = _mm_loadu_si128((const __m128i *)(at + 8));
    __m128i zero = _mm_setzero_si128(), v = _mm_packs_epi16(low, high);
    __m128i others = _mm_or_si128(_mm_cmpgt_epi8(v, _mm_set1_epi8(GREATEST)), _mm_cmpgt_epi8(_mm_set1_epi8(LEAST), v));
    __m128i bytes = _mm_blendv_epi8(_mm_and_si128(v, _mm_set1_epi8(15)), _mm_set1_epi8(OTHER), others);
    __m128i halves = _mm_packus_epi16(_mm_maddubs_epi16(bytes, _mm_set1_epi16(0x1001)), zero);
    uint32_t none = (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(v, zero));
    return (pair){(uint64_t)_mm_cvtsi128_si64(halves), ~none & 0xffff, (uint32_t)_mm_movemask_epi8(others)};
}
#endif

static inline __attribute__((always_inline)) uint8_t *write_block(uint8_t *at, const int16_t *block, int32_t *last_dc, int quick) {
    at = put(at, block[0] - *last_dc, block[0]);
    *last_dc = block[0];
    pair pairs[4];
    uint64_t columns = 0, others = 0;
    uint32_t rows = 0;
    for (uint32_t i = 0; i < 4; i++) {
        const int16_t *two = block + 16 * i, first = i ? *two : 0; // the DC counts as zero
#ifdef __x86_64__
        if (quick) pairs[i] = pair_sse(two, first);
        else
#endif
            pairs[i] = pair_plain(two, first);
        columns |= (uint64_t)pairs[i].there << 16 * i;
        others |= (uint64_t)pairs[i].others << 16 * i;
        rows |= (uint32_t)((pairs[i].there & 255) != 0) << 2 * i | (uint32_t)(pairs[i].there > 255) << (2 * i + 1);
    }
    *at++ = (uint8_t)rows;
    columns = EXTRACT(columns, AS_BYTES(rows));
    memcpy(at, &columns, sizeof columns);
    at += __builtin_popcount(rows);
    uint32_t half = 0; // whether the byte at `at` has its lower half already
    for (uint32_t i = 0; i < 4; i++) {
        uint64_t bits = EXTRACT(pairs[i].halves, AS_HALVES(pairs[i].there)), shifted = bits << 4 * half | (*at & -half);
        memcpy(at, &shifted, sizeof shifted);
        at[8] = (uint8_t)(bits >> 60);
        half += (uint32_t)__builtin_popcount(pairs[i].there);
        at += half / 2;
        half %= 2;
    }
    at += half;
    for (; others; others &= others - 1) {
        int16_t value = block[__builtin_ctzll(others)];
        at = put(at, value, value);
    }
    return at;
}

#ifdef __x86_64__
QUICK static uint8_t *write_quick(uint8_t *at, const int16_t *block, int32_t *last_dc) { return write_block(at, block, last_dc, 1); }

// All values at once, unless one of them is an escape.
WIDE static uint8_t *write_wide(uint8_t *at, const int16_t *block, int32_t *last_dc) {
    const __m512i low = _mm512_maskz_loadu_epi16(~1u, block), high = _mm512_loadu_si512(block + 32), most = _mm512_set1_epi16(INT8_MAX);
    if (_mm512_cmpgt_epu16_mask(_mm512_abs_epi16(low), most) | _mm512_cmpgt_epu16_mask(_mm512_abs_epi16(high), most))
        return write_quick(at, block, last_dc);
    at = put(at, block[0] - *last_dc, block[0]);
    *last_dc = block[0];
    __m512i v = _mm512_inserti64x4(_mm512_castsi256_si512(_mm512_cvtepi16_epi8(low)), _mm512_cvtepi16_epi8(high), 1);
    const uint64_t columns = _mm512_test_epi8_mask(v, v);
    const __m128i bytes = _mm_cvtsi64_si128((int64_t)columns);
    const uint32_t rows = _mm_test_epi8_mask(bytes, bytes);
    *at++ = (uint8_t)rows;
    const uint64_t packed = _pext_u64(columns, AS_BYTES_BMI2(rows));
    memcpy(at, &packed, sizeof packed);
    at += __builtin_popcount(rows);
    v = _mm512_maskz_compress_epi8(columns, v);
    const uint64_t others = _mm512_cmpgt_epi8_mask(_mm512_abs_epi8(v), _mm512_set1_epi8(GREATEST));
    __m512i halves = _mm512_and_si512(_mm512_mask_mov_epi8(v, others, _mm512_set1_epi8(OTHER)), _mm512_set1_epi8(15));
    halves = _mm512_maddubs_epi16(halves, _mm512_set1_epi16(0x1001));
    _mm256_storeu_si256((__m256i *)at, _mm512_cvtepi16_epi8(halves));
    at += (__builtin_popcountll(columns) + 1) / 2;
    _mm512_storeu_si512(at, _mm512_maskz_compress_epi8(others, v));
    return at + __builtin_popcountll(others);
}
#endif

uint8_t *coefficients_write(uint8_t *at, const int16_t *block, int32_t *last_dc) {
#ifdef __x86_64__
    if (form() == COEFFICIENTS_WIDE) return write_wide(at, block, last_dc);
    if (form() == PAIRS) return write_quick(at, block, last_dc);
#endif
    return write_block(at, block, last_dc, 0);
}

coefficients_mcu coefficients_mcu_of(const lj_decompress *d) {
    coefficients_mcu m = {.count = d->blocks_in_mcu};
    for (int i = 0; i < m.count; i++) m.component[i] = (uint8_t)d->membership[i];
    return m;
}
