//go:build python

// The functions that Python calls once or twice a batch. A gopy call costs about
// 0.25 us and cannot return a capsule; these cost 0.05 us. Every argument is an
// integer but for rings and bytes; addresses come from the engine or from the caller's own
// buffers. Python's side, with names and types, is python/gofast/_core/native.py.
#include "../../gofast/engine/crew.h"
#include "../../gofast/table/gather/permute.h"
#include "../../gofast/table/gather/shuffle.h"
#include "functions.h"

static int takes(Py_ssize_t count, Py_ssize_t got) {
    if (got != count) PyErr_Format(PyExc_TypeError, "takes %zd arguments (%zd given)", count, got);
    return got == count;
}

int gf_integers(PyObject *const *args, Py_ssize_t got, Py_ssize_t count, long long *out) {
    if (!takes(count, got)) return 0;
    for (Py_ssize_t i = 0; i < count; i++) {
        out[i] = PyLong_AsLongLong(args[i]);
        if (out[i] == -1 && PyErr_Occurred()) return 0;
    }
    return 1;
}

void gf_drop_capsule(PyObject *capsule) {
    DLManagedTensor *managed = PyCapsule_IsValid(capsule, "dltensor") ? PyCapsule_GetPointer(capsule, "dltensor") : NULL;
    if (managed) managed->deleter(managed);
}

static PyObject *wrap(gf_slot *slot) {
    slot->pid = (int32_t)getpid();
    return PyCapsule_New(&slot->managed, "dltensor", gf_drop_capsule);
}

// A ring is a capsule: the last reference to it drops the ring, which then goes with its last slot.
static const char RING[] = "gofast.ring";

static void drop_ring(PyObject *capsule) { gf_ring_drop(PyCapsule_GetPointer(capsule, RING)); }

// A ring over the memory behind fd, which becomes as large as it takes. The state words of its slots come first, the
// data on the next page.
static gf_ring *ring_in(int fd, int64_t bytes, int32_t count) {
    int64_t slot_bytes = gf_align(bytes, 4096), offset = gf_align(4 * (int64_t)count, 4096);
    size_t size = (size_t)(offset + slot_bytes * count);
    void *map = ftruncate(fd, (off_t)size) ? MAP_FAILED : mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED) {
        PyErr_SetFromErrno(PyExc_OSError);
        return NULL;
    }
    gf_ring *ring = gf_ring_over(map, size, offset, slot_bytes, count, 1);
    if (!ring) munmap(map, size);
    return ring;
}

// ring(bytes, count, fd): a ring of count slots of so many bytes; where fd is not -1, of memory that processes share.
static PyObject *ring(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    (void)self;
    long long a[3];
    if (!gf_integers(args, n, 3, a)) return NULL;
    gf_ring *made = a[2] < 0 ? gf_ring_new(a[0], (int32_t)a[1]) : ring_in((int)a[2], a[0], (int32_t)a[1]);
    if (!made) return PyErr_Occurred() ? NULL : PyErr_NoMemory();
    PyObject *capsule = PyCapsule_New(made, RING, drop_ring);
    if (!capsule) gf_ring_drop(made);
    return capsule;
}

gf_ring *gf_ring_and_integers(PyObject *const *args, Py_ssize_t got, Py_ssize_t count, long long *out) {
    if (!takes(count + 1, got)) return NULL;
    gf_ring *first = PyCapsule_GetPointer(args[0], RING);
    return first && gf_integers(args + 1, got - 1, count, out) ? first : NULL;
}

static void describe(gf_slot *slot, const gf_view *view, int64_t rows) {
    gf_slot_describe(slot, rows, view->ndim, view->shape, view->dtype_code, view->dtype_bits);
}

// reserve(ring, view, rows, batch_rows, out, tally): takes a slot for every batch and
// writes their addresses to out. False, with none taken, when the ring has too few.
// Where tally is not 0, it is that of the loader that waits for the batches.
static PyObject *reserve(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    (void)self;
    long long a[5];
    gf_ring *ring = gf_ring_and_integers(args, n, 5, a);
    if (!ring) return NULL;
    const gf_view *view = POINTER(const gf_view, a[0]);
    uint64_t *out = POINTER(uint64_t, a[3]);
    int64_t taken = 0;
    for (int64_t start = 0; start < a[1]; start += a[2]) {
        gf_slot *slot = gf_slot_acquire(ring);
        if (!slot) {
            while (taken > 0) gf_slot_release(POINTER(gf_slot, out[--taken]));
            Py_RETURN_FALSE;
        }
        slot->tally = POINTER(gf_tally, a[4]);
        describe(slot, view, a[1] - start < a[2] ? a[1] - start : a[2]);
        out[taken++] = (uintptr_t)slot;
    }
    Py_RETURN_TRUE;
}

