// A view is what a list of sample indexes points into; a batch is made from it. Both are plain C structures in C
// memory: Go builds them, worker threads and forked processes only read them.
#ifndef GOFAST_VIEW_H
#define GOFAST_VIEW_H

#include <stdint.h>

#include "../internal/fault/fault.h"

// A run of consecutive positions that belong to one program: a table with its transform (gather.h), or an
// index of image files with its plan.
typedef struct {
    const void *program;
    int64_t start; // position of the program's sample 0
} gf_part;

typedef struct gf_view gf_view;

// One batch. Pointers are to its sample 0.
typedef struct {
    const int64_t *indices;
    const uint8_t *records; // the random draws, view->record_bytes for each sample; NULL if that is 0
    uint8_t *x, *y;         // samples and labels to make
    gf_fault_list *faults;  // the list of samples that cannot be made
} gf_batch;

// Makes samples from..to-1 of a batch. Returns -1, or the position of the first bad index: it is out of range, or its
// label has no place in a one-hot vector.
typedef int64_t (*gf_fill_fn)(const gf_view *, const gf_batch *, int64_t from, int64_t to);

// Says that the sample of an index will be made soon.
typedef void (*gf_hint_fn)(const gf_view *, int64_t index);

// Hints are given for so many samples ahead of the one being made. Each sample is a file. If the disk needs 8 ms for a
// file and two threads need 1 ms each for a sample, 16 hints keep all of them busy.
enum { GF_VIEW_AHEAD = 16 };

// Parts laid end to end, optionally seen through a map (torch's Subset). Negative indexes count from the end.
struct gf_view {
    int64_t length;     // valid indexes are -length..length-1
    const int64_t *map; // length positions in the parts, or NULL
    int64_t x_bytes, y_bytes, record_bytes;
    int32_t probes;     // not 0: it makes no samples, it only asks about them
    int32_t stage;      // what a fill counts as, unless it says more itself: meter.h
    int64_t job_rows;   // samples that one thread takes at a time; 0: their size decides
    int32_t dtype_code, dtype_bits; // DLPack's description of an output value
    int32_t ndim;       // of one sample
    int64_t shape[8];
    gf_fill_fn fill;    // so that users of this header need not link to it
    struct gf_meter *(*meter)(void); // the calling thread's, which fill counts with: gf_meter_of_fill, of the same library
    gf_hint_fn hint;    // NULL if that does not help
    int32_t n_parts;
    gf_part parts[];    // ascending start
};

// Turns an index into a position in the parts, or -1.
static inline int64_t gf_view_position(const gf_view *view, int64_t index) {
    if (index < 0) index += view->length;
    if (index < 0 || index >= view->length) return -1;
    return view->map ? view->map[index] : index;
}

// The part that a position lies in.
static inline const gf_part *gf_view_part(const gf_view *view, int64_t at) {
    int32_t lo = 0, hi = view->n_parts - 1;
    while (lo < hi) {
        int32_t mid = (lo + hi + 1) / 2;
        if (view->parts[mid].start <= at) lo = mid;
        else hi = mid - 1;
    }
    return &view->parts[lo];
}

#endif
