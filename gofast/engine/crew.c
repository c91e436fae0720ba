#include "crew.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// Output of one job: small enough to share a batch among threads, and so large
// that the cost of the lock (0.1 us) does not matter.
static const int64_t JOB_BYTES = 256 << 10;

// How long a thread looks for work before it sleeps. The time is long enough for
// Python to come back with the next batch: an epoch of 118 batches of 512 in a plain
// DataLoader took 27 ms with 50 us, and 18 ms with 200 us. Waking a thread costs the
// submitter 5 to 20 us, most on virtual machines; a job takes about 15 us.
static const int64_t SPIN_NANOSECONDS = 200 * 1000;

static int64_t now(void) { return gf_nanoseconds(); }

// Of tickets, of all crews: a trace tells them apart.
static _Atomic int64_t numbers;

// All crews ever made. The list shows a leak checker that they are meant to stay.
static _Atomic(gf_crew *) newest;

gf_crew *gf_crew_new(int processors) {
    gf_crew *crew = calloc(1, sizeof *crew);
    gf_tally *tally = crew ? aligned_alloc(64, sizeof *tally) : NULL;
    if (!tally) {
        free(crew);
        return NULL;
    }
    memset(tally, 0, sizeof *tally);
    crew->tally = tally;
    crew->born = now();
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&crew->lock, NULL);
    pthread_cond_init(&crew->work, &monotonic);
    pthread_cond_init(&crew->done, &monotonic);
    pthread_condattr_destroy(&monotonic);
    crew->processors = processors;
    crew->submit = gf_submit;
    crew->wait = gf_wait;
    crew->cancel = gf_cancel;
    crew->release = gf_release;
    crew->older = atomic_exchange(&newest, crew);
    return crew;
}

static void unlink_ticket(gf_crew *crew, gf_ticket *t) {
    *(t->previous ? &t->previous->next : &crew->first) = t->next;
    *(t->next ? &t->next->previous : &crew->last) = t->previous;
}

// How many sleepers to wake for a ticket: one for each job, less the threads that are looking already. Under the lock.
static int to_wake(const gf_crew *crew, const gf_ticket *t) {
    int64_t jobs = (t->rows + t->job_rows - 1) / t->job_rows;
    int64_t wanted = (jobs < t->most ? jobs : t->most) - crew->spinning;
    return (int)(wanted < crew->sleeping ? wanted : crew->sleeping);
}

// Tells a trace that a ticket begins or ends.
static void note(int kind, const gf_ticket *t) {
    if (t->number && gf_is_tracing(&gf_tracer_here)) gf_trace_event(kind, now(), 0, t->number, t->rows);
}

gf_ticket *gf_submit(gf_crew *crew, const gf_view *view, int most, const gf_request *r) {
    int64_t rows = r->rows, batch_rows = r->batch_rows, batches = (rows + batch_rows - 1) / batch_rows;
    size_t record_bytes = (size_t)(rows * view->record_bytes);
    gf_ticket *t = malloc(sizeof *t + (size_t)batches * sizeof *t->slots + (size_t)rows * sizeof *t->indices + record_bytes);
    if (!t) return NULL;
    memset(t, 0, sizeof *t);
    t->crew = crew;
    t->view = view;
    t->rows = rows;
    t->batch_rows = batch_rows;
    t->labels = r->labels;
    t->tally = batches ? r->slots[0]->tally : NULL;
    t->silent = r->silent != 0;
    t->most = most > 0 ? most : INT32_MAX;
    t->indices = (int64_t *)(t->slots + batches);
    memcpy(t->slots, r->slots, (size_t)batches * sizeof *t->slots);
    memcpy(t->indices, r->indices, (size_t)rows * sizeof *t->indices);
    if (record_bytes) {
        t->records = (uint8_t *)(t->indices + rows);
        memcpy(t->records, r->records, record_bytes);
    }
    int64_t row_bytes = view->x_bytes + view->y_bytes;
    t->job_rows = view->job_rows ? view->job_rows : JOB_BYTES / (row_bytes > 0 ? row_bytes : 1);
    if (t->job_rows >= batch_rows) t->job_rows -= t->job_rows % batch_rows; // whole batches
    if (t->job_rows < 1) t->job_rows = 1;
    atomic_init(&t->left, rows);
    atomic_init(&t->refs, 2);
    pthread_mutex_lock(&crew->lock);
    if (crew->stopping || rows == 0) {
        pthread_mutex_unlock(&crew->lock);
        if (rows == 0) {
            atomic_init(&t->refs, 1);
            return t;
        }
        free(t);
        return NULL;
    }
    t->previous = crew->last;
    *(crew->last ? &crew->last->next : &crew->first) = t;
    crew->last = t;
    atomic_fetch_add(&crew->pending, 1);
    if (!view->probes) {
        atomic_fetch_add_explicit(&crew->tickets, 1, memory_order_relaxed);
        t->number = 1 + atomic_fetch_add_explicit(&numbers, 1, memory_order_relaxed);
    }
    note(GF_EVENT_SUBMIT, t);
    int wake = to_wake(crew, t);
    pthread_mutex_unlock(&crew->lock);
    while (wake-- > 0) pthread_cond_signal(&crew->work);
    return t;
}

