// What threads did when, for a trace: each thread that works while one is made writes what it has done into a ring of
// its own. Nobody waits: a full ring loses its oldest events, and a reader leaves out what is just being overwritten.
#ifndef GOFAST_TRACE_H
#define GOFAST_TRACE_H

#include <stdatomic.h>
#include <stdint.h>

// Kinds of events. Stages come first, by their number. The order is that of trace.go.
enum {
    GF_EVENT_JOB = 16, // a thread's work on rows of a ticket
    GF_EVENT_WAIT,     // a thread waited for a ticket
    GF_EVENT_SUBMIT,   // a ticket begins
    GF_EVENT_FINISH,   // and is finished, or given up
};

typedef struct {
    _Atomic int64_t start, ns; // when, by CLOCK_MONOTONIC, and for how long
    _Atomic int64_t ticket;    // its number; 0: none
    _Atomic int64_t what;      // kind << 32 | rows
} gf_event;

// A copy of this library, as one that writes events to its trace.
typedef struct {
    _Atomic int tracing;
    void (*event)(int kind, int64_t start, int64_t ns, int64_t ticket, int64_t rows); // gf_trace_event
} gf_tracer;

extern gf_tracer gf_tracer_here;

// Whether a trace is made.
static inline int gf_is_tracing(const gf_tracer *tracer) { return atomic_load_explicit(&tracer->tracing, memory_order_relaxed) > 0; }

typedef struct gf_trace_ring gf_trace_ring;
struct gf_trace_ring {
    gf_trace_ring *next; // all that were ever made: they are used again, and never freed
    _Atomic int taken;   // a living thread has it
    _Atomic int trace;   // the number of the trace that its events belong to
    _Atomic int64_t thread, role;
    _Atomic int64_t written;
    int64_t most;
    gf_event events[];
};

// What a thread is: the number of an engine's thread, from 1 on. It has 0 before.
void gf_trace_role(int number);

// Writes an event of this thread. Call it only where gf_is_tracing.
void gf_trace_event(int kind, int64_t start, int64_t ns, int64_t ticket, int64_t rows);

// Starts a trace with so many events a thread. 0 when there is one already.
int gf_trace_start(int64_t events);
// Ends it. Returns its number, by which its rings are known.
int gf_trace_stop(void);

// All rings; those of earlier traces too.
gf_trace_ring *gf_trace_rings(void);

#endif
