// The way through a scan: restart intervals, marks at which it is entered, and two rows at a time.
#include "huffman.h"

#include <string.h>

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
        huffman_make_table(dc, d->dc_tables[c->dc_table], 0);
        huffman_make_table(ac, d->ac_tables[c->ac_table], 1);
        h->component[i] = (uint8_t)d->membership[i];
        h->dc[i] = dc;
        h->ac[i] = ac;
    }
    return 1;
}

// The number of bits that are not taken yet; negative after the end of the data.
static int64_t bits_left(const huffman *h, const huffman_place *at) { return (h->data + h->size - at->next) * 8 + at->count; }

static int next_interval(huffman *h) {
    if (h->marker != 0xd0 + (int)(h->restarts++ & 7) || !huffman_next_bytes(h)) return 0;
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

// Whole pictures leave nothing out, and need no tables for it.
static void need_skips(const huffman *h) {
    for (int i = 0; i < h->blocks; i++)
        if (!h->ac[i]->skips) huffman_make_skips(h->ac[i]);
}

// Leaves MCUs out up to this one. Returns 0 if not ours.
static int skip_to(const huffman *h, huffman_place *at, uint32_t mcu) {
    if (at->mcu < mcu) need_skips(h);
    while (at->mcu < mcu)
        if (!huffman_skip(h, at) || bits_left(h, at) < 0) return 0;
    return 1;
}

// Decodes the next MCU; if blocks is NULL, skips it.
static int next_mcu(huffman *h, huffman_block *const *blocks) {
    if (h->here.mcu == h->next_mark) note(h);
    if (h->interval) {
        if (h->until_restart == 0 && (bits_left(h, &h->here) >= 8 || !next_interval(h))) return 0;
        h->until_restart--;
    }
    int ok = blocks ? huffman_keep(h, &h->here, blocks) : huffman_skip(h, &h->here);
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
    h->kept = huffman_fit(h->kept, &h->kept_room, size);
    if (!h->kept) return 1;
    memset(h->kept, 0, size);
    h->below = below;
    h->pair_end = mcu + columns;
    h->kept_from = from;
    return skip_to(h, &h->below, from);
}

static int next_two(huffman *h, huffman_block *const *blocks) {
    int ok = huffman_two(h, blocks, h->kept + (size_t)(h->below.mcu - h->kept_from) * (size_t)h->blocks);
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
    if (h->here.mcu < mcu) need_skips(h);
    while (h->here.mcu < mcu)
        if (!next_mcu(h, NULL)) return 0;
    if (h->marks && mcu >= h->pair_end && !begin_pair(h, mcu)) return 0;
    return mcu < h->pair_end ? next_two(h, blocks) : next_mcu(h, blocks);
}
