#include "quick.h"

#include <string.h>

enum { LITERAL_BITS = 11, DISTANCE_BITS = 8, LENGTH_BITS = 7, LONGEST = 15 };

// The entry of a table. Bits 0-5: how many bits to drop (code and extra bits). Bits 8-12: how many bits the code has.
// Bits 16-30: a literal, the base of a length or distance, or the start of a second level. For a second level, bits 8-12
// have the bits of its size instead.
#define LITERAL 0x80000000u // in the literal table
#define SPECIAL 0x40u       // one of the next two, or no code
#define END 0x80u           // of the block
#define SECOND 0x2000u      // level

static inline uint32_t drop(uint32_t entry) { return entry & 63; }
static inline uint32_t code_bits(uint32_t entry) { return entry >> 8 & 31; }
static inline uint32_t payload(uint32_t entry) { return entry >> 16 & 0x7fff; }

static uint32_t reversed(uint32_t code, int bits) {
    uint32_t r = 0;
    for (; bits; bits--, code >>= 1) r = r << 1 | (code & 1);
    return r;
}

// Makes the table of a canonical code. meaning holds each symbol's entry, without the bits of its code. few allows the
// incomplete codes that zlib allows: no code at all, or one code of one bit. Returns 0 if the lengths do not make a code.
static int make_table(uint32_t *table, int bits, const uint8_t *lengths, int symbols, const uint32_t *meaning, int few) {
    uint32_t count[LONGEST + 1] = {0}, next[LONGEST + 1];
    for (int i = 0; i < symbols; i++) count[lengths[i]]++;
    count[0] = 0;
    uint32_t code = 0, used = 0;
    int longest = 0;
    int64_t left = 1;
    for (int l = 1; l <= LONGEST; l++) {
        next[l] = code = (code + count[l - 1]) << 1;
        left = 2 * left - count[l];
        if (left < 0) return 0;
        if (count[l]) longest = l;
        used += count[l];
    }
    uint32_t size = 1u << bits;
    if (left) {
        if (!few || used > 1 || (used == 1 && longest != 1)) return 0;
        for (uint32_t i = 0; i < size; i++) table[i] = SPECIAL;
    }
    uint32_t second = size;
    if (longest > bits)
        for (uint32_t i = 0; i < size; i++) table[i] = SPECIAL;
    for (int i = 0; i < symbols; i++) {
        int l = lengths[i];
        if (!l) continue;
        uint32_t at = reversed(next[l]++, l), entry = meaning[i] + (uint32_t)l * 0x101u;
        if (l <= bits) {
            for (; at < size; at += 1u << l) table[at] = entry;
            continue;
        }
        uint32_t *prefix = &table[at & (size - 1)], more = (uint32_t)(longest - bits);
        if (*prefix == SPECIAL) {
            *prefix = second << 16 | more << 8 | SECOND | SPECIAL;
            second += 1u << more;
        }
        for (at >>= bits; at < 1u << more; at += 1u << (l - bits)) table[payload(*prefix) + at] = entry;
    }
    return 1;
}

static const uint16_t length_base[29] = {3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258};
static const uint8_t length_extra[29] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0};

static int make_literals(gf_quick *q, const uint8_t *lengths, int symbols) {
    uint32_t meaning[288];
    for (uint32_t i = 0; i < 256; i++) meaning[i] = LITERAL | i << 16;
    meaning[256] = SPECIAL | END;
    for (int i = 0; i < 29; i++) meaning[257 + i] = (uint32_t)length_base[i] << 16 | length_extra[i];
    meaning[286] = meaning[287] = SPECIAL;
    return lengths[256] && make_table(q->literal, LITERAL_BITS, lengths, symbols, meaning, 0);
}

