// The sizes of pictures, from their headers: what is drawn for a picture may depend on its size.
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../engine/crew.h"
#include "run.h"
#include "samples.h"

// Whether a file has the size now.
static int write_size(const gf_facts_file *file, int64_t sample, uint64_t bits) {
    struct stat now;
    if (fstat((int)file->fd, &now) || (uint64_t)now.st_dev != file->device || (uint64_t)now.st_ino != file->inode) return 0;
    return pwrite((int)file->fd, &bits, sizeof bits, sample * (off_t)sizeof bits) == sizeof bits;
}

void gf_remember_size(const gf_image_program *p, int64_t sample, gf_size size) {
    uint64_t bits, *at = (uint64_t *)(void *)&p->facts[sample].width;
    memcpy(&bits, &size, sizeof bits);
    if (__atomic_load_n(at, __ATOMIC_RELAXED) == bits) return;
    gf_facts_file *file = p->facts_file;
    if (file && atomic_load_explicit(&file->used, memory_order_acquire)) {
        if (write_size(file, sample, bits)) return;
        // They become this process's own, and none is known. Several threads may come here: then some are found once more.
        size_t all = (size_t)p->count * sizeof bits;
        if (mmap(p->facts, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED) return;
        atomic_store_explicit(&file->used, 0, memory_order_release);
    }
    __atomic_store_n(at, bits, __ATOMIC_RELAXED);
}

// The first read of a header: most JPEGs keep their size within it.
static const int64_t HEADER_BYTES = 4 << 10;

// Reads as much of the sample as its header takes.
static int32_t probe(gf_image_worker *w, const gf_image_program *p, int64_t sample, gf_size *size, gf_fault *fault) {
    gf_extent extent = gf_image_extent(p, sample);
    for (int64_t most = HEADER_BYTES;;) {
        gf_sample_bytes bytes;
        int32_t code = p->reader->read(p->reader, &extent, most, &w->file, &bytes, fault);
        if (code) return code;
        code = gf_formats_size(&bytes, size, fault);
        if (code != GF_FORMAT_MORE) return code;
        most = fault->offset > 2 * most ? fault->offset : 2 * most;
    }
}

int32_t gf_image_size(const gf_image_program *p, int64_t sample, gf_size *size, gf_fault *fault) {
    *size = gf_remembered_size(p, sample);
    if (gf_size_is_known(*size)) return GF_FAULT_NONE;
    gf_image_worker *worker = gf_image_worker_here();
    int32_t code = worker ? probe(worker, p, sample, size, fault) : gf_fault_set(fault, GF_FAULT_MEMORY, -1, "no memory for a worker");
    if (code) *size = (gf_size){0, 0};
    else gf_remember_size(p, sample, *size);
    return code;
}

static void probe_hint(const gf_view *view, int64_t index) {
    int64_t sample;
    const gf_image_program *p = gf_image_find(view, index, &sample);
    if (!p || !p->reader->hint || gf_size_is_known(gf_remembered_size(p, sample))) return;
    gf_image_hint_both(p, sample);
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
        const gf_image_program *p = gf_image_find(view, batch->indices[i], &sample);
        if (!p) return i;
        gf_image_look_ahead(view, batch, from, i, to);
        gf_size size;
        gf_fault fault;
        if (gf_image_size(p, sample, &size, &fault)) size = (gf_size){-1, -1};
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
    made->x_bytes = sizeof(gf_size);
    made->y_bytes = made->record_bytes = 0;
    made->probes = 1;
    made->stage = GF_STAGE_HEADER;
    made->job_rows = 4; // a header takes some 20 us
    made->fill = probe_all;
    made->meter = gf_meter_of_fill;
    made->hint = probe_hint;
    return made;
}

int64_t gf_image_known_sizes(const gf_view *view, gf_image_draws *d) {
    int64_t left = 0;
    for (int64_t i = 0; i < d->n; i++) {
        int64_t sample;
        const gf_image_program *p = gf_image_find(view, d->indices[i], &sample);
        if (!p) {
            d->result.done = i;
            return -1;
        }
        if (d->sizes[i].width) continue;
        gf_size size = gf_remembered_size(p, sample);
        if (gf_size_is_known(size)) d->sizes[i] = size;
        else left++;
    }
    return left;
}

int gf_image_find_sizes(const gf_view *view, gf_crew *crew, int most, gf_image_draws *d, int (*stopped)(void)) {
    gf_view *probing = gf_image_sizes_view(view);
    gf_size *found = malloc((size_t)d->n * sizeof *found + 1);
    int64_t *wanted = malloc((size_t)d->n * sizeof *wanted + 1), left = 0;
    int done = probing && found && wanted;
    if (done) {
        for (int64_t i = 0; i < d->n; i++)
            if (!d->sizes[i].width) wanted[left++] = d->indices[i];
        gf_batch batch = {.indices = wanted, .x = (uint8_t *)found};
        gf_slot slot = {.managed.dl_tensor.data = found, .rows_left = left, .tally = d->tally}, *const slots[] = {&slot};
        const gf_request request = {.indices = wanted, .rows = left, .batch_rows = left, .slots = slots};
        done = crew && left > 1 ? gf_crew_do(crew, probing, most, &request, stopped) : -1;
        if (done < 0) {
            gf_meter *meter = probing->meter();
            gf_meter_begin(meter, probing->stage);
            done = probe_until(probing, &batch, 0, left, stopped) < 0;
            gf_meter_end(meter, 0, left);
            gf_meter_add(meter, &gf_process_tally, d->tally);
        }
    }
    for (int64_t i = 0, k = 0; done && i < d->n; i++)
        if (!d->sizes[i].width) d->sizes[i] = found[k++];
    free(probing);
    free(found);
    free(wanted);
    return done;
}
