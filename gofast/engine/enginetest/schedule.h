// Callers of a crew for its tests: in C, so that the thread sanitizer sees what they do.
#ifndef GOFAST_ENGINETEST_H
#define GOFAST_ENGINETEST_H

#include "../crew.h"

// The program of a view whose sample i is eight times i, and whose label is i.
typedef struct {
    int64_t nanoseconds; // of a row
    _Atomic int64_t at_work, most_at_work, filled;
} gft_program;

// A gf_fill_fn.
int64_t gft_fill(const gf_view *, const gf_batch *, int64_t from, int64_t to);

// One thread's calls.
typedef struct {
    gf_crew *crew;
    const gf_view *view;
    gf_ring *ring;      // of slots for gft_most_rows rows; others may take from it too
    uint64_t seed;
    int64_t operations; // tickets
    int64_t finished;   // tickets that the crew took
    int may_stop;       // the crew may be stopped meanwhile
    char wrong[160];    // empty if all was right
} gft_caller;

enum { GFT_MOST_ROWS = 40 };

// Submits tickets, and waits for them, cancels them, or leaves them, as the seed says.
void gft_call(gft_caller *);

// Forks: the child drops a tensor that its parent holds, takes a slot and gives it back. Returns the child's exit status.
int gft_fork(gf_ring *, gf_slot *held);

// Bytes that malloc has handed out.
int64_t gft_memory(void);

#endif
