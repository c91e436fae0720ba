#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "run.h"

// The first read of a header: most JPEGs keep their size within it.
static const int64_t HEADER_BYTES = 4 << 10;

static int same(gf_draw_size a, gf_draw_size b) { return a.width == b.width && a.height == b.height; }

// Both: Python stores one after the other.
static int known(gf_draw_size size) { return size.width > 0 && size.height > 0; }

// Sizes are found by several threads and processes at once, each of which finds the same: whole or not at all.
_Static_assert(sizeof(gf_draw_size) == sizeof(uint64_t), "a size is read and written in one go");

static gf_draw_size remembered(const gf_image_program *p, int64_t sample) {
    uint64_t bits = __atomic_load_n((uint64_t *)(void *)&p->sizes[sample], __ATOMIC_RELAXED);
    gf_draw_size size;
    memcpy(&size, &bits, sizeof size);
    return size;
}

static void remember(const gf_image_program *p, int64_t sample, gf_draw_size size) {
    uint64_t bits;
    memcpy(&bits, &size, sizeof bits);
    __atomic_store_n((uint64_t *)(void *)&p->sizes[sample], bits, __ATOMIC_RELAXED);
}

// Reads a sample and makes it. One that is not the picture whose size the draws were made for would give
// another picture than torchvision's.
static int32_t make(gf_image_worker *w, const gf_image_program *p, int64_t sample, const int32_t *record, uint8_t *x, gf_fault *fault) {
    gf_source source;
    gf_sample_bytes bytes;
    int32_t code = p->reader->read(p->reader, sample, INT64_MAX, &w->file, &bytes, fault);
    if (!code) code = gf_formats_open(&source, &w->decoders, &bytes, p->max_pixels, fault);
    if (code) return code;
    gf_draw_size size = {source.picture.width, source.picture.height}, before = remembered(p, sample);
    remember(p, sample, size);
    if (p->steps->record_words && known(before) && !same(size, before))
        return gf_fault_set(fault, GF_FAULT_CHANGED, -1, "the picture is %dx%d and was %dx%d before", size.width, size.height, before.width, before.height);
    return gf_image_run(w, p, &source, record, x, fault);
}

// The program of a view's sample, and the sample's number in its folder; NULL where the view has no such index.
static const gf_image_program *find(const gf_view *view, int64_t index, int64_t *sample) {
    int64_t at = gf_view_position(view, index);
    if (at < 0) return NULL;
    const gf_part *part = gf_view_part(view, at);
    *sample = at - part->start;
    return part->program;
}

// Hints at samples of a range from the one behind i on, at each once.
static void look_ahead(const gf_view *view, const gf_batch *batch, int64_t from, int64_t i, int64_t to) {
    int64_t last = i + GF_VIEW_AHEAD < to ? i + GF_VIEW_AHEAD : to - 1;
    for (int64_t k = i == from ? i + 1 : i + GF_VIEW_AHEAD; k <= last; k++) view->hint(view, batch->indices[k]);
}

// Samples whose header's hint has fetched all of the file: it is not opened once more for the picture, which on a network
// disk would cost what the hint gains. Some are forgotten; then a hint is given twice.
static _Atomic uint64_t fetched[4096];

static _Atomic uint64_t *fetched_entry(const gf_image_program *p, int64_t sample, uint64_t *key) {
    *key = (uint64_t)(uintptr_t)p + (uint64_t)sample; // of a program that is gone it may be another's: one hint less
    return &fetched[(uint64_t)sample % (sizeof fetched / sizeof *fetched)];
}

void gf_image_hint(const gf_view *view, int64_t index) {
    int64_t sample;
    const gf_image_program *p = find(view, index, &sample);
    if (!p || !p->reader->hint) return;
    uint64_t key;
    _Atomic uint64_t *entry = fetched_entry(p, sample, &key);
    if (atomic_compare_exchange_strong_explicit(entry, &key, 0, memory_order_relaxed, memory_order_relaxed)) return;
    p->reader->hint(p->reader, sample);
}

