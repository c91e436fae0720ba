#include "huffman.h"

#include <stdlib.h>
#include <string.h>

// Where a block's coefficients lie, in the order in which they are coded.
static const uint8_t natural[64] = {
    0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,  12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13, 6,  7,  14, 21, 28,
    35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51, 58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63,
};

// The entry of a symbol:
//     bits 0..5    bits of the code and of the value after it
//     bits 8..15   how many coefficients it moves on, including the one with the value
//     bits 16..21  bits of the code
//     bits 22..27  63 less the bits of the value
// A shift uses only six bits of its count, so no field needs a mask. NONE means that there is no symbol, or that its code
// is longer than the look-up.
enum {
    NONE = 1 << 6,
    END = 128, // coefficients that the end of a block moves on: more than any other symbol
};

// NONE also stands for sizes that no 8-bit picture has, and for odd codes that the library takes as the end of a block.
static uint32_t entry(int symbol, int length, int ac) {
    int size = ac ? symbol & 15 : symbol, run = symbol >> 4;
    if (ac ? size > 10 || (size == 0 && run != 0 && run != 15) : size > 11) return NONE;
    uint32_t on = !ac ? 0 : symbol == 0 ? END : (uint32_t)run + 1;
    return (uint32_t)(63 - size) << 22 | (uint32_t)length << 16 | on << 8 | (uint32_t)(length + size);
}

// The value after the code at the left of bits. A value of size bits that begins with 0 is negative: 1 - 2^size or more.
static inline int32_t value(uint32_t entry, uint64_t bits) {
    uint64_t at = bits << (entry >> 16 & 63);
    int less = entry >> 22 & 63;
    return (int32_t)((at >> 1 >> less) - (INT64_MAX >> less & (uint64_t)((int64_t)~at >> 63)));
}

// Fills the table of skips: how far all symbols that a look-up holds whole move on together. These are two on average. A
// skip has only bits 0..5 and 8..15 of an entry. If there is no whole symbol, it has 64 coefficients.
static void make_skips(huffman_table *t) {
    for (uint32_t i = 0; i < 1 << HUFFMAN_LOOK; i++) {
        uint32_t bits = 0, on = 0;
        while (on < END) {
            uint32_t e = t->look[i << bits & ((1 << HUFFMAN_LOOK) - 1)], to = on + (e >> 8 & 255);
            if (e & NONE || bits + (e & 63) > HUFFMAN_LOOK || (to >= 64 && to < END)) break;
            bits += e & 63;
            on = to;
        }
        t->skip[i] = (uint16_t)((bits ? on : 64) << 8 | bits);
    }
}

static void make_table(huffman_table *t, const lj_huffman *from, int ac) {
    int known = 0;
    for (int i = 1; i <= HUFFMAN_LONGEST; i++) known += from->bits[i];
    if (t->made && !memcmp(t->made_of.bits, from->bits, sizeof from->bits) && !memcmp(t->made_of.values, from->values, (size_t)known)) return;
    t->made = 1;
    t->made_of = *from;
    int32_t code = 0, k = 0;
    uint32_t at = 0;
    for (int length = 1; length <= HUFFMAN_LONGEST; length++, code <<= 1) {
        t->offset[length] = k - code;
        for (int i = 0; i < from->bits[length]; i++, k++, code++) {
            uint32_t e = entry(from->values[k], length, ac), same = length <= HUFFMAN_LOOK ? 1u << (HUFFMAN_LOOK - length) : 0;
            while (same--) t->look[at++] = e;
        }
        t->limit[length] = code << (HUFFMAN_LONGEST - length);
    }
    while (at < 1 << HUFFMAN_LOOK) t->look[at++] = NONE;
    if (ac) make_skips(t);
}

typedef uint8_t sixteen __attribute__((vector_size(16)));

// The position of the first 0xff in 16 bytes; 16 if there is none.
static inline int find_ff(sixteen bytes) {
    uint64_t found[2];
    sixteen same = (sixteen)(bytes == 0xff);
    memcpy(found, &same, 16);
    if (__builtin_expect(!(found[0] | found[1]), 1)) return 16;
    return found[0] ? __builtin_ctzll(found[0]) / 8 : 8 + __builtin_ctzll(found[1]) / 8;
}

// Copies the bytes up to the next marker, without the zero after each 0xff. Returns 0 if no marker follows.
static int next_bytes(huffman *h) {
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
        h->next = h->data;
        h->bits = 0;
        h->count = 0;
        memset(to - 1, 0, HUFFMAN_SLACK);
        return 1;
    }
}

static int fit(huffman *h, size_t size) {
    if (size <= h->room) return 1;
    free(h->data);
    h->data = malloc(size);
    h->room = h->data ? size : 0;
    return h->data != NULL;
}

int huffman_read(huffman *h, const lj_decompress *d, const uint8_t *file, const uint8_t *end) {
    size_t size = (size_t)(end - file);
    h->marker = 0;
    if (d->progressive || d->arithmetic || size > HUFFMAN_MOST || !fit(h, size + HUFFMAN_SLACK)) return 0;
    h->file = file;
    h->end = end;
    return next_bytes(h) ? h->marker : 0;
}

