// What can be wrong with single samples of a batch. The other samples are still made. Python decides about the
// bad ones: an error, another sample, or a decode by Pillow.
#ifndef GOFAST_FAULT_H
#define GOFAST_FAULT_H

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

// The order is that of Go's fault.Code and of Python's _core/faults.Code; test_faults.py compares them.
enum {
    GF_FAULT_NONE,
    GF_FAULT_READ,        // the file cannot be opened or read
    GF_FAULT_FORMAT,      // a broken picture: Pillow raises too
    GF_FAULT_UNSUPPORTED, // Pillow must decode this one
    GF_FAULT_LIMIT,       // more pixels than are allowed
    GF_FAULT_MEMORY,      // memory is short
    GF_FAULT_CHANGED,     // the file has changed since its size was read
    GF_FAULT_CROP,        // the picture is too small for a step: torchvision or Pillow raises ValueError
};

// One fault, with the decoder's text if it has one.
typedef struct {
    int32_t code;
    int64_t offset; // in the file, or -1
    char text[160];
} gf_fault;

// A fault of one sample of a batch.
typedef struct gf_sample_fault {
    struct gf_sample_fault *next;
    int64_t position; // in the batch
    gf_fault fault;
} gf_sample_fault;

typedef struct {
    _Atomic(gf_sample_fault *) first;
} gf_fault_list;

// Adds a fault. Any thread may call it. Returns 0 if memory is short.
static inline int gf_fault_add(gf_fault_list *list, int64_t position, const gf_fault *fault) {
    gf_sample_fault *entry = malloc(sizeof *entry);
    if (!entry) return 0;
    entry->position = position;
    entry->fault = *fault;
    entry->next = atomic_load_explicit(&list->first, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&list->first, &entry->next, entry, memory_order_release, memory_order_relaxed)) {
    }
    return 1;
}

// Frees all faults. Call it only when no thread adds any.
static inline void gf_fault_clear(gf_fault_list *list) {
    gf_sample_fault *entry = atomic_exchange_explicit(&list->first, NULL, memory_order_acquire);
    while (entry) {
        gf_sample_fault *next = entry->next;
        free(entry);
        entry = next;
    }
}

#endif