static int make_distances(gf_quick *q, const uint8_t *lengths, int symbols) {
    uint32_t meaning[32];
    for (uint32_t i = 0; i < 30; i++) {
        uint32_t extra = i < 4 ? 0 : i / 2 - 1;
        meaning[i] = (i < 4 ? i + 1 : ((2 + (i & 1)) << extra) + 1) << 16 | extra;
    }
    meaning[30] = meaning[31] = SPECIAL;
    return make_table(q->distance, DISTANCE_BITS, lengths, symbols, meaning, 1);
}

// The input's next bits. After the input's end come zeros; a check at the end finds whether they were used.
typedef struct {
    uint64_t bits;
    uint32_t count;
    const uint8_t *next, *limit;
} reader;

// After it, there are at least 56 bits. Bits above count also belong to the stream, and the next call sets them again.
static inline void fill(reader *r) {
    uint64_t v;
    memcpy(&v, r->next, 8);
    r->bits |= v << r->count;
    r->next += (63 - r->count) >> 3;
    r->count |= 56;
}

static inline void consume(reader *r, uint32_t n) {
    r->bits >>= n;
    r->count -= n;
}

static inline uint32_t take(reader *r, uint32_t n) {
    uint32_t v = (uint32_t)(r->bits & ((1ull << n) - 1));
    consume(r, n);
    return v;
}

// Base and extra bits of a length or a distance.
static inline uint32_t value(reader *r, uint32_t entry) {
    uint64_t bits = r->bits & ((1ull << drop(entry)) - 1);
    consume(r, drop(entry));
    return payload(entry) + (uint32_t)(bits >> code_bits(entry));
}

static int dynamic_codes(gf_quick *q, reader *r) {
    static const uint8_t order[19] = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};
    fill(r);
    int literals = (int)take(r, 5) + 257, distances = (int)take(r, 5) + 1, codes = (int)take(r, 4) + 4;
    if (literals > 286 || distances > 30) return 0;
    uint8_t lengths[286 + 30 + 138] = {0};
    uint8_t short_lengths[19] = {0};
    for (int i = 0; i < codes; i++) {
        if (i % 16 == 0) fill(r);
        short_lengths[order[i]] = (uint8_t)take(r, 3);
    }
    uint32_t table[1 << LENGTH_BITS], meaning[19];
    for (uint32_t i = 0; i < 19; i++) meaning[i] = i << 16;
    if (!make_table(table, LENGTH_BITS, short_lengths, 19, meaning, 0)) return 0;
    for (int i = 0; i < literals + distances;) {
        if (r->next > r->limit) return 0;
        fill(r);
        uint32_t entry = table[r->bits & ((1 << LENGTH_BITS) - 1)], symbol = payload(entry);
        consume(r, drop(entry));
        if (symbol < 16) {
            lengths[i++] = (uint8_t)symbol;
            continue;
        }
        if (symbol == 16 && !i) return 0;
        uint8_t again = symbol == 16 ? lengths[i - 1] : 0;
        int times = symbol == 16 ? 3 + (int)take(r, 2) : symbol == 17 ? 3 + (int)take(r, 3) : 11 + (int)take(r, 7);
        memset(lengths + i, again, (size_t)times);
        i += times;
        if (i > literals + distances) return 0;
    }
    uint8_t of_distances[30];
    memcpy(of_distances, lengths + literals, sizeof of_distances);
    q->fixed = 0;
    return make_literals(q, lengths, literals) && make_distances(q, of_distances, distances);
}

// Makes the fixed tables only once: a stream may have many blocks of a few bits.
static int fixed_codes(gf_quick *q) {
    if (q->fixed) return 1;
    uint8_t lengths[288], of_distances[32];
    for (int i = 0; i < 288; i++) lengths[i] = i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8;
    memset(of_distances, 5, sizeof of_distances);
    return q->fixed = make_literals(q, lengths, 288) && make_distances(q, of_distances, 32);
}