int huffman_begin(huffman *h, const lj_decompress *d) {
    h->interval = h->until_restart = d->restart_interval;
    h->restarts = 0;
    h->mcu = 0;
    h->next_mark = UINT32_MAX;
    h->marks = NULL;
    if (!h->marker || (h->marker != 0xd9 && !h->interval) || d->components_in_scan != d->components) return 0;
    memset(h->last_dc, 0, sizeof h->last_dc);
    h->blocks = d->blocks_in_mcu;
    for (int i = 0; i < h->blocks; i++) {
        const lj_component *c = d->in_scan[d->membership[i]];
        huffman_table *dc = &h->tables[0][c->dc_table], *ac = &h->tables[1][c->ac_table];
        make_table(dc, d->dc_tables[c->dc_table], 0);
        make_table(ac, d->ac_tables[c->ac_table], 1);
        h->component[i] = (uint8_t)d->membership[i];
        h->dc[i] = dc;
        h->ac[i] = ac;
    }
    return 1;
}

// The number of bits that are not taken yet; negative after the end of the data.
static int64_t bits_left(const huffman *h) { return (h->data + h->size - h->next) * 8 + h->count; }

static int next_interval(huffman *h) {
    if (h->marker != 0xd0 + (int)(h->restarts++ & 7) || !next_bytes(h)) return 0;
    memset(h->last_dc, 0, sizeof h->last_dc);
    h->until_restart = h->interval;
    return 1;
}

// Goes on at the interval that an MCU is in, if that is ahead. Nothing in those before can change it: whatever is wrong there,
// the library goes on at the next marker too.
static int skip_intervals(huffman *h, uint32_t mcu) {
    while (mcu / h->interval > h->restarts) {
        if (!next_interval(h)) return 0;
        h->mcu = h->restarts * h->interval;
    }
    return 1;
}

// The bits to read next, in registers. Only the last six bits of count have a meaning: shifts use no others.
typedef struct {
    const uint8_t *next;
    uint64_t bits;
    uint32_t count;
} reader;

// After it, there are at least 56 bits.
static inline void refill(reader *r) {
    uint64_t more;
    memcpy(&more, r->next, 8);
    r->bits |= __builtin_bswap64(more) >> (r->count & 63);
    r->next += (~r->count & 63) >> 3;
    r->count |= 56;
}

static inline uint32_t look(const reader *r) { return (uint32_t)(r->bits >> (64 - HUFFMAN_LOOK)); }

static inline void take(reader *r, uint32_t entry) {
    r->bits <<= entry & 63;
    r->count -= entry;
}

// The entry of a code that is longer than the look-up; NONE if there is no such code.
static __attribute__((noinline)) uint32_t long_entry(const huffman_table *t, uint64_t bits, int ac) {
    int32_t code = (int32_t)(bits >> (64 - HUFFMAN_LONGEST));
    if (code < t->limit[HUFFMAN_LOOK]) return NONE;
    for (int length = HUFFMAN_LOOK + 1; length <= HUFFMAN_LONGEST; length++)
        if (code < t->limit[length]) return entry(t->made_of.values[t->offset[length] + (code >> (HUFFMAN_LONGEST - length))], length, ac);
    return NONE;
}

// The next symbol. At most 27 bits of the reader are taken for it and its value.
static inline uint32_t symbol(const reader *r, const huffman_table *t, int ac) {
    uint32_t e = t->look[look(r)];
    return __builtin_expect(e & NONE, 0) ? long_entry(t, r->bits, ac) : e;
}

// Decodes the first coefficient of a block. Returns 0 if it is not ours.
static inline int decode_dc(reader *r, const huffman_table *dc, int32_t *last) {
    refill(r);
    uint32_t e = symbol(r, dc, 0);
    if (e & NONE) return 0;
    *last += value(e, r->bits);
    take(r, e);
    return *last == (int16_t)*last;
}

// Decodes the other coefficients of a block.
static inline int decode_ac(reader *r, const huffman_table *ac, int16_t *at) {
    uint32_t k = 1;
    for (;;) {
        refill(r);
        for (int i = 0; i < 2; i++) {
            uint32_t e = symbol(r, ac, 1);
            if (e & NONE) return 0;
            int32_t v = value(e, r->bits);
            take(r, e);
            k += e >> 8 & 255;
            if (k >= 64) {
                if (k == 64) at[63] = (int16_t)v;
                return k == 64 || k >= END;
            }
            at[natural[k - 1]] = (int16_t)v;
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
                if (to < END || to >= END + 64) break;
                take(r, s);
                return 1;
            }
            take(r, s);
            k = to;
        }
        uint32_t e = symbol(r, ac, 1);
        if (e & NONE) return 0;
        take(r, e);
        k += e >> 8 & 255;
        if (k >= 64) return k == 64 || k >= END;
    }
}

