// Feeds the bytes of a file to the library. Pillow does this in blocks of 64 kB, and its verdict depends on the blocks.
#include <string.h>

#include "state.h"

enum { PILLOW_BLOCK = 65536 };

static void nothing(lj_decompress *d) { (void)d; }

// The end of the block that a position lies in.
static size_t block_end(const gf_jpeg *j, size_t position) {
    size_t end = (position + PILLOW_BLOCK - 1) / PILLOW_BLOCK * PILLOW_BLOCK;
    return end < j->n ? end : j->n;
}

// Gives Pillow's next block. Pillow would have to suspend here, and begin the MCU again with more data. We simply go on.
// The result is the same, since the decoder sees the same bytes.
static int next_block(lj_decompress *d) {
    gf_jpeg *j = (gf_jpeg *)d;
    if (j->finishing || j->shown == j->n) return 0;
    size_t more = j->n - j->shown < PILLOW_BLOCK ? j->n - j->shown : PILLOW_BLOCK;
    j->source.next = j->data + j->shown;
    j->source.left = more;
    j->shown += more;
    return 1;
}

static void skip(lj_decompress *d, long bytes) {
    gf_jpeg *j = (gf_jpeg *)d;
    if (bytes <= 0) return;
    size_t all = j->source.left;
    if (!j->finishing) all += j->n - j->shown;
    size_t step = (size_t)bytes < all ? (size_t)bytes : all;
    j->source.next += step;
    if (step <= j->source.left) {
        j->source.left -= step;
        return;
    }
    size_t position = (size_t)(j->source.next - j->data);
    j->shown = block_end(j, position);
    j->source.left = j->shown - position;
}

void feed_make(gf_jpeg *j) {
    j->source = (lj_source){NULL, 0, nothing, next_block, skip, j->library->resync, nothing};
    j->d.source = &j->source;
}

void feed_begin(gf_jpeg *j) {
    j->shown = j->n;
    j->source.next = j->data;
    j->source.left = j->n;
    j->finishing = 0;
}

int64_t feed_position(const gf_jpeg *j) { return j->source.next ? j->source.next - j->data : 0; }

void feed_blocks(gf_jpeg *j) {
    size_t at = (size_t)feed_position(j);
    j->shown = block_end(j, at);
    j->source.left = j->shown - at;
}

// Finds a place where a marker may begin: the first 0xff without the following 0 of entropy-coded data, or up to 255
// bytes before it, since the loop takes steps of 256 bytes. Such a loop is vectorised. It takes 4 us for a file of 110 kB
// in the cache; memchr for each 0xff took 8 us more.
static const uint8_t *near_marker(const uint8_t *p, const uint8_t *end) {
    for (; end - p > 256; p += 256) {
        uint8_t found = 0;
        for (int i = 0; i < 256; i++) found |= (uint8_t)((p[i] == 0xff) & (p[i + 1] != 0));
        if (found) return p;
    }
    return p;
}

int feed_ends_cleanly(const uint8_t *p, const uint8_t *end) {
    while (p < end) {
        p = near_marker(p, end);
        const uint8_t *step = end - p > 256 ? p + 256 : end;
        while (p < step && (p = memchr(p, 0xff, (size_t)(end - p)))) {
            while (p < end && *p == 0xff) p++;
            if (p == end) return 0;
            uint8_t marker = *p++;
            if (marker == 0xd9) return 1;
            if (marker > 1 && (marker < 0xd0 || marker > 0xd7)) return 0;
        }
        if (!p) return 0;
    }
    return 0;
}
