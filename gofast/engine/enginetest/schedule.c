#include "schedule.h"

#include <malloc.h>
#include <sched.h>
#include <stdio.h>
#include <sys/wait.h>

enum { MOST_BATCHES = 6, VALUES = 8, PATIENCE = 20000 }; // milliseconds

int64_t gft_fill(const gf_view *view, const gf_batch *batch, int64_t from, int64_t to) {
    gft_program *p = (gft_program *)view->parts[0].program;
    int64_t now = 1 + atomic_fetch_add(&p->at_work, 1), most = atomic_load(&p->most_at_work), bad = -1;
    while (now > most && !atomic_compare_exchange_weak(&p->most_at_work, &most, now)) {}
    for (int64_t i = from; i < to && bad < 0; i++) {
        int64_t at = gf_view_position(view, batch->indices[i]), *x = (int64_t *)batch->x + i * VALUES;
        for (int64_t until = gf_nanoseconds() + p->nanoseconds; p->nanoseconds && gf_nanoseconds() < until;) sched_yield();
        if (at < 0) bad = i;
        for (int k = 0; k < VALUES && at >= 0; k++) x[k] = at;
        ((int64_t *)batch->y)[i] = at;
    }
    atomic_fetch_add(&p->filled, to - from);
    atomic_fetch_sub(&p->at_work, 1);
    return bad;
}

static uint64_t draw(gft_caller *c, uint64_t below) {
    c->seed = c->seed * 6364136223846793005u + 1442695040888963407u;
    return (c->seed >> 33) % below;
}

static void say(gft_caller *c, const char *what) {
    if (!c->wrong[0]) snprintf(c->wrong, sizeof c->wrong, "%s", what);
}

// One ticket, and what was asked for.
typedef struct {
    gf_ticket *ticket;
    int64_t rows, batch_rows, batches, index[MOST_BATCHES * GFT_MOST_ROWS], label[MOST_BATCHES * GFT_MOST_ROWS];
    gf_slot *slot[MOST_BATCHES];
} work;

static int take_slots(gft_caller *c, work *w) {
    static const int64_t shape[] = {VALUES};
    for (int64_t i = 0; i < w->batches; i++) {
        if (!(w->slot[i] = gf_slot_acquire(c->ring))) {
            while (i-- > 0) gf_slot_release(w->slot[i]);
            return 0;
        }
        int64_t left = w->rows - i * w->batch_rows;
        gf_slot_describe(w->slot[i], left < w->batch_rows ? left : w->batch_rows, 1, shape, 0, 64);
    }
    return 1;
}

// What must be in a batch that is no longer pending.
static void look_at(gft_caller *c, const work *w, int64_t batch) {
    int64_t first = batch * w->batch_rows, end = first + w->batch_rows < w->rows ? first + w->batch_rows : w->rows, bad = 0;
    const gf_slot *slot = w->slot[batch];
    for (int64_t i = first; i < end; i++) bad += w->index[i] == c->view->length;
    int status = atomic_load_explicit(&slot->status, memory_order_acquire);
    if (status != (bad ? GF_SLOT_FAILED : GF_SLOT_READY)) say(c, "a batch that is neither ready nor failed as it should");
    if (bad && slot->bad_index != c->view->length) say(c, "another index than the bad one");
    const int64_t *x = slot->managed.dl_tensor.data;
    for (int64_t i = first; i < end && !bad; i++) {
        for (int k = 0; k < VALUES; k++)
            if (x[(i - first) * VALUES + k] != w->index[i]) say(c, "a row that is not the one of its index");
        if (w->label[i] != w->index[i]) say(c, "a label that is not the one of its index");
    }
}

static void wait_for(gft_caller *c, work *w, int64_t batch) {
    int64_t until = gf_nanoseconds() + PATIENCE * 1000000ll;
    while (!c->crew->wait(w->ticket, batch < 0 ? NULL : w->slot[batch], (int64_t)draw(c, 3)))
        if (gf_nanoseconds() > until) return say(c, "waited in vain");
}

static int untouched(const void *memory, size_t bytes) {
    const uint64_t *words = memory;
    for (size_t i = 0; i < bytes / 8; i++)
        if (words[i] != 0xa5a5a5a5a5a5a5a5u) return 0;
    return 1;
}

// Nothing writes after a cancel: the memory is overwritten, and looked at again a little later.
static void cancel(gft_caller *c, work *w) {
    const size_t bytes = GFT_MOST_ROWS * VALUES * 8;
    c->crew->cancel(w->ticket);
    for (int64_t i = 0; i < w->batches; i++) memset(w->slot[i]->managed.dl_tensor.data, 0xa5, bytes);
    memset(w->label, 0xa5, sizeof w->label);
    for (int64_t until = gf_nanoseconds() + 50000; gf_nanoseconds() < until;) sched_yield();
    if (!untouched(w->label, sizeof w->label)) say(c, "a label that was written after the cancel");
    for (int64_t i = 0; i < w->batches; i++)
        if (!untouched(w->slot[i]->managed.dl_tensor.data, bytes)) say(c, "a sample that was written after the cancel");
}

static void use(gft_caller *c, work *w) {
    switch (draw(c, 5)) {
    case 0: // batch by batch
        for (int64_t i = 0; i < w->batches; i++) {
            wait_for(c, w, i);
            look_at(c, w, i);
        }
        break;
    case 1: // from behind
        for (int64_t i = w->batches; i-- > 0;) wait_for(c, w, i);
        break;
    case 2: // until the time is up, or not at all
        c->crew->wait(w->ticket, NULL, 0);
        /* fall through */
    case 3:
        cancel(c, w);
        return;
    }
    wait_for(c, w, -1);
    for (int64_t i = 0; i < w->batches; i++) look_at(c, w, i);
}

void gft_call(gft_caller *c) {
    for (int64_t n = 0; n < c->operations && !c->wrong[0]; n++) {
        work w = {.batch_rows = 1 + (int64_t)draw(c, GFT_MOST_ROWS)};
        w.rows = (int64_t)draw(c, (uint64_t)(MOST_BATCHES * w.batch_rows));
        w.batches = (w.rows + w.batch_rows - 1) / w.batch_rows;
        for (int64_t i = 0; i < w.rows; i++) w.index[i] = (int64_t)draw(c, (uint64_t)c->view->length);
        if (w.rows && !draw(c, 4)) w.index[draw(c, (uint64_t)w.rows)] = c->view->length;
        if (!take_slots(c, &w)) {
            sched_yield();
            continue;
        }
        const gf_request r = {.indices = w.index, .rows = w.rows, .batch_rows = w.batch_rows, .slots = w.slot, .labels = (uint8_t *)w.label};
        w.ticket = c->crew->submit(c->crew, c->view, (int)draw(c, 4), &r);
        if (w.ticket) {
            use(c, &w);
            c->crew->release(w.ticket);
            c->finished++;
        } else if (!c->may_stop) {
            say(c, "a ticket was refused");
        }
        for (int64_t i = 0; i < w.batches; i++) gf_slot_release(w.slot[i]);
        if (!w.ticket) return;
    }
}

int gft_fork(gf_ring *ring, gf_slot *held) {
    held->pid = (int32_t)getpid();
    pid_t child = fork();
    if (child == 0) {
        held->managed.deleter(&held->managed);
        gf_slot *slot = gf_slot_acquire(ring);
        int differs = slot && slot != held;
        if (slot) gf_slot_release(slot);
        _exit(differs ? 0 : 3);
    }
    int status = -1;
    if (child < 0 || waitpid(child, &status, 0) != child) return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

int64_t gft_memory(void) { return (int64_t)mallinfo2().uordblks; }
