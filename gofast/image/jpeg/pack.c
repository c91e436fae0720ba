// A JPEG as a record for later epochs: its header without what decodes nothing, and its coefficients.
#include <stdlib.h>
#include <string.h>

#include "state.h"

// In front of a record. Behind it lie the file's header, an anchor's offset for each fourth MCU, and the coefficients, with
// COEFFICIENTS_SLACK zeros.
typedef struct {
    char magic[8];
    uint32_t header, mcus, bytes, reserved;
} record;

static const char MAGIC[] = "gofastC1";

static uint32_t anchors_of(uint32_t mcus) { return (mcus + COEFFICIENTS_EVERY - 1) / COEFFICIENTS_EVERY; }

int pack_open(gf_jpeg *j, const uint8_t *data, size_t n) {
    record r;
    if (n < sizeof r) return 0;
    memcpy(&r, data, sizeof r);
    uint64_t anchors = (uint64_t)anchors_of(r.mcus) * sizeof(uint32_t);
    if (memcmp(r.magic, MAGIC, sizeof r.magic) || sizeof r + r.header + anchors + r.bytes + COEFFICIENTS_SLACK != n) return 0;
    j->data = data + sizeof r;
    j->n = r.header;
    const uint8_t *at = j->data + r.header + anchors;
    j->coefficients = (coefficients){.anchors = at - anchors, .data = at, .next = at, .end = at + r.bytes, .count = r.mcus};
    return 1;
}

int pack_start(gf_jpeg *j) {
    j->coefficients.order = coefficients_mcu_of(&j->d);
    return j->d.components_in_scan == j->d.components && j->d.mcus_per_row * j->d.mcu_rows_in_scan == j->coefficients.count;
}

// Copies the header without metadata: what JFIF and Adobe say decides about colours, the rest about nothing. Returns its size;
// 0 where something lies between segments.
static size_t copy_header(const gf_jpeg *j, size_t end, uint8_t *to) {
    const uint8_t *from = j->data;
    size_t size = 2;
    memcpy(to, from, size);
    for (size_t at = 2, length; at < end; at += length) {
        if (end - at < 4 || from[at] != 0xff) return 0;
        length = 1;
        if (from[at + 1] == 0xff) continue; // a byte that fills
        int marker = from[at + 1];
        length = 2 + ((size_t)from[at + 2] << 8 | from[at + 3]);
        if (marker < 0xc0 || (marker >= 0xd0 && marker <= 0xd9) || length < 4 || length > end - at) return 0;
        if (marker == 0xfe || (marker >= 0xe0 && marker <= 0xef && marker != 0xe0 && marker != 0xee)) continue;
        memcpy(to + size, from + at, length);
        size += length;
    }
    return size;
}

// The most bytes of so many blocks: any value takes 2 bits at least as a Huffman code, and one beyond a byte 9 of them.
static size_t most_bytes(size_t codes, size_t blocks) { return 4 * codes + 14 * blocks + COEFFICIENTS_SLACK; }

// Reads all codes of the scan, and writes their coefficients. Returns where those end; NULL if they are not ours.
static uint8_t *write_all(gf_jpeg *j, uint32_t mcus, uint8_t *anchors, uint8_t *start, const uint8_t *end) {
    const coefficients_mcu order = coefficients_mcu_of(&j->d);
    huffman_block blocks[10], *each[10];
    for (int i = 0; i < 10; i++) each[i] = &blocks[i];
    int32_t last_dc[4];
    uint8_t *at = start;
    for (uint32_t mcu = 0; mcu < mcus; mcu++) {
        if (mcu % COEFFICIENTS_EVERY == 0) {
            uint32_t offset = (uint32_t)(at - start);
            memcpy(anchors + mcu / COEFFICIENTS_EVERY * sizeof offset, &offset, sizeof offset);
            memset(last_dc, 0, sizeof last_dc);
        }
        memset(blocks, 0, (size_t)order.count * sizeof *blocks);
        if (!huffman_mcu(&j->huffman, mcu, each)) return NULL;
        for (int i = 0; i < order.count; i++) {
            if (end - at < COEFFICIENTS_SLACK) return NULL;
            at = coefficients_write(at, blocks[i], &last_dc[order.component[i]]);
        }
    }
    return at;
}

static int pack(gf_jpeg *j, gf_bytes *memory, size_t before, size_t *size) {
    lj_decompress *d = &j->d;
    size_t header = (size_t)(j->source.next - j->data), codes = j->n - header;
    if (!j->library->start(d) || !huffman_begin(&j->huffman, d)) return 0;
    uint32_t mcus = d->mcus_per_row * d->mcu_rows_in_scan;
    size_t anchors = anchors_of(mcus) * sizeof(uint32_t), most = most_bytes(codes, (size_t)mcus * (size_t)d->blocks_in_mcu);
    if (!gf_bytes_reserve(memory, before + sizeof(record) + header + anchors + most)) return 0;
    uint8_t *at = memory->data + before, *end = memory->data + before + sizeof(record) + header + anchors + most;
    record r = {.header = (uint32_t)copy_header(j, header, at + sizeof r), .mcus = mcus};
    uint8_t *first = at + sizeof r + r.header, *last = r.header ? write_all(j, mcus, first, first + anchors, end) : NULL;
    if (!last) return 0;
    memcpy(r.magic, MAGIC, sizeof r.magic);
    r.bytes = (uint32_t)(last - first - anchors);
    memcpy(at, &r, sizeof r);
    memset(last, 0, COEFFICIENTS_SLACK);
    *size = (size_t)(last - at) + COEFFICIENTS_SLACK;
    return 1;
}

int gf_jpeg_packs(const void *state) {
    const gf_jpeg *j = state;
    return j->stage == HEADER && !j->packed && !j->by_library && j->clean && j->library->decode_mcu && j->n <= HUFFMAN_MOST;
}

int gf_jpeg_pack(void *state, gf_bytes *memory, size_t before, size_t *size) {
    gf_jpeg *j = state;
    if (setjmp(j->broken)) return 0; // the next file begins with the structure as it is after an error
    return pack(j, memory, before, size);
}
