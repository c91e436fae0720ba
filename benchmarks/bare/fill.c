#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "../../gofast/engine/view.h"
#include "bare.h"
#include "threads.h"

typedef struct {
    const gf_view *view;
    const int64_t *indices;
    const uint8_t *records;
    int64_t n, batch;
    uint8_t *buffer;
    int64_t *labels;
    gf_fault_list *faults;
} filling;

uint8_t *bare_buffer(int64_t bytes) {
    const int64_t huge = 2 << 20;
    uint8_t *m = mmap(NULL, (size_t)(bytes + huge), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (m == MAP_FAILED) return NULL;
    m += (huge - (int64_t)((uintptr_t)m % huge)) % huge;
    madvise(m, (size_t)bytes, MADV_HUGEPAGE);
    memset(m, 0, (size_t)bytes);
    return m;
}

static void *fill(void *argument) {
    bare_jobs *jobs = argument;
    const filling *f = jobs->what;
    for (int64_t i; (i = atomic_fetch_add(&jobs->next, 1)) < jobs->n;) {
        int64_t k = i / f->batch, start = k * f->batch;
        gf_batch batch = {
            .indices = f->indices + start,
            .records = f->records + start * f->view->record_bytes,
            .x = f->buffer + (k % BARE_BUFFERS) * f->batch * f->view->x_bytes,
            .y = (uint8_t *)(f->labels + start),
            .faults = f->faults,
        };
        if (f->view->fill(f->view, &batch, i - start, i - start + 1) >= 0) atomic_fetch_add(&jobs->failed, 1);
    }
    return NULL;
}

int64_t bare_fill(const void *view, const int64_t *indices, const uint8_t *records, int64_t n, int64_t batch,
                  uint8_t *buffer, int threads) {
    gf_fault_list faults;
    memset(&faults, 0, sizeof faults);
    filling f = {view, indices, records, n, batch, buffer, calloc((size_t)n, sizeof(int64_t)), &faults};
    if (!f.labels) return n;
    bare_jobs jobs = {.n = n, .work = fill, .what = &f};
    int64_t failed = bare_run(&jobs, threads);
    free(f.labels);
    for (const gf_sample_fault *entry = atomic_load(&faults.first); entry; entry = entry->next) failed++;
    gf_fault_clear(&faults);
    return failed;
}
