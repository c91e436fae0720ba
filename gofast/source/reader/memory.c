// Samples that lie in memory already, where they are read: no copy is made.
#include "reader.h"

typedef struct {
    gf_reader reader;
    const uint8_t *const *starts;
    const uint64_t *lengths;
} memory;

static int32_t read_memory(const gf_reader *r, int64_t sample, int64_t most, gf_bytes *lent, gf_sample_bytes *out, gf_fault *fault) {
    (void)lent;
    const memory *m = (const memory *)r;
    size_t length = m->lengths[sample], size = (uint64_t)most < length ? (size_t)most : length;
    *out = (gf_sample_bytes){m->starts[sample], size, length};
    return gf_reader_check(r, length, fault);
}

static void free_memory(gf_reader *r) { free(r); }

gf_reader *gf_memory_reader(const uint8_t *const *starts, const uint64_t *lengths, size_t most) {
    memory *m = malloc(sizeof *m);
    if (!m) return NULL;
    *m = (memory){{read_memory, NULL, free_memory, most}, starts, lengths};
    return &m->reader;
}
