#include "meter.h"

#include <pthread.h>
#include <string.h>

_Alignas(64) gf_tally gf_process_tally;
__thread gf_meter gf_meter_of_thread;

static _Atomic int threads;
static pthread_once_t once = PTHREAD_ONCE_INIT;

// What the parent has done is not the child's. Its thread that forks goes on here; a job may be under way in Go's tests only.
static void after_fork(void) {
    memset(&gf_process_tally, 0, sizeof gf_process_tally);
    memset(gf_meter_of_thread.counters, 0, sizeof gf_meter_of_thread.counters);
    gf_meter_of_thread.pictures = 0;
}

static void prepare(void) { pthread_atfork(NULL, NULL, after_fork); }

int gf_meter_stripe(gf_meter *m) {
    if (!m->stripe) {
        pthread_once(&once, prepare);
        m->stripe = 1 + atomic_fetch_add(&threads, 1) % (GF_STRIPES - 1); // the first is for who has Python's lock
    }
    return m->stripe;
}

gf_meter *gf_meter_of_fill(void) {
    gf_meter *m = gf_meter_here();
    gf_meter_stripe(m);
    return m;
}

void gf_meter_begin(gf_meter *m, int stage) {
    m->tracer = &gf_tracer_here;
    m->stage = stage;
    m->begun = m->since = gf_nanoseconds();
}

// Counts the time of the stage that ends now.
static void stop(gf_meter *m) {
    int64_t now = gf_nanoseconds();
    m->counters[GF_COUNT_STAGE_NS + m->stage] += now - m->since;
    if (m->stage != GF_STAGE_OTHER && gf_is_tracing(m->tracer)) m->tracer->event(m->stage, m->since, now - m->since, 0, 0);
    m->since = now;
}

void gf_meter_to(gf_meter *m, int stage) {
    if (!m->since || m->stage == stage) return;
    stop(m);
    m->stage = stage;
}

int64_t gf_meter_end(gf_meter *m, int64_t ticket, int64_t rows) {
    stop(m);
    if (gf_is_tracing(m->tracer)) m->tracer->event(GF_EVENT_JOB, m->begun, m->since - m->begun, ticket, rows);
    int64_t ns = m->since - m->begun;
    m->since = 0;
    return ns;
}

void gf_meter_add(gf_meter *m, gf_tally *one, gf_tally *two) {
    for (int i = 0; i < GF_COUNTERS; i++) {
        int64_t n = m->counters[i];
        if (!n) continue;
        m->counters[i] = 0;
        gf_tally_add(one, m->stripe, i, n);
        gf_tally_add(two, m->stripe, i, n);
    }
}

void gf_meter_put(gf_meter *m, gf_tally *one, gf_tally *two) {
    for (int i = 0; i < GF_COUNTERS; i++) {
        int64_t n = m->counters[i];
        if (!n) continue;
        m->counters[i] = 0;
        gf_tally_put(one, i, n);
        gf_tally_put(two, i, n);
    }
}

void gf_meter_picture(gf_meter *m) {
    m->decoding = m->part = GF_PART_DECODE;
    m->fine = m->since && m->pictures++ % GF_PARTS_EVERY == 0; // the first too, so that there is always something to say
    if (!m->fine) return;
    memset(m->ticks, 0, sizeof m->ticks);
    m->part_since = gf_ticks();
}

// The counters of two processors may differ where a machine is old: then the picture does not count.
static const uint64_t MOST_TICKS = (uint64_t)1 << 40;

void gf_meter_picture_end(gf_meter *m) {
    if (!m->fine) return;
    gf_meter_part(m, GF_PART_STEPS);
    m->fine = 0;
    for (int i = 0; i < GF_PARTS; i++)
        if (m->ticks[i] > MOST_TICKS) return;
    for (int i = 0; i < GF_PARTS; i++) m->counters[GF_COUNT_PART_TICKS + i] += (int64_t)m->ticks[i];
}

void gf_meter_waited(int64_t since, int done, gf_tally *one, gf_tally *two, int64_t ticket) {
    int stripe = gf_meter_stripe(gf_meter_here());
    int64_t ns = gf_nanoseconds() - since;
    gf_tally *const both[] = {one, two};
    for (int i = 0; i < 2; i++) {
        gf_tally_add(both[i], stripe, GF_COUNT_WAIT_NS, ns);
        if (done) gf_tally_add(both[i], stripe, GF_COUNT_WAITS, 1);
    }
    if (gf_is_tracing(&gf_tracer_here)) gf_trace_event(GF_EVENT_WAIT, since, ns, ticket, 0);
}
