// Where the time goes. A thread that works has a meter, which needs no lock. What it has measured is added to tallies
// once a job: a job takes 15 us and more, adding to two tallies 20 to 60 ns.
#ifndef GOFAST_METER_H
#define GOFAST_METER_H

#include <stdatomic.h>
#include <stdint.h>
#include <time.h>

#include "trace.h"

// What a thread is at. Each is measured by the clock, 25 ns a change; a picture has two or three.
enum {
    GF_STAGE_OTHER,   // whatever is not told apart
    GF_STAGE_READ,    // bytes of files
    GF_STAGE_HEADER,  // of pictures whose size must be known before they are made
    GF_STAGE_PICTURE, // from a file's bytes to a sample
    GF_STAGE_GATHER,  // rows of a table to a batch
    GF_STAGES,
};

// The parts of GF_STAGE_PICTURE. They change with every row of a picture, and one of them with every 16 x 16 pixels: a
// picture has some thousands of changes. So only one picture in GF_PARTS_EVERY is measured, with the processor's own
// counter, and only the proportions count. On all pictures it costs 5 to 8 %.
enum {
    GF_PART_DECODE,  // opening a picture, and decoding where the next two cannot be told apart
    GF_PART_ENTROPY, // Huffman codes to coefficients
    GF_PART_INVERSE, // coefficients to pixels: inverse transform, interpolation, colour
    GF_PART_RESIZE,
    GF_PART_STEPS,   // the other transforms
    GF_PART_NUMBERS, // bytes to a sample's numbers
    GF_PARTS,
    GF_PARTS_EVERY = 13, // odd: batches mostly have even sizes
};

// What a tally counts. The order is that of meter.go.
enum {
    GF_COUNT_BATCHES,      // handed out
    GF_COUNT_SAMPLES,      // handed out
    GF_COUNT_BYTES,        // of their values
    GF_COUNT_FILLED,       // samples that were made
    GF_COUNT_FILLED_BYTES, // of their values
    GF_COUNT_FILE_BYTES,   // read from files
    GF_COUNT_MARKED,       // JPEGs of which an earlier decode left marks
    GF_COUNT_CACHE_HITS,   // pictures that were made from their records
    GF_COUNT_CACHE_WRITES, // records that were written
    GF_COUNT_WAITS,        // batches that were not ready when they were asked for
    GF_COUNT_WAIT_NS,      // until they were
    GF_COUNT_STAGE_NS,     // of GF_STAGES stages
    GF_COUNT_PART_TICKS = GF_COUNT_STAGE_NS + GF_STAGES, // of GF_PARTS parts
    GF_COUNTERS = GF_COUNT_PART_TICKS + GF_PARTS,
};

// A thread adds to its own stripe, unless there are more threads than stripes: no cache line is fought for.
enum { GF_STRIPES = 32, GF_STRIPE_COUNTERS = 24 };

_Static_assert((int)GF_COUNTERS <= (int)GF_STRIPE_COUNTERS, "a stripe has room for all counters");

// Counts of one engine, one loader, or one process. It lies in the memory of whoever wants to know, on a multiple of 64
// bytes; whoever hands it to others keeps it until they are done.
typedef struct gf_tally {
    _Atomic int64_t stripes[GF_STRIPES][GF_STRIPE_COUNTERS];
} gf_tally;

// Everything that threads of no engine have done, in this process: a forked child begins at zero.
extern gf_tally gf_process_tally;

static inline void gf_tally_add(gf_tally *tally, int stripe, int counter, int64_t n) {
    if (tally) atomic_fetch_add_explicit(&tally->stripes[stripe][counter], n, memory_order_relaxed);
}

// The first stripe is only written to by threads that have Python's lock: without the bus's, it takes 1 ns instead of 7.
static inline void gf_tally_put(gf_tally *tally, int counter, int64_t n) {
    if (!tally) return;
    _Atomic int64_t *at = &tally->stripes[0][counter];
    atomic_store_explicit(at, atomic_load_explicit(at, memory_order_relaxed) + n, memory_order_relaxed);
}

typedef struct gf_meter {
    int32_t stripe; // 0 until the thread's first use
    int32_t stage;
    int64_t begun, since; // 0 while nothing is measured
    const gf_tracer *tracer; // whose trace has the events
    int64_t counters[GF_COUNTERS];
    uint32_t pictures;
    int32_t fine, part;     // whether the parts of this picture are measured
    int32_t decoding;       // the part that a decoder's time counts as, where it does not say more
    uint64_t part_since, ticks[GF_PARTS];
} gf_meter;

extern __thread gf_meter gf_meter_of_thread;

// This thread's.
static inline gf_meter *gf_meter_here(void) { return &gf_meter_of_thread; }

// The same for a view (engine/view.h). A forked child may have two copies of this library, and every thread then has a meter
// of each: what a fill does is measured by that of the copy whose code the fill is, whoever begins and ends it.
gf_meter *gf_meter_of_fill(void);

// This thread's stripe.
int gf_meter_stripe(gf_meter *);

static inline int64_t gf_nanoseconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static inline uint64_t gf_ticks(void) {
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    uint64_t ticks;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
#else
    return (uint64_t)gf_nanoseconds();
#endif
}

// Begins to measure, with a stage. Events are for the trace of whoever calls this.
void gf_meter_begin(gf_meter *, int stage);

// Goes on with another stage. Does nothing where nobody has begun.
void gf_meter_to(gf_meter *, int stage);

// Ends. ticket and rows are for a trace. Returns nanoseconds since the beginning.
int64_t gf_meter_end(gf_meter *, int64_t ticket, int64_t rows);

// Adds all that was measured and counted to both tallies, which may be NULL.
void gf_meter_add(gf_meter *, gf_tally *, gf_tally *);

// The same by a thread that has Python's lock.
void gf_meter_put(gf_meter *, gf_tally *, gf_tally *);

// A picture begins and ends: its parts are measured, or not.
void gf_meter_picture(gf_meter *);
void gf_meter_picture_end(gf_meter *);

// Goes on with another part.
static inline void gf_meter_part(gf_meter *m, int part) {
    if (!m->fine) return;
    uint64_t now = gf_ticks();
    m->ticks[m->part] += now - m->part_since;
    m->part_since = now;
    m->part = part;
}

// What begin, to and end do for a wait of one thread for a ticket: done says whether it is over, or goes on.
void gf_meter_waited(int64_t since, int done, gf_tally *, gf_tally *, int64_t ticket);

#endif
