// Tables of codes. Nearly every photograph has its own, so making them is a part of each decode: 12 us of it.
#include <string.h>

#include "huffman.h"

static const huffman_entry none = {HUFFMAN_RARE, HUFFMAN_NONE, 0, 64};

// The entry of a symbol, with which a value of no bits is rare: its shift would be by 64. There is none for sizes that no
// 8-bit picture has, and for odd codes that the library takes as the end of a block.
static huffman_entry entry(int symbol, int length, int ac) {
    int size = ac ? symbol & 15 : symbol, run = symbol >> 4;
    if (ac ? size > 10 || (size == 0 && run != 0 && run != 15) : size > 11) return none;
    int on = !ac ? 0 : symbol == 0 ? HUFFMAN_END : run + 1, rare = size == 0 && on != HUFFMAN_END ? HUFFMAN_RARE : 0;
    return (huffman_entry){(uint8_t)(length + size + rare), (uint8_t)on, (uint8_t)length, (uint8_t)(64 - size)};
}

static void fill(huffman_entry *at, huffman_entry e, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) at[i] = e;
}

void huffman_make_table(huffman_table *t, const lj_huffman *from, int ac) {
    int known = 0;
    for (int i = 1; i <= HUFFMAN_LONGEST; i++) known += from->bits[i];
    if (t->made && !memcmp(t->made_of.bits, from->bits, sizeof from->bits) && !memcmp(t->made_of.values, from->values, (size_t)known)) return;
    t->made = 1;
    t->skips = 0;
    t->made_of = *from;
    int32_t code = 0, k = 0;
    uint32_t at = 0;
    for (int length = 1; length <= HUFFMAN_LONGEST; length++, code <<= 1) {
        t->offset[length] = k - code;
        uint32_t same = length <= HUFFMAN_LOOK ? 1u << (HUFFMAN_LOOK - length) : 0;
        for (int i = 0; i < from->bits[length]; i++, k++, code++, at += same) fill(t->look + at, entry(from->values[k], length, ac), same);
        t->limit[length] = code << (HUFFMAN_LONGEST - length);
    }
    fill(t->look + at, none, (1 << HUFFMAN_LOOK) - at);
}

// Skips of windows that begin with a symbol: it moves on, and so does what is behind it, if the block goes on there.
static inline void put_behind(uint16_t *at, uint32_t symbol, const uint16_t *behind, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        uint32_t both = symbol + behind[i], on = both >> 8;
        at[i] = (uint16_t)(on % HUFFMAN_END < 64 ? both : symbol);
    }
}

// Windows of n bits begin at skips[1 << n]. What is behind a symbol is a window of fewer bits, for all its values the same.
void huffman_make_skips(huffman_table *t) {
    uint16_t skips[2 << HUFFMAN_LOOK];
    for (uint32_t n = 0; n <= HUFFMAN_LOOK; n++) {
        uint16_t *at = skips + (1 << n), *end = at + (1 << n);
        while (at < end) {
            huffman_entry e = t->look[(uint32_t)(at - skips - (1 << n)) << (HUFFMAN_LOOK - n)];
            uint32_t bits = e.bits % HUFFMAN_RARE;
            if (e.on == HUFFMAN_NONE || bits > n) {
                *at++ = 0;
                continue;
            }
            uint32_t count = 1u << (n - bits), symbol = (uint32_t)e.on << 8 | bits;
            if (e.on == HUFFMAN_END)
                for (uint32_t i = 0; i < count; i++) at[i] = (uint16_t)symbol;
            else put_behind(at, symbol, skips + count, count);
            at += count;
        }
    }
    const uint16_t *all = skips + (1 << HUFFMAN_LOOK);
    for (uint32_t i = 0; i < 1 << HUFFMAN_LOOK; i++) t->skip[i] = all[i] ? all[i] : 64 << 8;
    t->skips = 1;
}

// Out of line: few codes are so long.
huffman_entry huffman_long_entry(const huffman_table *t, uint64_t bits, int ac) {
    int32_t code = (int32_t)(bits >> (64 - HUFFMAN_LONGEST));
    for (int length = HUFFMAN_LOOK + 1; code >= t->limit[HUFFMAN_LOOK] && length <= HUFFMAN_LONGEST; length++)
        if (code < t->limit[length]) return entry(t->made_of.values[t->offset[length] + (code >> (HUFFMAN_LONGEST - length))], length, ac);
    return none;
}