// lend(slots, count, places): the batches of these slots are made in other memory, whose addresses lie at places.
static PyObject *lend(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    (void)self;
    long long a[3];
    if (!gf_integers(args, n, 3, a)) return NULL;
    for (int64_t i = 0; i < a[1]; i++) POINTER(gf_slot *, a[0])[i]->managed.dl_tensor.data = POINTER(void *, a[2])[i];
    Py_RETURN_NONE;
}

// permute(places, count, n, key): see gf_permute.
static PyObject *permute(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    (void)self;
    long long a[4];
    if (!gf_integers(args, n, 4, a)) return NULL;
    gf_permute(POINTER(int64_t, a[0]), a[1], a[2], POINTER(const uint64_t, a[3]));
    Py_RETURN_NONE;
}

// shuffle(values, n, state): see gf_shuffle.
static PyObject *shuffle(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    (void)self;
    long long a[3];
    if (!gf_integers(args, n, 3, a)) return NULL;
    PyThreadState *state = PyEval_SaveThread();
    gf_shuffle(POINTER(int64_t, a[0]), a[1], POINTER(const uint64_t, a[2]));
    PyEval_RestoreThread(state);
    Py_RETURN_NONE;
}

// Below this much output the fill is shorter than two hand-overs of the lock.
static const int64_t RELEASE_LOCK_BYTES = 64 << 10;

// fill(view, indices, records, from, slot, labels): makes the rows of the slot's batch from this one on, on this thread.
// Returns -1, or the position of the first index that is out of range; the slot is
// Failed then, and Ready once all its rows are made.
static PyObject *fill(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    (void)self;
    long long a[6];
    if (!gf_integers(args, n, 6, a)) return NULL;
    const gf_view *view = POINTER(const gf_view, a[0]);
    gf_slot *slot = POINTER(gf_slot, a[4]);
    int64_t from = a[3], to = slot->shape[0];
    gf_batch batch = {
        .indices = POINTER(const int64_t, a[1]),
        .records = POINTER(const uint8_t, a[2]),
        .x = slot->managed.dl_tensor.data,
        .y = POINTER(uint8_t, a[5]),
        .faults = &slot->faults,
    };
    gf_meter *meter = view->meter();
    gf_meter_begin(meter, view->stage);
    int64_t bad;
    if (!view->job_rows && (to - from) * view->x_bytes < RELEASE_LOCK_BYTES) {
        bad = view->fill(view, &batch, from, to);
    } else {
        PyThreadState *state = PyEval_SaveThread();
        bad = view->fill(view, &batch, from, to);
        PyEval_RestoreThread(state);
    }
    if (bad < 0) {
        meter->counters[GF_COUNT_FILLED] += to - from;
        meter->counters[GF_COUNT_FILLED_BYTES] += (to - from) * view->x_bytes;
    }
    int64_t ns = gf_meter_end(meter, 0, to - from);
    if (slot->tally) {
        meter->counters[GF_COUNT_WAITS] += from == 0; // the engine makes the rows before
        meter->counters[GF_COUNT_WAIT_NS] += ns;
    }
    gf_meter_put(meter, &gf_process_tally, slot->tally);
    if (bad < 0) gf_slot_filled(slot, to - from);
    else gf_slot_fail(slot, batch.indices[bad]);
    return PyLong_FromLongLong(bad);
}

