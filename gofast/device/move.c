// Batches on their way to a device.
#include "device.h"

#include <stdio.h>

enum { TIMED_BYTES = 1 << 20 }; // below, a copy's time is the driver's own

static int grow(void **array, int64_t *room, size_t each) {
    int64_t more = *room ? 2 * *room : 16;
    void *larger = realloc(*array, (size_t)more * each);
    if (!larger) return 0;
    *array = larger;
    *room = more;
    return 1;
}

// -- events

static gf_cu_event event_of(gf_device *d, int timed, gf_device_fault *fault) {
    if (timed && d->n_timers) return d->timers[--d->n_timers];
    if (!timed && d->n_events) return d->events[--d->n_events];
    gf_cu_event made = NULL;
    if (gf_device_said(d, d->driver->event_create(&made, timed ? 0 : GF_CU_EVENT_DISABLE_TIMING), "cuEventCreate", fault)) return NULL;
    return made;
}

static void give_back(gf_device *d, gf_cu_event event, int timed) {
    if (!event) return;
    gf_cu_event **list = timed ? &d->timers : &d->events;
    int64_t *n = timed ? &d->n_timers : &d->n_events, *room = timed ? &d->timer_room : &d->event_room;
    if (*n == *room && !grow((void **)list, room, sizeof **list)) d->driver->event_destroy(event);
    else (*list)[(*n)++] = event;
}

// -- the queue

static gf_move *move_at(gf_device *d, int64_t number) { return &d->moves[number % d->room]; }

// Makes room for one more move.
static int make_room(gf_device *d) {
    if (d->last - d->first < d->room) return 1;
    int64_t room = d->room ? 2 * d->room : 16;
    gf_move *larger = calloc((size_t)room, sizeof *larger);
    if (!larger) return 0;
    for (int64_t number = d->first; number < d->last; number++) larger[number % room] = *move_at(d, number);
    free(d->moves);
    d->moves = larger;
    d->room = room;
    return 1;
}

static void count_time(gf_device *d, const gf_move *m) {
    float milliseconds = 0;
    if (!m->copied || d->driver->event_elapsed(&milliseconds, m->begun, m->copied)) return;
    atomic_fetch_add_explicit(&d->counts.timed_bytes, m->bytes, memory_order_relaxed);
    atomic_fetch_add_explicit(&d->counts.timed_nanoseconds, (int64_t)(1e6 * (double)milliseconds), memory_order_relaxed);
}

// Gives back what done moves held. Where a device answers with an error, its stream is waited for: a dead one does nothing
// any more, and says so at once.
static void reap(gf_device *d) {
    for (; d->first < d->last; d->first++) {
        gf_move *m = move_at(d, d->first);
        gf_cu_result state = m->done ? d->driver->event_query(m->done) : 0;
        if (state == GF_CU_NOT_READY) return;
        if (state) d->driver->stream_synchronize(d->stream);
        count_time(d, m);
        if (m->slot) gf_slot_release(m->slot);
        give_back(d, m->begun, 1);
        give_back(d, m->copied, 1);
        give_back(d, m->done, 0);
        d->staging_begin = m->staged_to;
    }
}

// -- sending

// Copies a piece. Memory that is not pinned goes through staging; where that is full, the driver takes it at the call.
static int copy_piece(gf_device *d, const gf_piece *piece, const gf_slot *slot, gf_device_fault *fault) {
    const void *from = piece->host ? (const void *)(uintptr_t)piece->host : slot->managed.dl_tensor.data;
    int pinned = piece->host ? piece->pinned != 0 : slot->ring->unpin != NULL;
    if (!piece->bytes) return 0;
    if (!pinned) {
        uint8_t *staged = gf_staging_take(d, piece->bytes);
        _Atomic int64_t *count = staged ? &d->counts.staged_bytes : &d->counts.pageable_bytes;
        atomic_fetch_add_explicit(count, piece->bytes, memory_order_relaxed);
        if (staged) from = memcpy(staged, from, (size_t)piece->bytes);
    }
    return gf_device_said(d, d->driver->copy_in(piece->device, from, (size_t)piece->bytes, d->stream), "cuMemcpyHtoDAsync", fault);
}

static int put_on_stream(gf_device *d, const gf_job *job, gf_move *m, gf_device_fault *fault) {
    int code = 0;
    for (int64_t i = 0; i < job->n; i++) m->bytes += job->piece[i].bytes;
    if (m->bytes >= TIMED_BYTES) {
        m->begun = event_of(d, 1, NULL);
        m->copied = event_of(d, 1, NULL);
    }
    int timed = m->begun && m->copied && !d->driver->event_record(m->begun, d->stream);
    for (int64_t i = 0; i < job->n && !code; i++) code = copy_piece(d, &job->piece[i], m->slot, fault);
    if (code || !timed || d->driver->event_record(m->copied, d->stream)) {
        give_back(d, m->copied, 1);
        m->copied = NULL;
    }
    if (code) return code;
    return job->function ? gf_device_launch(d, job->function, (const gf_making *)(uintptr_t)job->making, (uint64_t)(uintptr_t)d->stream, fault) : 0;
}

int64_t gf_device_send(gf_device *d, const gf_job *job, gf_slot *slot, gf_device_fault *fault) {
    if (gf_device_enter(d, fault)) {
        if (slot) gf_slot_release(slot);
        return 0;
    }
    pthread_mutex_lock(&d->lock);
    reap(d);
    gf_move m = {.number = d->last, .slot = slot, .done = event_of(d, 0, fault)};
    int64_t number = 0;
    if (!make_room(d)) {
        give_back(d, m.done, 0);
        m.done = NULL;
        *fault = (gf_device_fault){-1, "no memory for a batch on its way"};
    }
    if (!m.done) {
        if (slot) gf_slot_release(slot);
    } else {
        int code = put_on_stream(d, job, &m, fault);
        // Also where something was refused: what came before it may be under way, and holds the slot.
        int unmarked = gf_device_said(d, d->driver->event_record(m.done, d->stream), "cuEventRecord", code ? NULL : fault);
        if (unmarked) {
            give_back(d, m.done, 0);
            m.done = NULL;
            d->driver->stream_synchronize(d->stream); // nothing else tells when the copies are done
        }
        m.staged_to = d->staging_end;
        d->moves[d->last++ % d->room] = m;
        if (!code && !unmarked) {
            number = m.number;
            atomic_fetch_add_explicit(&d->counts.moves, 1, memory_order_relaxed);
            atomic_fetch_add_explicit(&d->counts.bytes, m.bytes, memory_order_relaxed);
        }
    }
    pthread_mutex_unlock(&d->lock);
    gf_device_leave(d);
    return number;
}

int gf_device_receive(gf_device *d, int64_t number, uint64_t stream, gf_device_fault *fault) {
    int code = gf_device_enter(d, fault);
    if (code) return code;
    pthread_mutex_lock(&d->lock);
    // A move that is not in the queue has been seen done.
    if (number >= d->first && number < d->last && move_at(d, number)->done)
        code = gf_device_said(d, d->driver->stream_wait((gf_cu_stream)(uintptr_t)stream, move_at(d, number)->done, 0), "cuStreamWaitEvent", fault);
    reap(d);
    pthread_mutex_unlock(&d->lock);
    gf_device_leave(d);
    return code;
}

int gf_device_done(gf_device *d, int64_t number) {
    if (gf_device_enter(d, NULL)) return 1;
    pthread_mutex_lock(&d->lock);
    reap(d);
    int done = number < d->first;
    pthread_mutex_unlock(&d->lock);
    gf_device_leave(d);
    return done;
}