// Decodes an MCU. If blocks is NULL, it stores nothing.
static inline __attribute__((always_inline)) int decode_mcu(huffman *h, huffman_block *const *blocks) {
    reader r = {h->next, h->bits, h->count};
    for (int i = 0; i < h->blocks; i++) {
        int32_t *last = &h->last_dc[h->component[i]];
        if (!decode_dc(&r, h->dc[i], last)) return 0;
        if (blocks) (*blocks[i])[0] = (int16_t)*last;
        if (!(blocks ? decode_ac(&r, h->ac[i], *blocks[i]) : skip_ac(&r, h->ac[i]))) return 0;
    }
    h->next = r.next;
    h->bits = r.bits;
    h->count = r.count & 63;
    return 1;
}

static int keep_plain(huffman *h, huffman_block *const *blocks) { return decode_mcu(h, blocks); }
static int skip_plain(huffman *h) { return decode_mcu(h, NULL); }

#ifdef __x86_64__
__attribute__((target("bmi2"))) static int keep_bmi2(huffman *h, huffman_block *const *blocks) { return decode_mcu(h, blocks); }
__attribute__((target("bmi2"))) static int skip_bmi2(huffman *h) { return decode_mcu(h, NULL); }
#endif

// A mark is the position in bits, 28 of them, which suffices for HUFFMAN_MOST; and above it the last DC of three components,
// in 12 bits each.
enum { MARK_DC = 12, MARK_POSITION = 64 - 3 * MARK_DC };

static void find_next_mark(huffman *h, uint32_t known) { h->next_mark = known < h->marks->room ? (known + 1) * h->marks->every : UINT32_MAX; }

int huffman_use(huffman *h, jpeg_marks *marks) {
    if (!marks || h->interval) return 0;
    for (int i = 0; i < h->blocks; i++)
        if (h->component[i] > 2) return 0;
    uint32_t known = atomic_load_explicit(&marks->known, memory_order_acquire);
    h->marks = marks;
    find_next_mark(h, known);
    return known > 0;
}

// Notes where the decoder stands. Others may note the same at the same time.
static void note(huffman *h) {
    uint32_t i = h->mcu / h->marks->every - 1;
    uint64_t mark = (uint64_t)((h->next - h->data) * 8 - h->count);
    for (int k = 0; k < 3; k++) {
        int32_t dc = h->last_dc[k] + (1 << (MARK_DC - 1));
        if (dc >> MARK_DC) { // no picture has that
            h->next_mark = UINT32_MAX;
            return;
        }
        mark |= (uint64_t)dc << (MARK_POSITION + k * MARK_DC);
    }
    atomic_store_explicit(&h->marks->mark[i], mark, memory_order_relaxed);
    if (atomic_load_explicit(&h->marks->known, memory_order_relaxed) <= i) atomic_store_explicit(&h->marks->known, i + 1, memory_order_release);
    find_next_mark(h, i + 1);
}

// Goes on from the last mark before an MCU, if that is ahead.
static void enter(huffman *h, uint32_t mcu) {
    uint32_t known = atomic_load_explicit(&h->marks->known, memory_order_acquire), i = mcu / h->marks->every;
    if (i > known) i = known;
    if (!i || i * h->marks->every <= h->mcu) return;
    uint64_t mark = atomic_load_explicit(&h->marks->mark[i - 1], memory_order_relaxed), position = mark & ((1ull << MARK_POSITION) - 1);
    if (position >= h->size * 8) return;
    h->next = h->data + position / 8;
    h->bits = (uint64_t)*h->next++ << 56 << position % 8;
    h->count = 8 - position % 8;
    for (int k = 0; k < 3; k++)
        h->last_dc[k] = (int32_t)(mark >> (MARK_POSITION + k * MARK_DC) & ((1 << MARK_DC) - 1)) - (1 << (MARK_DC - 1));
    h->mcu = i * h->marks->every;
    if (h->next_mark <= h->mcu) find_next_mark(h, known);
}

// Decodes the next MCU; if blocks is NULL, skips it.
static int next_mcu(huffman *h, huffman_block *const *blocks) {
    if (h->mcu == h->next_mark) note(h);
    h->mcu++;
    if (h->interval) {
        if (h->until_restart == 0 && (bits_left(h) >= 8 || !next_interval(h))) return 0;
        h->until_restart--;
    }
    int ok;
#ifdef __x86_64__
    if (__builtin_cpu_supports("bmi2")) ok = blocks ? keep_bmi2(h, blocks) : skip_bmi2(h);
    else
#endif
        ok = blocks ? keep_plain(h, blocks) : skip_plain(h);
    return ok && bits_left(h) >= 0;
}

int huffman_mcu(huffman *h, uint32_t mcu, huffman_block *const *blocks) {
    if (h->marks && mcu != h->mcu) enter(h, mcu);
    if (h->interval && mcu != h->mcu && !skip_intervals(h, mcu)) return 0;
    while (h->mcu < mcu)
        if (!next_mcu(h, NULL)) return 0;
    return next_mcu(h, blocks);
}

void huffman_free(huffman *h) { free(h->data); }