// submit(crew, view, threads, request): starts the work of a gf_request, in which it leaves the ticket: a signal may
// raise in Python as soon as this returns. False when the engine is closed, None when a slot is gone: another thread, or
// a signal handler, gave the request up.
static PyObject *submit(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    (void)self;
    long long a[4];
    if (!gf_integers(args, n, 4, a)) return NULL;
    gf_crew *crew = POINTER(gf_crew, a[0]);
    const gf_view *view = POINTER(const gf_view, a[1]);
    gf_request *r = POINTER(gf_request, a[3]);
    if (r->ticket || r->rows < 0 || r->batch_rows < 1 || (r->rows && (!r->indices || !r->slots || (!r->records && view->record_bytes) || (!r->labels && view->y_bytes))))
        return PyErr_Format(PyExc_ValueError, "not a request for this view");
    for (int64_t i = 0; i * r->batch_rows < r->rows; i++)
        if (!r->slots[i]) Py_RETURN_NONE;
    r->ticket = crew->submit(crew, view, (int)a[2], r);
    if (!r->ticket && !crew->stopping) return PyErr_NoMemory();
    return PyBool_FromLong(r->ticket != NULL);
}

// wait(request, slot, milliseconds): helps with the request's ticket, then waits
// for the slot, or for all of it where slot is 0. True when that is settled.
static PyObject *wait(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    (void)self;
    long long a[3];
    if (!gf_integers(args, n, 3, a)) return NULL;
    gf_ticket *ticket = POINTER(const gf_request, a[0])->ticket;
    if (!ticket) Py_RETURN_TRUE;
    atomic_fetch_add_explicit(&ticket->refs, 1, memory_order_relaxed); // another thread may cancel it meanwhile
    PyThreadState *state = PyEval_SaveThread();
    int settled = ticket->crew->wait(ticket, POINTER(const gf_slot, a[1]), a[2]);
    ticket->crew->release(ticket);
    PyEval_RestoreThread(state);
    return PyBool_FromLong(settled);
}

// cancel(request): drops the request's ticket; nothing writes for it any more.
static PyObject *cancel(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    (void)self;
    long long a[1];
    if (!gf_integers(args, n, 1, a)) return NULL;
    gf_request *request = POINTER(gf_request, a[0]);
    gf_ticket *ticket = request->ticket;
    if (!ticket) Py_RETURN_NONE;
    gf_crew *crew = ticket->crew;
    atomic_fetch_add_explicit(&ticket->refs, 1, memory_order_relaxed);
    PyThreadState *state = PyEval_SaveThread();
    crew->cancel(ticket);
    PyEval_RestoreThread(state);
    // It is cleared last: a second thread that cancels must wait as well.
    if (request->ticket == ticket) {
        request->ticket = NULL;
        crew->release(ticket);
    }
    crew->release(ticket);
    Py_RETURN_NONE;
}

// Counts a batch that somebody gets. Only one thread at a time has Python's lock, and with it the first stripe.
static void hand_out(const gf_slot *slot) {
    const DLTensor *t = &slot->managed.dl_tensor;
    int64_t bytes = t->dtype.bits / 8;
    for (int32_t i = 0; i < t->ndim; i++) bytes *= t->shape[i];
    gf_tally *const both[] = {&gf_process_tally, slot->tally};
    const int64_t n[] = {[GF_COUNT_BATCHES] = 1, [GF_COUNT_SAMPLES] = t->shape[0], [GF_COUNT_BYTES] = bytes};
    for (int k = 0; k < 2; k++)
        for (int i = GF_COUNT_BATCHES; i <= GF_COUNT_BYTES; i++) gf_tally_put(both[k], i, n[i]);
}

// take(place, how): the batch of the slot whose address lies at place, as a
// capsule; None while it is being filled, or when there is no slot; False when it
// failed, unless what could not be made was mended: 1 in how. 2 in how is for a
// batch that a loader counts in its own. The capsule owns the slot:
// place is cleared in the same step, because a signal may raise in Python as soon
// as this returns, and the slot has one owner.
static PyObject *take(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    (void)self;
    long long a[2];
    if (!gf_integers(args, n, 2, a)) return NULL;
    uint64_t *place = POINTER(uint64_t, a[0]);
    gf_slot *slot = POINTER(gf_slot, *place);
    if (!slot) Py_RETURN_NONE;
    int32_t status = atomic_load_explicit(&slot->status, memory_order_acquire);
    if (status == GF_SLOT_PENDING) Py_RETURN_NONE;
    if (status == GF_SLOT_FAILED && !(a[1] & 1)) Py_RETURN_FALSE;
    *place = 0;
    if (!(a[1] & 2)) hand_out(slot);
    return wrap(slot);
}

