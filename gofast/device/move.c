// Batches on their way to a device.
#include "device.h"

#include <stdio.h>

enum { TIMED_BYTES = 1 << 20 }; // below, a copy's time is the driver's own
enum { STAGED_BYTES = 64 << 10 }; // above, the time would be the processor's that fills the staging
enum { STAGING_BYTES = 64 << 20, STAGING_CHUNK = 8 << 20 };

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

static int64_t nanoseconds(gf_device *d, gf_cu_event from, gf_cu_event to) {
    float milliseconds = 0;
    if (!from || !to || d->driver->event_elapsed(&milliseconds, from, to)) return -1;
    return (int64_t)(1e6 * (double)milliseconds);
}

static void count_time(gf_device *d, const gf_move *m) {
    int64_t copies = nanoseconds(d, m->begun, m->copied), kernel = nanoseconds(d, m->copied, m->made);
    if (copies < 0) return;
    atomic_fetch_add_explicit(&d->counts.timed_bytes, m->bytes, memory_order_relaxed);
    atomic_fetch_add_explicit(&d->counts.timed_nanoseconds, copies, memory_order_relaxed);
    if (kernel > 0) atomic_fetch_add_explicit(&d->counts.kernel_nanoseconds, kernel, memory_order_relaxed);
}

// Waits where no event can tell. A device that answers this with an error too does nothing any more.
static void wait_without_event(gf_device *d) {
    int code = d->driver->stream_synchronize(d->stream);
    if (code && !d->broken.code) gf_device_said(d, code, "cuStreamSynchronize", &d->broken);
}

static int is_over(gf_device *d, const gf_move *m) {
    int code = m->done ? d->driver->event_query(m->done) : 0;
    if (code == GF_CU_NOT_READY) return 0;
    if (code) wait_without_event(d);
    return 1;
}

// Gives back what done moves held.
static void reap(gf_device *d) {
    for (; d->first < d->last; d->first++) {
        gf_move *m = move_at(d, d->first);
        if (!is_over(d, m)) return;
        count_time(d, m);
        if (m->slot) gf_slot_release(m->slot);
        gf_event_give(d, m->begun, 1);
        gf_event_give(d, m->copied, 1);
        gf_event_give(d, m->made, 1);
        gf_event_give(d, m->done, 0);
        if (d->staging_begin < m->staged_to) d->staging_begin = m->staged_to;
    }
}

void gf_moves_forget(gf_device *d) {
    for (; d->first < d->last; d->first++)
        if (move_at(d, d->first)->slot) gf_slot_release(move_at(d, d->first)->slot);
}

// -- sending

static int copy(gf_device *d, uint64_t to, const void *from, int64_t bytes, gf_device_fault *fault) {
    return gf_device_said(d, d->driver->copy_in(to, from, (size_t)bytes, d->stream), "cuMemcpyHtoDAsync", fault);
}

// Pinned memory for at most a chunk, or NULL where none is left: a ring that small things and unpinned batches go through,
// since moves are done in their order. It is free again when staging_begin passes it.
static uint8_t *take_staging(gf_device *d, int64_t bytes) {
    if (d->no_staging) return NULL;
    if (!d->staging) {
        void *made = NULL;
        if (d->driver->host_alloc(&made, STAGING_BYTES, GF_CU_HOST_PORTABLE)) {
            d->no_staging = 1; // asked once: where memory may not be pinned, the next batch's would not be either
            return NULL;
        }
        d->staging = made;
    }
    int64_t at = gf_align(d->staging_end, 64), inside = at % STAGING_BYTES;
    if (inside + bytes > STAGING_BYTES) at += STAGING_BYTES - inside; // not around the end
    if (at + bytes - d->staging_begin > STAGING_BYTES) return NULL;
    d->staging_end = at + bytes;
    return d->staging + at % STAGING_BYTES;
}

// Waits until staging is free, which whoever moves more than that at once must.
static int wait_for_staging(gf_device *d, gf_device_fault *fault) {
    int code = gf_device_said(d, d->driver->stream_synchronize(d->stream), "cuStreamSynchronize", fault);
    if (!code) d->staging_begin = d->staging_end;
    return code;
}

// Copies memory that is not pinned through staging, chunk by chunk. Without any, the driver takes it; that may read it
// later, and the caller's memory must be free when it returns.
static int copy_unpinned(gf_device *d, uint64_t to, const uint8_t *from, int64_t bytes, gf_device_fault *fault) {
    int code = 0;
    for (int64_t at = 0; at < bytes && !code; at += STAGING_CHUNK) {
        int64_t n = bytes - at < STAGING_CHUNK ? bytes - at : STAGING_CHUNK;
        uint8_t *staged = take_staging(d, n);
        if (!staged && !d->no_staging) {
            if ((code = wait_for_staging(d, fault))) return code;
            staged = take_staging(d, n);
        }
        atomic_fetch_add_explicit(staged ? &d->counts.staged_bytes : &d->counts.pageable_bytes, n, memory_order_relaxed);
        if (staged) memcpy(staged, from + at, (size_t)n);
        code = copy(d, to + (uint64_t)at, staged ? staged : from + at, n, fault);
    }
    if (!code && d->no_staging) code = gf_device_said(d, d->driver->stream_synchronize(d->stream), "cuStreamSynchronize", fault);
    return code;
}

