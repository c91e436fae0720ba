// The crew: the engine's threads, and the queue of tickets that they work on. Go
// starts and stops the threads. In between they wait and work in C, and callers
// submit and wait in C too. With goroutines and a channel, a batch of 512 x 784 took
// 140 us on 2 cores and kept 1.5 processors busy: every C call longer than 20 us
// loses its P, and threads chase each other. In C it takes 45 us.
#ifndef GOFAST_CREW_H
#define GOFAST_CREW_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "../internal/meter/meter.h"
#include "slot.h"
#include "view.h"

// Work under way: the rows `indices` of `view`, in batches of batch_rows, with one
// slot for each batch. A ticket has two references: the caller's and the crew's.
typedef struct gf_ticket {
    struct gf_crew *crew;
    struct gf_ticket *next, *previous; // in the crew's list, under its lock
    const gf_view *view;
    int64_t rows, batch_rows, job_rows;
    uint8_t *labels;           // the caller's memory; it must stay until the ticket is done
    gf_tally *tally;           // likewise; or NULL
    int64_t number;            // for a trace
    int64_t given, hinted;     // rows handed out, and rows passed to view->hint; under the crew's lock
    int active, most;          // threads at work, and their maximum; under the lock
    int silent;                // as in its request
    _Atomic int64_t left;      // rows that are not finished
    _Atomic int refs;
    int64_t *indices;          // in memory after the slots
    uint8_t *records;          // in memory after the indices; NULL if the view has no records
    gf_slot *slots[];
} gf_ticket;

// What is asked for. Python has the same struct (_core/native.py), whose fields are all of eight bytes.
typedef struct {
    gf_ticket *ticket;      // package capsule leaves the ticket here
    const int64_t *indices; // copied
    const uint8_t *records; // copied; NULL if the view has no records
    int64_t rows, batch_rows;
    gf_slot *const *slots;  // copied; one for each batch
    uint8_t *labels;        // the caller's memory; it must stay until the ticket is done
    int64_t silent;         // not 0: no loader waits for it, and a wait is not counted
} gf_request;

typedef struct gf_crew gf_crew;
struct gf_crew {
    // The functions, for code that does not link to them.
    gf_ticket *(*submit)(gf_crew *, const gf_view *, int most, const gf_request *);
    int (*wait)(gf_ticket *, const gf_slot *, int64_t milliseconds);
    void (*cancel)(gf_ticket *);
    void (*release)(gf_ticket *);

    pthread_mutex_t lock;
    pthread_cond_t work, done;
    gf_ticket *first, *last;   // unfinished tickets, oldest first
    int processors, spinning, sleeping, waiting, stopping;
    _Atomic int pending;       // tickets with rows to hand out; can be read without the lock
    _Atomic int64_t tickets;   // a counter; probes do not count
    _Atomic int numbered;      // threads that have a number
    int64_t born;              // by gf_nanoseconds
    gf_tally *tally;           // counts everything that is done for its tickets
    gf_crew *older; // crews are never freed: a late caller must still find the stopped crew
};

// Makes a crew for so many processors. One processor belongs to the waiting thread,
// which helps meanwhile. On two processors, three busy threads took 11 to 22 ms for an
// epoch of 60,000 x 784, and a batch came 3 ms late when one of them was preempted; two
// threads take 10 ms. With only one processor, nobody spins and a waiting thread sleeps.
gf_crew *gf_crew_new(int processors);

// Runs the work of one thread. Returns after gf_crew_stop, when the queue is empty.
void gf_crew_work(gf_crew *);

void gf_crew_stop(gf_crew *);

// Adds work to the queue. most limits the threads (0: all). What is done for the ticket is counted in its slots' tally
// too, if they have one. Returns NULL if the crew is stopping or memory is short. The caller releases the ticket.
gf_ticket *gf_submit(gf_crew *, const gf_view *, int most, const gf_request *);

// Helps with the ticket's rows if there is more than one processor. Then it waits until slot (NULL: every slot) is no
// longer pending, but at most so long. Returns 1 if the slot is no longer pending.
int gf_wait(gf_ticket *, const gf_slot *, int64_t milliseconds);

// Drops the rows that are not begun. Returns when no thread writes any more.
void gf_cancel(gf_ticket *);

// Cancels every ticket that reads the view.
void gf_crew_forget(gf_crew *, const gf_view *);

void gf_release(gf_ticket *);

// Has the crew's threads and this one do a request, in code that does not link to them. Returns 1 when all is done, 0 when
// stopped() said so, which is asked now and then, and -1 where the crew takes no work.
static inline int gf_crew_do(gf_crew *crew, const gf_view *view, int most, const gf_request *request, int (*stopped)(void)) {
    gf_ticket *ticket = crew->submit(crew, view, most, request);
    if (!ticket) return -1;
    int stop = 0;
    while (!stop && !crew->wait(ticket, NULL, 100)) stop = stopped && stopped();
    if (stop) crew->cancel(ticket);
    crew->release(ticket);
    return !stop;
}

#endif
