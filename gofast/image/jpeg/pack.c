// A JPEG as a record for later epochs: its header without what decodes nothing, and its coefficients.
#include <stddef.h>
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

// Writes the next MCU, which is decoded into blocks full of zeroes. Returns 0 if it is not ours.
static int write_next(gf_jpeg *j, huffman_block *const *blocks) {
    packing *p = &j->packing;
    if (p->mcu % COEFFICIENTS_EVERY == 0) {
        uint32_t offset = (uint32_t)(p->next - p->first);
        memcpy(p->anchors + p->mcu / COEFFICIENTS_EVERY * sizeof offset, &offset, sizeof offset);
        memset(p->last_dc, 0, sizeof p->last_dc);
    }
    if (!huffman_mcu(&j->huffman, p->mcu++, blocks)) return 0;
    for (int i = 0; i < p->order.count; i++) {
        if (p->end - p->next < COEFFICIENTS_SLACK) return 0;
        p->next = coefficients_write(p->next, *blocks[i], &p->last_dc[p->order.component[i]]);
    }
    return 1;
}

// Writes all MCUs before this one that are not written yet.
static int write_to(gf_jpeg *j, uint32_t mcu) {
    huffman_block unwanted[10], *nowhere[10];
    for (int i = 0; i < 10; i++) nowhere[i] = &unwanted[i];
    while (j->packing.mcu < mcu) {
        memset(unwanted, 0, (size_t)j->packing.order.count * sizeof *unwanted);
        if (!write_next(j, nowhere)) return 0;
    }
    return 1;
}

int pack_mcu(gf_jpeg *j, uint32_t mcu, huffman_block *const *blocks) {
    return (j->packing.mcu == mcu || write_to(j, mcu)) && write_next(j, blocks);
}

int pack_begin(gf_jpeg *j) {
    const lj_decompress *d = &j->d;
    packing *p = &j->packing;
    size_t codes = j->n - p->header;
    p->mcus = d->mcus_per_row * d->mcu_rows_in_scan;
    size_t anchors = anchors_of(p->mcus) * sizeof(uint32_t), most = most_bytes(codes, (size_t)p->mcus * (size_t)d->blocks_in_mcu);
    size_t all = p->before + sizeof(record) + p->header + anchors + most;
    if (!gf_bytes_reserve(p->memory, all)) return 0;
    uint8_t *at = p->memory->data + p->before;
    record r = {.header = (uint32_t)copy_header(j, p->header, at + sizeof r), .mcus = p->mcus};
    memcpy(r.magic, MAGIC, sizeof r.magic);
    memcpy(at, &r, sizeof r);
    p->anchors = at + sizeof r + r.header;
    p->first = p->next = p->anchors + anchors;
    p->end = p->memory->data + all;
    p->order = coefficients_mcu_of(d);
    return r.header > 0;
}

int gf_jpeg_packs(const void *state) {
    const gf_jpeg *j = state;
    return j->stage == HEADER && !j->packed && !j->by_library && j->clean && j->library->decode_mcu && j->n <= HUFFMAN_MOST;
}

void gf_jpeg_pack(void *state, gf_bytes *memory, size_t before) {
    gf_jpeg *j = state;
    j->packing = (packing){.memory = memory, .before = before, .header = (size_t)(j->source.next - j->data)};
}

int gf_jpeg_packed(void *state, size_t *size) {
    gf_jpeg *j = state;
    packing *p = &j->packing;
    if (!p->memory || !p->mcus || !write_to(j, p->mcus)) return 0;
    uint8_t *at = p->memory->data + p->before;
    uint32_t bytes = (uint32_t)(p->next - p->first);
    memcpy(at + offsetof(record, bytes), &bytes, sizeof bytes);
    memset(p->next, 0, COEFFICIENTS_SLACK);
    *size = (size_t)(p->next - at) + COEFFICIENTS_SLACK;
    return 1;
}
