#include "huffman.h"

#include <stdlib.h>
#include <string.h>

// Where a block's coefficients lie, in the order in which they are coded, counted from 1.
static const uint8_t natural[65] = {
    0,  0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,  12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13, 6,  7,  14, 21,
    28, 35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51, 58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63,
};

// What an entry may move on besides the coefficients of a run: more than any other symbol.
enum {
    END = 128, // the end of a block
    NO_SYMBOL = 192,
};

static const huffman_entry none = {HUFFMAN_RARE, NO_SYMBOL, 0, 64};

// The entry of a symbol, with which a value of no bits is rare: its shift would be by 64. There is none for sizes that no
// 8-bit picture has, and for odd codes that the library takes as the end of a block.
static huffman_entry entry(int symbol, int length, int ac) {
    int size = ac ? symbol & 15 : symbol, run = symbol >> 4;
    if (ac ? size > 10 || (size == 0 && run != 0 && run != 15) : size > 11) return none;
    int on = !ac ? 0 : symbol == 0 ? END : run + 1, rare = size == 0 && on != END ? HUFFMAN_RARE : 0;
    return (huffman_entry){(uint8_t)(length + size + rare), (uint8_t)on, (uint8_t)length, (uint8_t)(64 - size)};
}

// Fills the table of skips: how far all symbols that a look-up holds whole move on together. These are two on average. A
// skip has bits of codes and values in its low byte, and coefficients in its high one; if there is no whole symbol, 64.
static void make_skips(huffman_table *t) {
    for (uint32_t i = 0; i < 1 << HUFFMAN_LOOK; i++) {
        uint32_t bits = 0, on = 0;
        while (on < END) {
            huffman_entry e = t->look[i << bits & ((1 << HUFFMAN_LOOK) - 1)];
            uint32_t all = bits + (e.bits & 63), to = on + e.on;
            if (e.on == NO_SYMBOL || all > HUFFMAN_LOOK || (to >= 64 && to < END)) break;
            bits = all;
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
            huffman_entry e = entry(from->values[k], length, ac);
            uint32_t same = length <= HUFFMAN_LOOK ? 1u << (HUFFMAN_LOOK - length) : 0;
            while (same--) t->look[at++] = e;
        }
        t->limit[length] = code << (HUFFMAN_LONGEST - length);
    }
    while (at < 1 << HUFFMAN_LOOK) t->look[at++] = none;
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
        h->here.next = h->data;
        h->here.bits = 0;
        h->here.count = 0;
        memset(to - 1, 0, HUFFMAN_SLACK);
        return 1;
    }
}

// Memory at least so large instead of some that is; what that held is lost. NULL if there is none.
static void *fit(void *memory, size_t *room, size_t size) {
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
    h->data = fit(h->data, &h->room, size + HUFFMAN_SLACK);
    if (!h->data) return 0;
    h->file = file;
    h->end = end;
    return next_bytes(h) ? h->marker : 0;
}