int64_t gf_image_fill(const gf_view *view, const gf_batch *batch, int64_t from, int64_t to) {
    gf_image_worker *worker = gf_image_worker_here();
    for (int64_t i = from; i < to; i++) {
        int64_t sample;
        const gf_image_program *p = find(view, batch->indices[i], &sample);
        if (!p) return i;
        look_ahead(view, batch, from, i, to);
        uint8_t *x = batch->x + i * view->x_bytes;
        gf_fault fault;
        if (p->output == GF_IMAGE_PICTURE) memset(x, 0, sizeof(gf_made_picture));
        if (view->y_bytes) {
            int64_t target = p->targets[sample];
            memcpy(batch->y + i * view->y_bytes, &target, sizeof target);
        }
        const int32_t *record = (const int32_t *)(batch->records + i * view->record_bytes);
        int32_t code = worker ? make(worker, p, sample, record, x, &fault) : gf_fault_set(&fault, GF_FAULT_MEMORY, -1, "no memory for a worker");
        if (code) gf_fault_add(batch->faults, i, &fault);
        if (worker) gf_image_worker_tidy(worker);
    }
    return -1;
}

// Reads as much of the sample as its header takes.
static int32_t probe(gf_image_worker *w, const gf_image_program *p, int64_t sample, gf_draw_size *size, gf_fault *fault) {
    for (int64_t most = HEADER_BYTES;;) {
        gf_sample_bytes bytes;
        int32_t code = p->reader->read(p->reader, sample, most, &w->file, &bytes, fault);
        if (code) return code;
        code = gf_formats_size(&bytes, size, fault);
        if (code != GF_FORMAT_MORE) return code;
        most = fault->offset > 2 * most ? fault->offset : 2 * most;
    }
}

int32_t gf_image_size(const gf_image_program *p, int64_t sample, gf_draw_size *size, gf_fault *fault) {
    *size = remembered(p, sample);
    if (known(*size)) return GF_FAULT_NONE;
    gf_image_worker *worker = gf_image_worker_here();
    int32_t code = worker ? probe(worker, p, sample, size, fault) : gf_fault_set(fault, GF_FAULT_MEMORY, -1, "no memory for a worker");
    if (code) *size = (gf_draw_size){0, 0};
    else remember(p, sample, *size);
    return code;
}

void gf_image_probe_hint(const gf_view *view, int64_t index) {
    int64_t sample;
    const gf_image_program *p = find(view, index, &sample);
    if (!p || !p->reader->hint || known(remembered(p, sample))) return;
    uint64_t key;
    _Atomic uint64_t *entry = fetched_entry(p, sample, &key);
    atomic_store_explicit(entry, key, memory_order_relaxed);
    p->reader->hint(p->reader, sample);
}

int64_t gf_image_probe(const gf_view *view, const gf_batch *batch, int64_t from, int64_t to) {
    for (int64_t i = from; i < to; i++) {
        int64_t sample;
        const gf_image_program *p = find(view, batch->indices[i], &sample);
        if (!p) return i;
        look_ahead(view, batch, from, i, to);
        gf_draw_size size;
        gf_fault fault;
        if (gf_image_size(p, sample, &size, &fault)) gf_fault_add(batch->faults, i, &fault);
        memcpy(batch->x + i * view->x_bytes, &size, sizeof size);
    }
    return -1;
}

int32_t gf_image_from_picture(const gf_image_program *p, gf_picture picture, const int32_t *record, uint8_t *x, gf_fault *fault) {
    gf_image_worker *worker = gf_image_worker_here();
    if (!worker) return gf_fault_set(fault, GF_FAULT_MEMORY, -1, "no memory for a worker");
    gf_source source = gf_source_of(picture);
    int32_t code = gf_image_run(worker, p, &source, record, x, fault);
    gf_image_worker_tidy(worker);
    return code;
}
