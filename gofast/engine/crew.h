// The crew: the engine's threads, and the queue of tickets they work on. Go starts
// and stops the threads; between, they wait and work in C, and submitting and
// waiting are C too. With goroutines and a channel the same work took 140 us a
// batch of 512 x 784 on 2 cores, and 1.5 processors: every C call longer than 20 us
// loses its P, and threads chase each other. In C it takes 45 us.
#ifndef GOFAST_CREW_H
#define GOFAST_CREW_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "slot.h"
#include "view.h"

// Work in flight: the rows `indices` of `view`, in batches of batch_rows, one
// slot each. Two references: the caller's and the crew's.
typedef struct gf_ticket {
    struct gf_crew *crew;
    struct gf_ticket *next, *previous; // of the crew, under its lock
    const gf_view *view;
    int64_t rows, batch_rows, job_rows;
    uint8_t *labels;           // the caller's memory until the ticket is done
    int64_t given, hinted;     // rows handed out, and told to view->hint; under the crew's lock
    int active, most;          // threads at work, and how many may be; under the lock
    _Atomic int64_t left;      // rows that are not finished
    _Atomic int refs;
    int64_t *indices;          // behind the slots
    uint8_t *records;          // behind the indices; NULL for views without
    gf_slot *slots[];
} gf_ticket;

typedef struct gf_crew gf_crew;
struct gf_crew {
    // The functions, for code that does not link to them.
    gf_ticket *(*submit)(gf_crew *, const gf_view *, const int64_t *indices, const uint8_t *records, int64_t rows,
                         int64_t batch_rows, gf_slot *const *slots, uint8_t *labels, int most);
    int (*wait)(gf_ticket *, const gf_slot *, int64_t milliseconds);
    void (*cancel)(gf_ticket *);
    void (*release)(gf_ticket *);

    pthread_mutex_t lock;
    pthread_cond_t work, done;
    gf_ticket *first, *last;   // unfinished tickets, oldest first
    int processors, spinning, sleeping, waiting, stopping;
    _Atomic int pending;       // tickets with rows to hand out, for a look without the lock
    _Atomic int64_t tickets, filled_rows; // without probes
    gf_crew *older; // crews are never freed: a late caller must find one stopping, not gone
};

// A crew for so many processors. One of them belongs to the thread that waits,
// which helps meanwhile: three busy threads on two processors took 11 to 22 ms an
// epoch of 60,000 x 784, and batches that came 3 ms late, when one was preempted; two
// take 10. Where there is only one processor, nobody spins and who waits sleeps.
gf_crew *gf_crew_new(int processors);

// One thread's work: returns after gf_crew_stop, when the queue is empty.
void gf_crew_work(gf_crew *);

void gf_crew_stop(gf_crew *);

// Takes the work; indices and records are copied. NULL when the crew is stopping or memory is short. most limits
// the threads (0: all). The caller releases the ticket.
gf_ticket *gf_submit(gf_crew *, const gf_view *, const int64_t *indices, const uint8_t *records, int64_t rows,
                     int64_t batch_rows, gf_slot *const *slots, uint8_t *labels, int most);

// Helps with the ticket's rows if there is more than one processor, then waits at most so long until slot (NULL: every
// slot) is no longer pending. 1 when it is not.
int gf_wait(gf_ticket *, const gf_slot *, int64_t milliseconds);

// Drops what is not begun and returns when nothing writes any more.
void gf_cancel(gf_ticket *);

// Cancels every ticket that reads the view.
void gf_crew_forget(gf_crew *, const gf_view *);

void gf_release(gf_ticket *);

#endif
