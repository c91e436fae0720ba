#include "huffman.h"

#include <stdlib.h>
#include <string.h>

// Where a block's coefficients lie, in the order in which they are coded, counted from 1.
static const uint8_t natural[65] = {
    0,  0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,  12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13, 6,  7,  14, 21,
    28, 35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51, 58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63,
};

typedef uint8_t sixteen __attribute__((vector_size(16)));

// The position of the first 0xff in 16 bytes; 16 if there is none.
static inline int find_ff(sixteen bytes) {
    uint64_t found[2];
    sixteen same = (sixteen)(bytes == 0xff);
    memcpy(found, &same, 16);
    if (__builtin_expect(!(found[0] | found[1]), 1)) return 16;
    return found[0] ? __builtin_ctzll(found[0]) / 8 : 8 + __builtin_ctzll(found[1]) / 8;
}

int huffman_next_bytes(huffman *h) {
    const uint8_t *from = h->file, *end = h->end;
    uint8_t *to = h->data;
    for (;;) {
        int n = 0;
        if (end - from >= 16) {
            sixteen bytes;
            memcpy(&bytes, from, 16);
            memcpy(to, &bytes, 16);
            n = find_ff(bytes);
        } else {
            for (; from + n < end && from[n] != 0xff; n++) to[n] = from[n];
        }
        from += n;
        to += n;
        if (n == 16) continue;
        if (end - from < 2) return 0;
        int marker = from[1];
        from += 2;
        *to++ = 0xff;
        if (marker == 0) continue;
        h->marker = marker;
        h->file = from;
        h->size = (size_t)(to - 1 - h->data);
        h->here.next = h->data;
        h->here.bits = 0;
        h->here.count = 0;
        memset(to - 1, 0, HUFFMAN_SLACK);
        return 1;
    }
}

void *huffman_fit(void *memory, size_t *room, size_t size) {
    if (size <= *room) return memory;
    free(memory);
    memory = malloc(size);
    *room = memory ? size : 0;
    return memory;
}

int huffman_read(huffman *h, const lj_decompress *d, const uint8_t *file, const uint8_t *end) {
    size_t size = (size_t)(end - file);
    h->marker = 0;
    if (d->progressive || d->arithmetic || size > HUFFMAN_MOST) return 0;
    h->data = huffman_fit(h->data, &h->room, size + HUFFMAN_SLACK);
    if (!h->data) return 0;
    h->file = file;
    h->end = end;
    return huffman_next_bytes(h) ? h->marker : 0;
}

// The bits to read next, in registers. Only the last six bits of count have a meaning: shifts use no others.
typedef struct {
    const uint8_t *next;
    uint64_t bits;
    uint32_t count;
} reader;

static inline reader reader_at(const huffman_place *at) { return (reader){at->next, at->bits, at->count}; }

static inline void leave(huffman_place *at, const reader *r) {
    at->next = r->next;
    at->bits = r->bits;
    at->count = r->count & 63;
    at->mcu++;
}

// After it, there are at least 56 bits.
static inline void refill(reader *r) {
    uint64_t more;
    memcpy(&more, r->next, 8);
    r->bits |= __builtin_bswap64(more) >> (r->count & 63);
    r->next += (~r->count & 63) >> 3;
    r->count |= 56;
}

static inline uint32_t look(const reader *r) { return (uint32_t)(r->bits >> (64 - HUFFMAN_LOOK)); }

static inline void take(reader *r, uint32_t bits) {
    r->bits <<= bits & 63;
    r->count -= bits;
}

// The next symbol. At most 27 bits of the reader are taken for it and its value.
static inline huffman_entry symbol(const reader *r, const huffman_table *t, int ac) {
    huffman_entry e = t->look[look(r)];
    return __builtin_expect(e.on == HUFFMAN_NONE, 0) ? huffman_long_entry(t, r->bits, ac) : e;
}

// The value of so many bits, the first of these: 64 - shift. One that begins with 0 is negative: all its bits are inverted.
// If it may have no bits, shift may be 64.
static inline int32_t value(uint64_t bits, uint32_t shift, int may_have_none) {
    int32_t negative = (int32_t)~((int64_t)bits >> 63);
    uint64_t magnitude = bits ^ (uint64_t)(int64_t)negative;
    magnitude = may_have_none ? magnitude >> 1 >> ((shift - 1) & 63) : magnitude >> (shift & 63);
    return ((int32_t)magnitude ^ negative) - negative;
}

// Takes a symbol of any kind, and its value.
static inline int32_t take_value(reader *r, huffman_entry e) {
    int32_t v = value(r->bits << (e.length & 63), e.shift, 1);
    take(r, e.bits);
    return v;
}

// Decodes the first coefficient of a block. Returns 0 if it is not ours.
static inline int decode_dc(reader *r, const huffman_table *dc, int32_t *last) {
    refill(r);
    huffman_entry e = symbol(r, dc, 0);
    if (e.on == HUFFMAN_NONE) return 0;
    *last += take_value(r, e);
    return *last == (int16_t)*last;
}

// Decodes a symbol and its value, and moves k on by it: to 64 or more at the end of a block, to HUFFMAN_NONE or more without one.
static inline int32_t decode_next(reader *r, const huffman_table *ac, uint32_t *k) {
    const huffman_entry *e = &ac->look[look(r)];
    if (__builtin_expect(e->bits & HUFFMAN_RARE, 0)) {
        huffman_entry rare = symbol(r, ac, 1);
        *k += rare.on;
        return take_value(r, rare);
    }
    uint64_t bits = r->bits << (e->length & 63);
    take(r, e->bits);
    *k += e->on;
    return value(bits, e->shift, 0);
}