// Copies in steps that may go up to 15 bytes beyond the end.
static inline void copy(uint8_t *to, uint32_t distance, uint32_t length) {
    const uint8_t *from = to - distance;
    uint8_t *end = to + length;
    if (distance >= 16) {
        do {
            memcpy(to, from, 16);
            to += 16, from += 16;
        } while (to < end);
    } else if (distance >= 8) {
        do {
            memcpy(to, from, 8);
            to += 8, from += 8;
        } while (to < end);
    } else if (distance == 1) {
        memset(to, *from, length);
    } else {
        do *to++ = *from++;
        while (to < end);
    }
}

// Decodes the symbols of a block. Returns the end of its output, or NULL.
static uint8_t *block(const gf_quick *q, reader *r, uint8_t *begin, uint8_t *out, uint8_t *end) {
    const uint32_t mask = (1u << LITERAL_BITS) - 1;
    for (;;) {
        // Up to three literals may be written beyond the end before this check.
        if (out > end || r->next > r->limit) return NULL;
        fill(r);
        uint32_t entry = q->literal[r->bits & mask];
        if (entry & LITERAL) {
            // Three codes of the first level have 33 bits at most.
            consume(r, drop(entry));
            *out++ = (uint8_t)(entry >> 16);
            entry = q->literal[r->bits & mask];
            if (entry & LITERAL) {
                consume(r, drop(entry));
                *out++ = (uint8_t)(entry >> 16);
                entry = q->literal[r->bits & mask];
                if (entry & LITERAL) {
                    consume(r, drop(entry));
                    *out++ = (uint8_t)(entry >> 16);
                    continue;
                }
            }
            fill(r); // a length with its distance has 48 bits at most
        }
        if (entry & SPECIAL) {
            if (entry & SECOND)
                entry = q->literal[payload(entry) + (r->bits >> LITERAL_BITS & ((1u << code_bits(entry)) - 1))];
            if (entry & LITERAL) {
                consume(r, drop(entry));
                *out++ = (uint8_t)(entry >> 16);
                continue;
            }
            if (entry & END) {
                consume(r, drop(entry));
                return out;
            }
            if (entry & SPECIAL) return NULL;
        }
        uint32_t length = value(r, entry);
        entry = q->distance[r->bits & ((1u << DISTANCE_BITS) - 1)];
        if (entry & SPECIAL) {
            if (!(entry & SECOND)) return NULL;
            entry = q->distance[payload(entry) + (r->bits >> DISTANCE_BITS & ((1u << code_bits(entry)) - 1))];
            if (entry & SPECIAL) return NULL;
        }
        uint32_t distance = value(r, entry);
        if (out > end || distance > (size_t)(out - begin) || length > (size_t)(end - out)) return NULL;
        copy(out, distance, length);
        out += length;
    }
}

// Gives back the whole bytes that were read ahead.
static void align(reader *r) {
    consume(r, r->count & 7);
    r->next -= r->count >> 3;
    r->bits = 0;
    r->count = 0;
}

static uint8_t *stored(reader *r, const uint8_t *in_end, uint8_t *out, uint8_t *end) {
    align(r);
    if (r->next > in_end || in_end - r->next < 4) return NULL;
    uint32_t length = r->next[0] | (uint32_t)r->next[1] << 8, check = r->next[2] | (uint32_t)r->next[3] << 8;
    r->next += 4;
    if ((length ^ check) != 0xffff || (size_t)(in_end - r->next) < length || out > end || (size_t)(end - out) < length) return NULL;
    memcpy(out, r->next, length);
    r->next += length;
    return out + length;
}

enum { ADLER = 65521, ADLER_STEP = 5552 }; // after more bytes than a step, the sums would pass 32 bits

static void adler_plain(uint32_t *a, uint32_t *b, const uint8_t *p, size_t n) {
    while (n) {
        size_t step = n < ADLER_STEP ? n : ADLER_STEP;
        n -= step;
        for (; step; step--) {
            *a += *p++;
            *b += *a;
        }
        *a %= ADLER;
        *b %= ADLER;
    }
}