void gf_release(gf_ticket *t) {
    if (atomic_fetch_sub_explicit(&t->refs, 1, memory_order_acq_rel) == 1) free(t);
}

// The work of one thread: rows of a ticket, and the samples to hint at before it makes them.
typedef struct {
    int64_t from, to;
    int n_soon;
    int64_t soon[GF_VIEW_AHEAD];
} job;

// Fills rows of the ticket, batch by batch. A bad index fails its own
// batch; the others are filled.
static void fill_rows(gf_ticket *t, const job *j) {
    const gf_view *view = t->view;
    gf_meter *meter = view->meter();
    gf_meter_begin(meter, j->n_soon ? GF_STAGE_READ : view->stage);
    for (int i = 0; i < j->n_soon; i++) view->hint(view, j->soon[i]);
    if (j->n_soon) gf_meter_to(meter, view->stage);
    int64_t from = j->from, to = j->to;
    while (from < to) {
        int64_t k = from / t->batch_rows, start = k * t->batch_rows;
        int64_t stop = to < start + t->batch_rows ? to : start + t->batch_rows;
        gf_slot *slot = t->slots[k];
        gf_batch batch = {
            .indices = t->indices + start,
            .records = t->records + start * view->record_bytes,
            .x = slot->managed.dl_tensor.data,
            .y = t->labels + start * view->y_bytes,
            .faults = &slot->faults,
        };
        int64_t bad = view->fill(view, &batch, from - start, stop - start);
        if (bad < 0 && !view->probes) {
            meter->counters[GF_COUNT_FILLED] += stop - from;
            meter->counters[GF_COUNT_FILLED_BYTES] += (stop - from) * view->x_bytes;
        }
        // Count first: whoever owns the last batch may look at the counters at once, and free the ticket's tally.
        if (stop == to) {
            gf_meter_end(meter, t->number, j->to - j->from);
            gf_meter_add(meter, t->crew->tally, t->tally);
        }
        if (bad < 0) gf_slot_filled(slot, stop - from);
        else gf_slot_fail(slot, t->indices[start + bad]);
        from = stop;
    }
}

// Notes that a ticket has no more rows to hand out. Under the lock. A thread cannot
// help a ticket that has its maximum of threads, so it may sleep even while the crew
// stops. It is woken here, when nothing else is left to wake it.
static void all_given(gf_crew *crew) {
    if (atomic_fetch_sub(&crew->pending, 1) == 1 && crew->stopping) pthread_cond_broadcast(&crew->work);
}

// Notes the samples that come soon and have no hint yet, from this ticket and the later ones of its view. It copies the
// indices: another ticket may be cancelled at any time, but this ticket keeps its view alive. Under the lock.
static void look_ahead(gf_ticket *t, job *j) {
    int64_t window = GF_VIEW_AHEAD;
    for (gf_ticket *u = t; u && window > 0; u = u->next) {
        if (u->view != t->view) continue;
        if (u->hinted < u->given) u->hinted = u->given;
        int64_t stop = u->rows - u->given < window ? u->rows : u->given + window;
        while (u->hinted < stop) j->soon[j->n_soon++] = u->indices[u->hinted++];
        window -= stop - u->given;
    }
}

// Hands out the next rows of a ticket. Under the lock; 0 when there are none.
static int claim(gf_crew *crew, gf_ticket *t, job *j) {
    if (t->given == t->rows || t->active >= t->most) return 0;
    j->from = t->given;
    j->to = t->rows - t->given < t->job_rows ? t->rows : t->given + t->job_rows;
    t->given = j->to;
    t->active++;
    j->n_soon = 0;
    if (t->view->hint) look_ahead(t, j);
    if (t->given == t->rows) all_given(crew);
    return 1;
}

// Notes that rows are finished. Under the lock. After the last row, the crew
// gives up its reference to the ticket.
static void finish(gf_crew *crew, gf_ticket *t, int64_t rows) {
    int64_t left = atomic_fetch_sub_explicit(&t->left, rows, memory_order_acq_rel) - rows;
    // A batch may be complete before its ticket is. Each waiting thread checks for itself.
    if (crew->waiting) pthread_cond_broadcast(&crew->done);
    if (left == 0) {
        note(GF_EVENT_FINISH, t);
        unlink_ticket(crew, t);
        gf_release(t);
    }
}

// Finds rows of any ticket, the oldest first. Under the lock.
static gf_ticket *claim_any(gf_crew *crew, job *j) {
    for (gf_ticket *t = crew->first; t; t = t->next)
        if (claim(crew, t, j)) return t;
    return NULL;
}