// move(places, count, to): the slots whose addresses lie at places are what lies at to from now on, in one step; where
// to is 0 they are given back to their ring. False when there was none.
static PyObject *move(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    (void)self;
    long long a[3];
    if (!gf_integers(args, n, 3, a)) return NULL;
    uint64_t *places = POINTER(uint64_t, a[0]), *to = POINTER(uint64_t, a[2]);
    int any = 0;
    for (int64_t i = 0; i < a[1]; i++) {
        if (to) to[i] = places[i];
        else if (places[i]) gf_slot_release(POINTER(gf_slot, places[i]));
        any |= places[i] != 0;
        places[i] = 0;
    }
    return PyBool_FromLong(any);
}

// hand_over(slot): one more reference, for another process to release. Returns
// the slot's number in its ring.
static PyObject *hand_over(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    (void)self;
    long long a[1];
    if (!gf_integers(args, n, 1, a)) return NULL;
    gf_slot *slot = POINTER(gf_slot, a[0]);
    atomic_fetch_add_explicit(slot->refs, 1, memory_order_acq_rel);
    return PyLong_FromLongLong(slot - slot->ring->slots);
}

// adopt(ring, number, code, bits, dim0, dim1, ...): the batch that another
// process handed over, as a capsule that releases its reference.
static PyObject *adopt(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    (void)self;
    long long a[3 + 9];
    if (n < 5 || n > 4 + 9) {
        PyErr_SetString(PyExc_TypeError, "takes a ring, a slot number, a type and 1 to 9 dimensions");
        return NULL;
    }
    gf_ring *ring = gf_ring_and_integers(args, n, n - 1, a);
    if (!ring) return NULL;
    int64_t bytes = a[2] / 8, shape[8];
    for (Py_ssize_t i = 3; i < n - 1; i++) {
        if (a[i] < 0 || (a[i] > 0 && bytes > INT64_MAX / a[i])) {
            PyErr_SetString(PyExc_ValueError, "bad shape");
            return NULL;
        }
        bytes *= a[i];
        if (i > 3) shape[i - 4] = a[i];
    }
    if (a[0] < 0 || a[0] >= ring->count || bytes > ring->slot_bytes) {
        PyErr_SetString(PyExc_ValueError, "the batch does not lie in the ring");
        return NULL;
    }
    gf_slot *slot = &ring->slots[a[0]];
    slot->managed.dl_tensor.data = ring->data + a[0] * ring->slot_bytes;
    atomic_fetch_add_explicit(&ring->users, 1, memory_order_relaxed);
    gf_slot_describe(slot, a[3], (int32_t)(n - 5), shape, (int32_t)a[1], (int32_t)a[2]);
    return wrap(slot);
}

#define FUNCTION(name) {#name, (PyCFunction)(void (*)(void))name, METH_FASTCALL, NULL}
#define ELSEWHERE(name) {#name, (PyCFunction)(void (*)(void))gf_py_##name, METH_FASTCALL, NULL}
static PyMethodDef functions[] = {
    FUNCTION(ring),      FUNCTION(reserve),  FUNCTION(lend),  FUNCTION(fill),         FUNCTION(submit),        FUNCTION(wait),
    FUNCTION(cancel),    FUNCTION(take),     FUNCTION(move),         FUNCTION(hand_over),     FUNCTION(adopt),
    ELSEWHERE(draw),     ELSEWHERE(faults),  ELSEWHERE(make_sample), ELSEWHERE(free_picture), ELSEWHERE(pin),
    ELSEWHERE(send),     ELSEWHERE(receive), ELSEWHERE(launch),      ELSEWHERE(sent),         ELSEWHERE(make_pixels),
    ELSEWHERE(mixup),    ELSEWHERE(cutmix),  ELSEWHERE(block),       ELSEWHERE(piece),        ELSEWHERE(held),
    ELSEWHERE(jpeg_header), ELSEWHERE(jpeg_marker), ELSEWHERE(pad),  ELSEWHERE(strings),     FUNCTION(shuffle),
    ELSEWHERE(kept_place), FUNCTION(permute), ELSEWHERE(make_samples),
    {NULL, NULL, 0, NULL},
};
static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "gofast._capsule", NULL, -1, functions, NULL, NULL, NULL, NULL};

void *gf_capsule_module(void) { return PyModule_Create(&definition); }