static int is_pinned(const gf_piece *piece, const gf_slot *slot) { return piece->host ? piece->pinned != 0 : slot->ring->unpin != NULL; }

static int copy_piece(gf_device *d, const gf_piece *piece, const gf_slot *slot, gf_device_fault *fault) {
    const void *from = piece->host ? (const void *)(uintptr_t)piece->host : slot->managed.dl_tensor.data;
    if (!piece->bytes) return 0;
    return is_pinned(piece, slot) ? copy(d, piece->device, from, piece->bytes, fault) : copy_unpinned(d, piece->device, from, piece->bytes, fault);
}

static int put_on_stream(gf_device *d, const gf_job *job, gf_move *m, gf_device_fault *fault) {
    int code = 0;
    int64_t staged = 0;
    for (int64_t i = 0; i < job->n; i++) {
        m->bytes += job->piece[i].bytes;
        if (!is_pinned(&job->piece[i], m->slot)) staged += job->piece[i].bytes;
    }
    if (m->bytes >= TIMED_BYTES && staged <= STAGED_BYTES) {
        m->begun = gf_event_take(d, 1, NULL);
        m->copied = gf_event_take(d, 1, NULL);
    }
    int timed = m->begun && m->copied && !d->driver->event_record(m->begun, d->stream);
    for (int64_t i = 0; i < job->n && !code; i++) code = copy_piece(d, &job->piece[i], m->slot, fault);
    if (code || !timed || d->driver->event_record(m->copied, d->stream)) {
        gf_event_give(d, m->copied, 1);
        m->copied = NULL;
    }
    if (code || !job->function) return code;
    code = gf_device_launch(d, job->function, (const gf_making *)(uintptr_t)job->making, (uint64_t)(uintptr_t)d->stream, fault);
    if (!code && m->copied && (m->made = gf_event_take(d, 1, NULL)) && d->driver->event_record(m->made, d->stream)) {
        gf_event_give(d, m->made, 1);
        m->made = NULL;
    }
    return code;
}

int64_t gf_device_send(gf_device *d, const gf_job *job, gf_slot *slot, gf_device_fault *fault) {
    if (gf_device_enter(d, fault)) {
        if (slot) gf_slot_release(slot);
        return 0;
    }
    pthread_mutex_lock(&d->lock);
    reap(d);
    gf_move m = {.number = d->last, .slot = slot, .done = gf_event_take(d, 0, fault)};
    int64_t number = 0;
    if (!make_room(d)) {
        gf_event_give(d, m.done, 0);
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
            gf_event_give(d, m.done, 0);
            m.done = NULL;
            wait_without_event(d); // what is under way reads the slot
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
    if (!code && d->broken.code) { // what is no longer in the queue was given up, and never arrived
        *fault = d->broken;
        code = fault->code;
    }
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

int gf_device_arrived(gf_device *d, int64_t number, gf_device_fault *fault) {
    if (gf_device_enter(d, fault)) return -1;
    pthread_mutex_lock(&d->lock);
    reap(d);
    int arrived = number < d->first;
    if (d->broken.code) {
        *fault = d->broken;
        arrived = -1;
    }
    pthread_mutex_unlock(&d->lock);
    gf_device_leave(d);
    return arrived;
}

int gf_device_drain(gf_device *d, gf_device_fault *fault) {
    int code = gf_device_enter(d, fault);
    if (code) return code;
    code = gf_device_said(d, d->driver->stream_synchronize(d->stream), "cuStreamSynchronize", fault);
    pthread_mutex_lock(&d->lock);
    reap(d);
    pthread_mutex_unlock(&d->lock);
    gf_device_leave(d);
    return code;
}

int gf_device_copy_out(gf_device *d, void *to, uint64_t from, int64_t bytes, gf_device_fault *fault) {
    int code = gf_device_enter(d, fault);
    if (code) return code;
    code = gf_device_said(d, d->driver->copy_out(to, from, (size_t)bytes, d->stream), "cuMemcpyDtoHAsync", fault);
    int late = gf_device_said(d, d->driver->stream_synchronize(d->stream), "cuStreamSynchronize", code ? NULL : fault);
    gf_device_leave(d);
    return code ? code : late;
}