int huffman_begin(huffman *h, const lj_decompress *d) {
    h->interval = h->until_restart = d->restart_interval;
    h->restarts = 0;
    h->here.mcu = h->below.mcu = h->pair_end = h->kept_from = 0;
    h->next_mark = UINT32_MAX;
    h->marks = NULL;
    if (!h->marker || (h->marker != 0xd9 && !h->interval) || d->components_in_scan != d->components) return 0;
    memset(h->here.last_dc, 0, sizeof h->here.last_dc);
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
static int64_t bits_left(const huffman *h, const huffman_place *at) { return (h->data + h->size - at->next) * 8 + at->count; }

static int next_interval(huffman *h) {
    if (h->marker != 0xd0 + (int)(h->restarts++ & 7) || !next_bytes(h)) return 0;
    memset(h->here.last_dc, 0, sizeof h->here.last_dc);
    h->until_restart = h->interval;
    return 1;
}

// Goes on at the interval that an MCU is in, if that is ahead. Nothing in those before can change it: whatever is wrong there,
// the library goes on at the next marker too.
static int skip_intervals(huffman *h, uint32_t mcu) {
    while (mcu / h->interval > h->restarts) {
        if (!next_interval(h)) return 0;
        h->here.mcu = h->restarts * h->interval;
    }
    return 1;
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

// The entry of a code that is longer than the look-up, if there is such a code.
static __attribute__((noinline)) huffman_entry long_entry(const huffman_table *t, uint64_t bits, int ac) {
    int32_t code = (int32_t)(bits >> (64 - HUFFMAN_LONGEST));
    for (int length = HUFFMAN_LOOK + 1; code >= t->limit[HUFFMAN_LOOK] && length <= HUFFMAN_LONGEST; length++)
        if (code < t->limit[length]) return entry(t->made_of.values[t->offset[length] + (code >> (HUFFMAN_LONGEST - length))], length, ac);
    return none;
}

// The next symbol. At most 27 bits of the reader are taken for it and its value.
static inline huffman_entry symbol(const reader *r, const huffman_table *t, int ac) {
    huffman_entry e = t->look[look(r)];
    return __builtin_expect(e.on == NO_SYMBOL, 0) ? long_entry(t, r->bits, ac) : e;
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
    if (e.on == NO_SYMBOL) return 0;
    *last += take_value(r, e);
    return *last == (int16_t)*last;
}

// Decodes a symbol and its value, and moves k on by it: to 64 or more at the end of a block, to NO_SYMBOL or more without one.
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
static inline int ended(uint32_t k) { return k == 64 || (k >= END && k < NO_SYMBOL); }

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
                if (to < END || to >= END + 64) break;
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

// A mark is the position in bits, 28 of them, which suffices for HUFFMAN_MOST; and above it the last DC of three components,
// in 12 bits each.
enum { MARK_DC = 12, MARK_POSITION = 64 - 3 * MARK_DC };

static void find_next_mark(huffman *h, uint32_t known) { h->next_mark = known < h->marks->room ? (known + 1) * h->marks->every : UINT32_MAX; }

int huffman_may_be_marked(const huffman *h) {
    for (int i = 0; i < h->blocks; i++)
        if (h->component[i] > 2) return 0;
    return !h->interval;
}

int huffman_use(huffman *h, jpeg_marks *marks, huffman_wanted wanted) {
    if (!marks) return 0;
    uint32_t known = atomic_load_explicit(&marks->known, memory_order_acquire);
    h->marks = marks;
    h->wanted = wanted;
    find_next_mark(h, known);
    return known > 0;
}

// Notes where the decoder stands. Others may note the same at the same time.
static void note(huffman *h) {
    const huffman_place *at = &h->here;
    uint32_t i = at->mcu / h->marks->every - 1;
    uint64_t mark = (uint64_t)((at->next - h->data) * 8 - at->count);
    for (int k = 0; k < 3; k++) {
        int32_t dc = at->last_dc[k] + (1 << (MARK_DC - 1));
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
static void enter(huffman *h, huffman_place *at, uint32_t mcu) {
    uint32_t known = atomic_load_explicit(&h->marks->known, memory_order_acquire), i = mcu / h->marks->every;
    if (i > known) i = known;
    if (!i || i * h->marks->every <= at->mcu) return;
    uint64_t mark = atomic_load_explicit(&h->marks->mark[i - 1], memory_order_relaxed), position = mark & ((1ull << MARK_POSITION) - 1);
    if (position >= h->size * 8) return;
    at->next = h->data + position / 8;
    at->bits = (uint64_t)*at->next++ << 56 << position % 8;
    at->count = 8 - position % 8;
    for (int k = 0; k < 3; k++)
        at->last_dc[k] = (int32_t)(mark >> (MARK_POSITION + k * MARK_DC) & ((1 << MARK_DC) - 1)) - (1 << (MARK_DC - 1));
    at->mcu = i * h->marks->every;
    if (h->next_mark <= at->mcu) find_next_mark(h, known);
}

// Leaves MCUs out up to this one. Returns 0 if not ours.
static int skip_to(const huffman *h, huffman_place *at, uint32_t mcu) {
    while (at->mcu < mcu)
        if (!BEST(skip)(h, at) || bits_left(h, at) < 0) return 0;
    return 1;
}

// Decodes the next MCU; if blocks is NULL, skips it.
static int next_mcu(huffman *h, huffman_block *const *blocks) {
    if (h->here.mcu == h->next_mark) note(h);
    if (h->interval) {
        if (h->until_restart == 0 && (bits_left(h, &h->here) >= 8 || !next_interval(h))) return 0;
        h->until_restart--;
    }
    int ok = blocks ? BEST(keep)(h, &h->here, blocks) : BEST(skip)(h, &h->here);
    return ok && bits_left(h, &h->here) >= 0;
}

// Begins to decode a row and the one below it, if an MCU is the first that is wanted of its row, the row below is wanted
// too, and its marks are known: a place there would not be noted. Returns 0 if not ours.
static int begin_pair(huffman *h, uint32_t mcu) {
    enum { MOST = 256 << 10 }; // bytes that are kept: a quarter of a core's second cache
    const huffman_wanted *w = &h->wanted;
    if (mcu % w->per_row != w->first || mcu / w->per_row + 1 >= w->end_row) return 1;
    uint32_t columns = w->end - w->first, from = mcu + w->per_row;
    size_t size = (size_t)columns * (size_t)h->blocks * sizeof(huffman_block);
    if ((from + columns - 1) / h->marks->every > atomic_load_explicit(&h->marks->known, memory_order_acquire)) return 1;
    huffman_place below = h->here;
    enter(h, &below, from);
    if (size > MOST || below.mcu == mcu) return 1; // all between them would be skipped, and then decoded
    h->kept = fit(h->kept, &h->kept_room, size);
    if (!h->kept) return 1;
    memset(h->kept, 0, size);
    h->below = below;
    h->pair_end = mcu + columns;
    h->kept_from = from;
    return skip_to(h, &h->below, from);
}

static int next_two(huffman *h, huffman_block *const *blocks) {
    int ok = BEST(two)(h, blocks, h->kept + (size_t)(h->below.mcu - h->kept_from) * (size_t)h->blocks);
    return ok && bits_left(h, &h->here) >= 0 && bits_left(h, &h->below) >= 0;
}

int huffman_mcu(huffman *h, uint32_t mcu, huffman_block *const *blocks) {
    if (mcu >= h->kept_from && mcu < h->below.mcu) {
        const huffman_block *from = h->kept + (size_t)(mcu - h->kept_from) * (size_t)h->blocks;
        for (int i = 0; i < h->blocks; i++) memcpy(*blocks[i], from[i], sizeof *from);
        return 1;
    }
    if (mcu >= h->below.mcu && h->here.mcu < h->below.mcu) h->here = h->below;
    if (h->marks && mcu != h->here.mcu) enter(h, &h->here, mcu);
    if (h->interval && mcu != h->here.mcu && !skip_intervals(h, mcu)) return 0;
    while (h->here.mcu < mcu)
        if (!next_mcu(h, NULL)) return 0;
    if (h->marks && mcu >= h->pair_end && !begin_pair(h, mcu)) return 0;
    return mcu < h->pair_end ? next_two(h, blocks) : next_mcu(h, blocks);
}

void huffman_free(huffman *h) {
    free(h->data);
    free(h->kept);
}