#if defined(__x86_64__)

#include <immintrin.h>

// 32 bytes in a step: b grows by 32 times the old sum, and by each byte times the number of bytes from it to the end.
__attribute__((target("avx2"))) static size_t adler_avx2(uint32_t *a, uint32_t *b, const uint8_t *p, size_t n) {
    const __m256i weights = _mm256_setr_epi8(32, 31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6,
                                             5, 4, 3, 2, 1);
    const __m256i ones = _mm256_set1_epi16(1), zero = _mm256_setzero_si256();
    size_t done = 0;
    while (n - done >= 32) {
        size_t steps = (n - done) / 32;
        if (steps > ADLER_STEP / 32) steps = ADLER_STEP / 32;
        __m256i sums = zero, before = zero, weighted = zero;
        for (size_t i = 0; i < steps; i++, done += 32) {
            __m256i v = _mm256_loadu_si256((const __m256i *)(p + done));
            before = _mm256_add_epi32(before, sums);
            sums = _mm256_add_epi32(sums, _mm256_sad_epu8(v, zero));
            weighted = _mm256_add_epi32(weighted, _mm256_madd_epi16(_mm256_maddubs_epi16(v, weights), ones));
        }
        uint32_t s[8], e[8], w[8], sum = 0, earlier = 0, weigh = 0;
        _mm256_storeu_si256((__m256i *)s, sums);
        _mm256_storeu_si256((__m256i *)e, before);
        _mm256_storeu_si256((__m256i *)w, weighted);
        for (int i = 0; i < 8; i++) sum += s[i], earlier += e[i], weigh += w[i];
        *b = (uint32_t)((*b + (uint64_t)steps * 32 * *a + (uint64_t)earlier * 32 + weigh) % ADLER);
        *a = (*a + sum) % ADLER;
    }
    return done;
}

static int have_avx2(void) { return __builtin_cpu_supports("avx2"); }

#else

static size_t adler_avx2(uint32_t *a, uint32_t *b, const uint8_t *p, size_t n) {
    (void)a, (void)b, (void)p, (void)n;
    return 0;
}

static int have_avx2(void) { return 0; }

#endif

static uint32_t adler(int variant, const uint8_t *p, size_t n) {
    uint32_t a = 1, b = 0;
    size_t done = !variant && have_avx2() ? adler_avx2(&a, &b, p, n) : 0;
    adler_plain(&a, &b, p + done, n - done);
    return b << 16 | a;
}

size_t gf_quick_inflate(gf_quick *q, int variant, const uint8_t *in, size_t n, uint8_t *out, size_t size) {
    // Deflate, no dictionary, and a header that divides by 31.
    if (n < 6 || (in[0] & 15) != 8 || in[0] >> 4 > 7 || in[1] & 32 || (in[0] * 256u + in[1]) % 31) return 0;
    reader r = {.next = in + 2, .limit = in + n + 8};
    uint8_t *to = out, *end = out + size;
    q->fixed = 0;
    for (int last = 0; !last;) {
        if (r.next > r.limit) return 0;
        fill(&r);
        last = (int)take(&r, 1);
        switch (take(&r, 2)) {
        case 0:
            to = stored(&r, in + n, to, end);
            break;
        case 1:
            to = fixed_codes(q) ? block(q, &r, out, to, end) : NULL;
            break;
        case 2:
            to = dynamic_codes(q, &r) ? block(q, &r, out, to, end) : NULL;
            break;
        default:
            return 0;
        }
        if (!to) return 0;
    }
    align(&r);
    if (to != end || r.next > in + n || in + n - r.next < 4) return 0;
    uint32_t sum = (uint32_t)r.next[0] << 24 | (uint32_t)r.next[1] << 16 | (uint32_t)r.next[2] << 8 | r.next[3];
    return sum == adler(variant, out, size) ? (size_t)(r.next + 4 - in) : 0;
}