static void spin_for_work(gf_crew *crew) {
    int64_t until = now() + SPIN_NANOSECONDS;
    while (!atomic_load_explicit(&crew->pending, memory_order_relaxed) && now() < until) sched_yield();
}

void gf_crew_work(gf_crew *crew) {
    job j;
    int spun = 0;
    gf_trace_role(1 + atomic_fetch_add(&crew->numbered, 1));
    pthread_mutex_lock(&crew->lock);
    for (;;) {
        gf_ticket *t = claim_any(crew, &j);
        if (t) {
            pthread_mutex_unlock(&crew->lock);
            fill_rows(t, &j);
            pthread_mutex_lock(&crew->lock);
            t->active--;
            finish(crew, t, j.to - j.from);
            spun = 0;
        } else if (crew->stopping && !atomic_load(&crew->pending)) {
            break;
        } else if (!spun && crew->processors > 1) {
            crew->spinning++;
            pthread_mutex_unlock(&crew->lock);
            spin_for_work(crew);
            spun = 1;
            pthread_mutex_lock(&crew->lock);
            crew->spinning--;
        } else {
            crew->sleeping++;
            pthread_cond_wait(&crew->work, &crew->lock);
            crew->sleeping--;
            spun = 0;
        }
    }
    pthread_mutex_unlock(&crew->lock);
}

void gf_crew_stop(gf_crew *crew) {
    pthread_mutex_lock(&crew->lock);
    crew->stopping = 1;
    pthread_cond_broadcast(&crew->work);
    pthread_mutex_unlock(&crew->lock);
}

static int settled(gf_ticket *t, const gf_slot *slot) {
    if (slot && atomic_load_explicit(&((gf_slot *)slot)->status, memory_order_acquire) != GF_SLOT_PENDING) return 1;
    return atomic_load_explicit(&t->left, memory_order_acquire) == 0;
}

// Helps and waits; begun is now.
static void wait_for(gf_ticket *t, const gf_slot *slot, int64_t begun, int64_t milliseconds) {
    gf_crew *crew = t->crew;
    int64_t start = begun, until = start + milliseconds * 1000000;
    job j;
    pthread_mutex_lock(&crew->lock);
    while (!settled(t, slot)) {
        if (crew->processors > 1 && claim(crew, t, &j)) { // the waiting thread helps
            pthread_mutex_unlock(&crew->lock);
            fill_rows(t, &j);
            pthread_mutex_lock(&crew->lock);
            t->active--;
            finish(crew, t, j.to - j.from);
            start = now();
            if (start >= until) break;
            continue;
        }
        pthread_mutex_unlock(&crew->lock);
        while (crew->processors > 1 && !settled(t, slot) && now() - start < SPIN_NANOSECONDS) sched_yield();
        pthread_mutex_lock(&crew->lock);
        if (settled(t, slot)) break;
        struct timespec limit = {until / 1000000000, until % 1000000000};
        crew->waiting++;
        int late = pthread_cond_timedwait(&crew->done, &crew->lock, &limit);
        crew->waiting--;
        if (late) break;
    }
    pthread_mutex_unlock(&crew->lock);
}

int gf_wait(gf_ticket *t, const gf_slot *slot, int64_t milliseconds) {
    if (settled(t, slot)) return 1;
    int64_t begun = now();
    wait_for(t, slot, begun, milliseconds);
    int done = settled(t, slot);
    if (!t->view->probes && !t->silent) gf_meter_waited(begun, done, t->crew->tally, t->tally, t->number);
    return done;
}

// Removes the rows that no thread has begun. Under the lock.
static void drop_rest(gf_crew *crew, gf_ticket *t) {
    int64_t rest = t->rows - t->given;
    if (!rest) return;
    t->given = t->rows;
    all_given(crew);
    finish(crew, t, rest);
}

void gf_cancel(gf_ticket *t) {
    gf_crew *crew = t->crew;
    pthread_mutex_lock(&crew->lock);
    drop_rest(crew, t);
    while (atomic_load_explicit(&t->left, memory_order_acquire) != 0) {
        crew->waiting++;
        pthread_cond_wait(&crew->done, &crew->lock);
        crew->waiting--;
    }
    pthread_mutex_unlock(&crew->lock);
}

void gf_crew_forget(gf_crew *crew, const gf_view *view) {
    pthread_mutex_lock(&crew->lock);
    for (;;) {
        gf_ticket *t = crew->first;
        while (t && t->view != view) t = t->next;
        if (!t) break;
        atomic_fetch_add_explicit(&t->refs, 1, memory_order_relaxed);
        drop_rest(crew, t);
        pthread_mutex_unlock(&crew->lock);
        gf_cancel(t);
        gf_release(t);
        pthread_mutex_lock(&crew->lock);
    }
    pthread_mutex_unlock(&crew->lock);
}
