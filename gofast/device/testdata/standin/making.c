// Does a kernel: looks up every range that its gf_making names, and every row that it asks for, then runs it thread by thread.
#include "kernels.h"
#include "state.h"

static const uint8_t type_bytes[] = {0, 1, 2, 4, 8, 4, 8, 2, 2};

const kernel *find_kernel(const char *name) {
    for (int i = 0; i < N_KERNELS; i++)
        if (!strcmp(all_kernels[i].name, name)) return &all_kernels[i];
    return NULL;
}

typedef struct {
    const object *stream;
    const char *call, *name;
} where;

// Whether `count` values of so many bytes at an address may be used.
static int may_use(const where *w, const void *address, __int128 count, uint64_t each, const char *what) {
    char words[64];
    snprintf(words, sizeof words, "%s of %s", what, w->name);
    if (count < 0 || count * each > (__int128)1 << 62) {
        violation(w->call, "out of bounds: %s are of a wild number", words);
        return 0;
    }
    if (count && (uint64_t)(uintptr_t)address % each) {
        violation(w->call, "misaligned: %s at %p", words, address);
        return 0;
    }
    return reach(w->call, w->stream, (uint64_t)(uintptr_t)address, (uint64_t)(count * each), words);
}

// Finds the last row that is asked for.
static int find_rows(const where *w, const gf_making *m, int64_t *last) {
    *last = m->count - 1;
    if (!m->rows) return 1;
    if (!may_use(w, m->rows, m->count, 8, "rows")) return 0;
    *last = 0;
    for (int64_t i = 0; i < m->count; i++) {
        if (m->rows[i] < 0) {
            violation(w->call, "out of bounds: %s is asked for row %lld", w->name, (long long)m->rows[i]);
            return 0;
        }
        if (m->rows[i] > *last) *last = m->rows[i];
    }
    return 1;
}

// How many channels the kernel finds in a row: see place_of and channel in kernels.cu.
static int64_t channels_of(const gf_making *m) {
    if (m->channels <= 1 && !m->boxes) return 1;
    return m->last ? m->plane : (m->width + m->plane - 1) / m->plane;
}

static int shape_is_sound(const where *w, const gf_making *m) {
    const char *wrong = NULL;
    if (m->count < 0 || m->width < 0 || m->label_bytes < 0 || m->width > UINT32_MAX) wrong = "a wild size";
    else if ((m->channels > 1 || m->boxes) && (m->plane <= 0 || m->plane > UINT32_MAX)) wrong = "no planes";
    else if (m->boxes && m->picture_width <= 0) wrong = "boxes and no picture";
    else if (m->boxes && (m->n_erasings < 0 || m->n_erasings > GF_MAKING_ERASINGS)) wrong = "a wild number of boxes";
    else if (m->boxes && channels_of(m) > 4) wrong = "boxes and more than 4 channels";
    else if (m->mean && !m->std) wrong = "mean without std";
    if (wrong) violation(w->call, "%s has %s", w->name, wrong);
    return !wrong;
}

static int is_sound(const where *w, const kernel *k, const gf_making *m) {
    int64_t last;
    uint64_t stored = type_bytes[k->stored], made = type_bytes[k->made];
    if (!shape_is_sound(w, m) || !find_rows(w, m, &last)) return 0;
    __int128 rows = (__int128)last + 1, samples = m->count;
    if (!may_use(w, m->stored, rows * m->width, stored, "stored rows")) return 0;
    if (!may_use(w, m->made, samples * m->width, made, "samples")) return 0;
    if (k->stored == 1 && m->results && !may_use(w, m->results, 256 * (m->channels == 1 ? 1 : channels_of(m)), made, "results")) return 0;
    if (m->mean && (!may_use(w, m->mean, m->width, 4, "means") || !may_use(w, m->std, m->width, 4, "deviations"))) return 0;
    if (m->label_bytes && !may_use(w, m->labels, rows * m->label_bytes, 1, "labels")) return 0;
    if (m->label_bytes && !may_use(w, m->labels_made, samples * m->label_bytes, 1, "made labels")) return 0;
    return !m->boxes || may_use(w, m->boxes, samples * m->n_erasings * 4, 4, "boxes");
}

void run_kernel(const object *stream, const operation *o) {
    if (!o->function->module->live) {
        violation(o->call, "the module of %s is unloaded before it ran", o->function->kernel->name);
        return;
    }
    const kernel *k = o->function->kernel;
    where w = {stream, o->call, k->name};
    if (!o->making.count || !is_sound(&w, k, &o->making)) return;
    kernels_x = o->across;
    kernels_y = o->down;
    for (kernel_y = 0; kernel_y < kernels_y; kernel_y++)
        for (kernel_x = 0; kernel_x < kernels_x; kernel_x++) k->run(o->making);
}
