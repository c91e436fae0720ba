// Objects that lie in memory already, where they are read: no copy is made but of pictures without a file format.
#include <string.h>

#include "reader.h"

typedef struct {
    gf_reader reader;
    const uint8_t *const *starts;
    const uint64_t *lengths;
} memory;

static int32_t read_memory(const gf_reader *r, const gf_extent *e, int64_t most, gf_bytes *lent, gf_sample_bytes *out, gf_fault *fault) {
    const memory *m = (const memory *)r;
    size_t length = 0;
    if (e->packed && e->packed != GF_PIXELS) return gf_fault_set(fault, GF_FAULT_UNSUPPORTED, -1, "packed bytes in memory");
    int32_t code = gf_reader_length(r, e, (int64_t)m->lengths[e->object], &length, fault);
    if (code) return code;
    if (e->packed == GF_PIXELS) {
        size_t there = gf_reader_pixels(length, most);
        if (!gf_bytes_reserve(lent, GF_PIXELS_ROOM + there)) return gf_fault_set(fault, GF_FAULT_MEMORY, -1, "no memory for %zu bytes", there);
        memcpy(lent->data + GF_PIXELS_ROOM, m->starts[e->object] + e->offset, there);
        return gf_reader_pixels_file(lent->data + GF_PIXELS_ROOM, there, length, most, out, fault);
    }
    *out = (gf_sample_bytes){.data = m->starts[e->object] + e->offset, .size = (uint64_t)most < length ? (size_t)most : length, .length = length};
    return GF_FAULT_NONE;
}

static int no_stamp(const gf_reader *r, const gf_extent *e, gf_stamp *stamp) {
    (void)r;
    (void)e;
    *stamp = (gf_stamp){0};
    return 1;
}

static void free_memory(gf_reader *r) { free(r); }

gf_reader *gf_memory_reader(const uint8_t *const *starts, const uint64_t *lengths, size_t most) {
    memory *m = malloc(sizeof *m);
    if (!m) return NULL;
    *m = (memory){{read_memory, NULL, no_stamp, free_memory, most}, starts, lengths};
    return &m->reader;
}
