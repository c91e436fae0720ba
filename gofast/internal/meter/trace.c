#include "trace.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/syscall.h>

gf_tracer gf_tracer_here = {.event = gf_trace_event};

static _Atomic(gf_trace_ring *) rings;
static _Atomic int number;
static _Atomic int64_t most_events;

static __thread gf_trace_ring *here;
static __thread int64_t role;
static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void let_go(void *ring) { atomic_store_explicit(&((gf_trace_ring *)ring)->taken, 0, memory_order_release); }

// The other threads are the parent's, and so is the trace.
static void after_fork(void) {
    atomic_store(&gf_tracer_here.tracing, 0);
    atomic_store(&rings, NULL);
    here = NULL;
}

static void prepare(void) {
    pthread_key_create(&key, let_go);
    pthread_atfork(NULL, NULL, after_fork);
}

gf_trace_ring *gf_trace_rings(void) { return atomic_load_explicit(&rings, memory_order_acquire); }
void gf_trace_role(int of_engine) { role = of_engine; }

int gf_trace_start(int64_t events) {
    pthread_once(&once, prepare);
    int none = 0;
    if (!atomic_compare_exchange_strong(&gf_tracer_here.tracing, &none, -1)) return 0; // -1: nobody writes yet
    atomic_store(&most_events, events);
    atomic_fetch_add(&number, 1);
    atomic_store(&gf_tracer_here.tracing, 1);
    return 1;
}

int gf_trace_stop(void) {
    atomic_store(&gf_tracer_here.tracing, 0);
    return atomic_load(&number);
}

// A ring that nobody has, and whose events nobody wants; else a new one. NULL when memory is short.
static gf_trace_ring *take_ring(int trace, int64_t most) {
    for (gf_trace_ring *r = gf_trace_rings(); r; r = r->next) {
        int free_ring = 0;
        if (r->most == most && atomic_load(&r->trace) != trace && atomic_compare_exchange_strong(&r->taken, &free_ring, 1)) return r;
    }
    gf_trace_ring *made = calloc(1, sizeof *made + (size_t)most * sizeof *made->events);
    if (!made) return NULL;
    made->most = most;
    atomic_init(&made->taken, 1);
    made->next = gf_trace_rings();
    while (!atomic_compare_exchange_weak(&rings, &made->next, made)) {
    }
    return made;
}

void gf_trace_event(int kind, int64_t start, int64_t ns, int64_t ticket, int64_t rows) {
    int trace = atomic_load(&number);
    int64_t most = atomic_load_explicit(&most_events, memory_order_relaxed);
    if (!here || here->most != most) {
        gf_trace_ring *old = here;
        here = take_ring(trace, most);
        if (old) let_go(old);
        pthread_setspecific(key, here);
        if (!here) return;
    }
    if (atomic_load_explicit(&here->trace, memory_order_relaxed) != trace) {
        atomic_store_explicit(&here->written, 0, memory_order_release);
        atomic_store(&here->thread, (int64_t)syscall(SYS_gettid));
        atomic_store(&here->role, role);
        atomic_store(&here->trace, trace);
    }
    int64_t n = atomic_load_explicit(&here->written, memory_order_relaxed);
    gf_event *e = &here->events[n % most];
    atomic_store_explicit(&e->start, start, memory_order_relaxed);
    atomic_store_explicit(&e->ns, ns, memory_order_relaxed);
    atomic_store_explicit(&e->ticket, ticket, memory_order_relaxed);
    atomic_store_explicit(&e->what, (int64_t)kind << 32 | (rows & 0xffffffff), memory_order_relaxed);
    atomic_store_explicit(&here->written, n + 1, memory_order_release);
}
