#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../engine/crew.h"
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

static void probe_hint(const gf_view *view, int64_t index) {
    int64_t sample;
    const gf_image_program *p = find(view, index, &sample);
    if (!p || !p->reader->hint || known(remembered(p, sample))) return;
    uint64_t key;
    _Atomic uint64_t *entry = fetched_entry(p, sample, &key);
    atomic_store_explicit(entry, key, memory_order_relaxed);
    p->reader->hint(p->reader, sample);
}

static int64_t milliseconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static const int64_t ASK_MS = 100;

// Stops at an index that is none, or when stopped() says so.
static int64_t probe_until(const gf_view *view, const gf_batch *batch, int64_t from, int64_t to, int (*stopped)(void)) {
    int64_t asked = stopped ? milliseconds() : 0;
    for (int64_t i = from; i < to; i++) {
        int64_t sample;
        const gf_image_program *p = find(view, batch->indices[i], &sample);
        if (!p) return i;
        look_ahead(view, batch, from, i, to);
        gf_draw_size size;
        gf_fault fault;
        if (gf_image_size(p, sample, &size, &fault)) size = (gf_draw_size){-1, -1};
        // A header that claims nothing: Pillow refuses the file.
        if (!size.width) size.width = GF_ANY_SIDE;
        if (!size.height) size.height = GF_ANY_SIDE;
        memcpy(batch->x + i * view->x_bytes, &size, sizeof size);
        if (!stopped || milliseconds() - asked < ASK_MS) continue;
        if (stopped()) return i;
        asked = milliseconds();
    }
    return -1;
}

static int64_t probe_all(const gf_view *view, const gf_batch *batch, int64_t from, int64_t to) {
    return probe_until(view, batch, from, to, NULL);
}

gf_view *gf_image_sizes_view(const gf_view *view) {
    size_t bytes = sizeof *view + (size_t)view->n_parts * sizeof *view->parts;
    gf_view *made = malloc(bytes);
    if (!made) return NULL;
    memcpy(made, view, bytes);
    made->x_bytes = sizeof(gf_draw_size);
    made->y_bytes = made->record_bytes = 0;
    made->probes = 1;
    made->job_rows = 4; // a header takes some 20 us
    made->fill = probe_all;
    made->hint = probe_hint;
    return made;
}

int64_t gf_image_known_sizes(const gf_view *view, const int64_t *indices, int64_t n, gf_draw_size *sizes, int64_t *bad) {
    int64_t left = 0;
    for (int64_t i = 0; i < n; i++) {
        if (sizes[i].width) continue;
        int64_t sample;
        const gf_image_program *p = find(view, indices[i], &sample);
        if (!p) {
            *bad = i;
            return -1;
        }
        gf_draw_size size = remembered(p, sample);
        if (known(size)) sizes[i] = size;
        else left++;
    }
    return left;
}

// The crew's threads and this one; 0 when stopped() said so, -1 when the crew takes no work.
static int probe_together(const gf_view *view, gf_crew *crew, int most, const gf_batch *batch, int64_t n, int (*stopped)(void)) {
    gf_slot slot = {.managed.dl_tensor.data = batch->x, .rows_left = n}, *const slots[] = {&slot};
    gf_ticket *ticket = crew->submit(crew, view, batch->indices, NULL, n, n, slots, NULL, most);
    if (!ticket) return -1;
    int stop = 0;
    while (!stop && !crew->wait(ticket, NULL, ASK_MS)) stop = stopped();
    if (stop) crew->cancel(ticket);
    crew->release(ticket);
    return !stop;
}

int gf_image_find_sizes(const gf_view *view, gf_crew *crew, int most, const int64_t *indices, int64_t n, gf_draw_size *sizes, int (*stopped)(void)) {
    gf_view *probing = gf_image_sizes_view(view);
    gf_draw_size *found = malloc((size_t)n * sizeof *found + 1);
    int64_t *wanted = malloc((size_t)n * sizeof *wanted + 1), left = 0;
    int done = probing && found && wanted;
    if (done) {
        for (int64_t i = 0; i < n; i++)
            if (!sizes[i].width) wanted[left++] = indices[i];
        gf_batch batch = {.indices = wanted, .x = (uint8_t *)found};
        done = crew && left > 1 ? probe_together(probing, crew, most, &batch, left, stopped) : -1;
        if (done < 0) done = probe_until(probing, &batch, 0, left, stopped) < 0;
    }
    for (int64_t i = 0, k = 0; done && i < n; i++)
        if (!sizes[i].width) sizes[i] = found[k++];
    free(probing);
    free(found);
    free(wanted);
    return done;
}

// How often a program's sample came before in a batch.
typedef struct {
    const void *program;
    int64_t sample;
    int32_t count; // 0: the entry is free
} seen;

static seen *entry_of(seen *table, uint64_t mask, const void *program, int64_t sample) {
    uint64_t at = ((uint64_t)(uintptr_t)program + (uint64_t)sample) * 0x9E3779B97F4A7C15u >> 20;
    for (;; at++) {
        seen *s = &table[at & mask];
        if (!s->count || (s->program == program && s->sample == sample)) return s;
    }
}

int32_t gf_image_draw_stateless(const gf_view *view, const uint64_t *seeds, const uint64_t *epochs, const int64_t *indices,
                                int64_t n, const gf_draw_size *sizes, int32_t *records, gf_draw_result *result) {
    const gf_steps *draws = ((const gf_image_program *)view->parts[0].program)->steps; // the others draw alike
    uint64_t entries = 2;
    while (entries < 2 * (uint64_t)n) entries *= 2;
    seen *table = calloc(entries, sizeof *table);
    if (!table) return -1;
    int32_t code = GF_DRAW_OK;
    int64_t i = 0;
    for (; i < n && code == GF_DRAW_OK; i++) {
        int64_t at = gf_view_position(view, indices[i]);
        if (at < 0) {
            code = -2;
            continue;
        }
        const gf_part *part = gf_view_part(view, at);
        int64_t sample = at - part->start;
        seen *s = entry_of(table, entries - 1, part->program, sample);
        *s = (seen){part->program, sample, s->count + 1};
        int32_t before = s->count - 1;
        code = gf_draw_stateless(draws, seeds[part - view->parts], epochs[part - view->parts], &sample, &before,
                                 &sizes[i], 1, records + i * draws->record_words, result);
    }
    result->done = code == GF_DRAW_OK ? n : i - 1;
    free(table);
    return code;
}

int32_t gf_image_from_picture(const gf_image_program *p, gf_picture picture, const int32_t *record, uint8_t *x, gf_fault *fault) {
    gf_image_worker *worker = gf_image_worker_here();
    if (!worker) return gf_fault_set(fault, GF_FAULT_MEMORY, -1, "no memory for a worker");
    gf_source source = gf_source_of(picture);
    int32_t code = gf_image_run(worker, p, &source, record, x, fault);
    gf_image_worker_tidy(worker);
    return code;
}
