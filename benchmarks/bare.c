// The bare pipeline: gofast's own function for a sample, called by threads over a list of samples, with nothing around it.
// What an engine, a border to Python and a loader cost is the difference to this.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "../gofast/engine/view.h"

// Batches go to one of so many buffers in turn.
enum { BUFFERS = 3, MOST_THREADS = 64 };

typedef struct {
    const gf_view *view;
    const int64_t *indices;
    const uint8_t *records;
    int64_t n, batch;
    uint8_t *buffer;
    int64_t *labels;
    gf_fault_list *faults;
    atomic_int_fast64_t next, failed;
} filling;

// A buffer for all batches, of huge pages where there are any; NULL when memory is short. It lives as long as the process.
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
    filling *f = argument;
    for (int64_t i; (i = atomic_fetch_add(&f->next, 1)) < f->n;) {
        int64_t k = i / f->batch, start = k * f->batch;
        gf_batch batch = {
            .indices = f->indices + start,
            .records = f->records + start * f->view->record_bytes,
            .x = f->buffer + (k % BUFFERS) * f->batch * f->view->x_bytes,
            .y = (uint8_t *)(f->labels + start),
            .faults = f->faults,
        };
        if (f->view->fill(f->view, &batch, i - start, i - start + 1) >= 0) atomic_fetch_add(&f->failed, 1);
    }
    return NULL;
}

// Makes n samples on so many threads. records may be NULL. Returns how many samples failed: all where a thread cannot start.
int64_t bare_fill(const void *view, const int64_t *indices, const uint8_t *records, int64_t n, int64_t batch,
                  uint8_t *buffer, int threads) {
    pthread_t started[MOST_THREADS];
    gf_fault_list faults;
    memset(&faults, 0, sizeof faults);
    filling f = {view, indices, records, n, batch, buffer, calloc((size_t)n, sizeof(int64_t)), &faults, 0, 0};
    int count = 0;
    while (f.labels && count < threads && count < MOST_THREADS && !pthread_create(&started[count], 0, fill, &f)) count++;
    for (int i = 0; i < count; i++) pthread_join(started[i], 0);
    free(f.labels);
    int64_t failed = count < threads ? n : f.failed;
    for (const gf_sample_fault *entry = atomic_load(&faults.first); entry; entry = entry->next) failed++;
    gf_fault_clear(&faults);
    return failed;
}