// Stores the value that k has come to. Returns 1 at the end of the block.
static inline int put(int16_t *at, uint32_t k, int32_t v) {
    if (k <= 64) at[natural[k]] = (int16_t)v;
    return k >= 64;
}

// Whether a block has ended well: at its 64th coefficient, or at a symbol for its end.
static inline int ended(uint32_t k) { return k == 64 || (k >= HUFFMAN_END && k < HUFFMAN_NONE); }

// Decodes the other coefficients of a block, from k on.
static inline int decode_ac(reader *r, const huffman_table *ac, int16_t *at, uint32_t k) {
    for (;;) {
        refill(r);
        int32_t v = decode_next(r, ac, &k);
        if (put(at, k, v)) return ended(k);
        v = decode_next(r, ac, &k);
        if (put(at, k, v)) return ended(k);
    }
}

// Decodes two blocks in turns. Each symbol waits for the one before it, since nobody knows where it begins; of two blocks,
// one is looked up while the other waits: they take three quarters of the time.
static inline __attribute__((always_inline)) int decode_two_ac(reader *a, reader *b, const huffman_table *ac, int16_t *at_a, int16_t *at_b) {
    uint32_t ka = 1, kb = 1;
    for (;;) {
        refill(a);
        refill(b);
        for (int i = 0; i < 2; i++) {
            int32_t v = decode_next(a, ac, &ka);
            if (put(at_a, ka, v)) return ended(ka) && decode_ac(b, ac, at_b, kb);
            v = decode_next(b, ac, &kb);
            if (put(at_b, kb, v)) return ended(kb) && decode_ac(a, ac, at_a, ka);
        }
    }
}

// Like decode_ac, but stores nothing.
static inline int skip_ac(reader *r, const huffman_table *ac) {
    uint32_t k = 1;
    for (;;) {
        refill(r);
        for (int i = 0; i < 2; i++) {
            uint32_t s = ac->skip[look(r)], to = k + (s >> 8);
            // If the 64th coefficient is among these symbols, the later ones belong to another block.
            if (to >= 64) {
                if (to < HUFFMAN_END || to >= HUFFMAN_END + 64) break;
                take(r, s & 255);
                return 1;
            }
            take(r, s & 255);
            k = to;
        }
        huffman_entry e = symbol(r, ac, 1);
        take(r, e.bits);
        k += e.on;
        if (k >= 64) return ended(k);
    }
}

// Decodes an MCU. If blocks is NULL, it stores nothing.
static inline __attribute__((always_inline)) int decode_mcu(const huffman *h, huffman_place *at, huffman_block *const *blocks) {
    reader r = reader_at(at);
    for (int i = 0; i < h->blocks; i++) {
        int32_t *last = &at->last_dc[h->component[i]];
        if (!decode_dc(&r, h->dc[i], last)) return 0;
        if (blocks) (*blocks[i])[0] = (int16_t)*last;
        if (!(blocks ? decode_ac(&r, h->ac[i], *blocks[i], 1) : skip_ac(&r, h->ac[i]))) return 0;
    }
    leave(at, &r);
    return 1;
}

// Decodes an MCU here, and one below into blocks that stand together.
static inline __attribute__((always_inline)) int decode_two(huffman *h, huffman_block *const *blocks, huffman_block *below) {
    reader a = reader_at(&h->here), b = reader_at(&h->below);
    for (int i = 0; i < h->blocks; i++) {
        int32_t *last_a = &h->here.last_dc[h->component[i]], *last_b = &h->below.last_dc[h->component[i]];
        if (!decode_dc(&a, h->dc[i], last_a) || !decode_dc(&b, h->dc[i], last_b)) return 0;
        (*blocks[i])[0] = (int16_t)*last_a;
        below[i][0] = (int16_t)*last_b;
        if (!decode_two_ac(&a, &b, h->ac[i], *blocks[i], below[i])) return 0;
    }
    leave(&h->here, &a);
    leave(&h->below, &b);
    return 1;
}

static int keep_plain(const huffman *h, huffman_place *at, huffman_block *const *blocks) { return decode_mcu(h, at, blocks); }
static int skip_plain(const huffman *h, huffman_place *at) { return decode_mcu(h, at, NULL); }
static int two_plain(huffman *h, huffman_block *const *blocks, huffman_block *below) { return decode_two(h, blocks, below); }

#ifdef __x86_64__
#define BMI2 __attribute__((target("bmi2")))
BMI2 static int keep_bmi2(const huffman *h, huffman_place *at, huffman_block *const *blocks) { return decode_mcu(h, at, blocks); }
BMI2 static int skip_bmi2(const huffman *h, huffman_place *at) { return decode_mcu(h, at, NULL); }
BMI2 static int two_bmi2(huffman *h, huffman_block *const *blocks, huffman_block *below) { return decode_two(h, blocks, below); }
#define BEST(name) (__builtin_cpu_supports("bmi2") ? name##_bmi2 : name##_plain)
#else
#define BEST(name) name##_plain
#endif

int huffman_keep(const huffman *h, huffman_place *at, huffman_block *const *blocks) { return BEST(keep)(h, at, blocks); }
int huffman_skip(const huffman *h, huffman_place *at) { return BEST(skip)(h, at); }
int huffman_two(huffman *h, huffman_block *const *blocks, huffman_block *below) { return BEST(two)(h, blocks, below); }

void huffman_free(huffman *h) {
    free(h->data);
    free(h->kept);
}
