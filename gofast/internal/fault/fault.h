// What can be wrong with single samples of a batch. The others are made all the same; Python decides what
// becomes of these: an error, another sample, or Pillow's help.
#ifndef GOFAST_FAULT_H
#define GOFAST_FAULT_H

#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

// The order is that of Go's fault.Code and of Python's _core/faults.Code; test_faults.py compares them.
enum {
    GF_FAULT_NONE,
    GF_FAULT_READ,        // the file cannot be opened or read
    GF_FAULT_FORMAT,      // a broken picture: Pillow raises too
    GF_FAULT_UNSUPPORTED, // Pillow must decode this one
    GF_FAULT_LIMIT,       // more pixels than are allowed
    GF_FAULT_MEMORY,      // memory is short
    GF_FAULT_CHANGED,     // not the file that it was when its size was read
    GF_FAULT_CROP,        // the picture is too small for a step: torchvision or Pillow raise ValueError
};

// One fault, in the words of the decoder where it has any.
typedef struct {
    int32_t code;
    int64_t offset; // in the file, or -1
    char text[160];
} gf_fault;

// Says what is wrong, and returns its code.
__attribute__((format(printf, 4, 5))) static inline int32_t gf_fault_set(gf_fault *fault, int32_t code, int64_t offset, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(fault->text, sizeof fault->text, format, args);
    va_end(args);
    fault->code = code;
    fault->offset = offset;
    return code;
}

// A fault of one sample of a batch.
typedef struct gf_sample_fault {
    struct gf_sample_fault *next;
    int64_t position; // in the batch
    gf_fault fault;
} gf_sample_fault;

typedef struct {
    _Atomic(gf_sample_fault *) first;
} gf_fault_list;

// Notes a fault; any thread. 0 when memory is short.
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

// Forgets all faults; when nobody adds any.
static inline void gf_fault_clear(gf_fault_list *list) {
    gf_sample_fault *entry = atomic_exchange_explicit(&list->first, NULL, memory_order_acquire);
    while (entry) {
        gf_sample_fault *next = entry->next;
        free(entry);
        entry = next;
    }
}

#endif
