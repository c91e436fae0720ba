//go:build python

// The functions that Python calls once or twice a batch. A gopy call costs about
// 0.25 us and cannot return a capsule; these cost 0.05 us. Every argument is an
// integer; addresses come from the engine or from the caller's own buffers.
#include "../../gofast/engine/crew.h"
#include "images.h"

int gf_integers(PyObject *const *args, Py_ssize_t got, Py_ssize_t count, long long *out) {
    if (got != count) {
        PyErr_Format(PyExc_TypeError, "takes %zd arguments (%zd given)", count, got);
        return 0;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        out[i] = PyLong_AsLongLong(args[i]);
        if (out[i] == -1 && PyErr_Occurred()) return 0;
    }
    return 1;
}

// A capsule that nobody consumed frees its slot.
static void drop_capsule(PyObject *capsule) {
    DLManagedTensor *managed = PyCapsule_IsValid(capsule, "dltensor") ? PyCapsule_GetPointer(capsule, "dltensor") : NULL;
    if (managed) managed->deleter(managed);
}

static PyObject *wrap(gf_slot *slot) {
    slot->pid = (int32_t)getpid();
    return PyCapsule_New(&slot->managed, "dltensor", drop_capsule);
}

static PyObject *ring_new(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    (void)self;
    long long a[2];
    if (!gf_integers(args, n, 2, a)) return NULL;
    gf_ring *ring = gf_ring_new(a[0], (int32_t)a[1]);
    if (!ring) return PyErr_NoMemory();
    return PyLong_FromVoidPtr(ring);
}

// The state words of a shared ring's slots come first, the data on the next page.
static int64_t shared_data_offset(long long count) { return gf_align(4 * count, 4096); }

static PyObject *shared_ring_bytes(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    (void)self;
    long long a[2];
    if (!gf_integers(args, n, 2, a)) return NULL;
    return PyLong_FromLongLong(shared_data_offset(a[1]) + gf_align(a[0], 4096) * a[1]);
}

static PyObject *shared_ring(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    (void)self;
    long long a[3]; // fd, bytes of a slot, slots
    if (!gf_integers(args, n, 3, a)) return NULL;
    int64_t slot_bytes = gf_align(a[1], 4096), offset = shared_data_offset(a[2]);
    size_t bytes = (size_t)(offset + slot_bytes * a[2]);
    void *map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, (int)a[0], 0);
    if (map == MAP_FAILED) return PyErr_SetFromErrno(PyExc_OSError);
    gf_ring *ring = gf_ring_over(map, bytes, offset, slot_bytes, (int32_t)a[2], 1);
    if (!ring) {
        munmap(map, bytes);
        return PyErr_NoMemory();
    }
    return PyLong_FromVoidPtr(ring);
}

static PyObject *ring_drop(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    (void)self;
    long long a[1];
    if (!gf_integers(args, n, 1, a)) return NULL;
    gf_ring_drop(POINTER(gf_ring, a[0]));
    Py_RETURN_NONE;
}

static void describe(gf_slot *slot, const gf_view *view, int64_t rows) {
    gf_slot_describe(slot, rows, view->ndim, view->shape, view->dtype_code, view->dtype_bits);
}

// reserve(view, ring, rows, batch_rows, out): takes a slot for every batch and
// writes their addresses to out. Returns their number, or -1 with none taken
// when the ring has too few.
static PyObject *reserve(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    (void)self;
    long long a[5];
    if (!gf_integers(args, n, 5, a)) return NULL;
    const gf_view *view = POINTER(const gf_view, a[0]);
    gf_ring *ring = POINTER(gf_ring, a[1]);
    uint64_t *out = POINTER(uint64_t, a[4]);
    int64_t taken = 0;
    for (int64_t start = 0; start < a[2]; start += a[3]) {
        gf_slot *slot = gf_slot_acquire(ring);
        if (!slot) {
            while (taken > 0) gf_slot_release(POINTER(gf_slot, out[--taken]));
            return PyLong_FromLong(-1);
        }
        describe(slot, view, a[2] - start < a[3] ? a[2] - start : a[3]);
        out[taken++] = (uintptr_t)slot;
    }
    return PyLong_FromLongLong(taken);
}

// Below this much output the fill is shorter than two hand-overs of the lock.
static const int64_t RELEASE_LOCK_BYTES = 64 << 10;

// fill(view, indices, records, from, to, slot, labels): makes rows from..to-1 of the batch
// on this thread. Returns -1, or the position of the first index that is out of
// range; the slot is Failed then, and Ready once all its rows are made.
static PyObject *fill(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    (void)self;
    long long a[7];
    if (!gf_integers(args, n, 7, a)) return NULL;
    const gf_view *view = POINTER(const gf_view, a[0]);
    int64_t from = a[3], to = a[4];
    gf_slot *slot = POINTER(gf_slot, a[5]);
    gf_batch batch = {
        .indices = POINTER(const int64_t, a[1]),
        .records = POINTER(const uint8_t, a[2]),
        .x = slot->managed.dl_tensor.data,
        .y = POINTER(uint8_t, a[6]),
        .faults = &slot->faults,
    };
    int64_t bad;
    if (!view->job_rows && (to - from) * view->x_bytes < RELEASE_LOCK_BYTES) {
        bad = view->fill(view, &batch, from, to);
    } else {
        PyThreadState *state = PyEval_SaveThread();
        bad = view->fill(view, &batch, from, to);
        PyEval_RestoreThread(state);
    }
    if (bad < 0) gf_slot_filled(slot, to - from);
    else gf_slot_fail(slot, batch.indices[bad]);
    return PyLong_FromLongLong(bad);
}

// submit(crew, view, indices, records, rows, batch_rows, slots, labels, threads, cell):
// starts the work of a ticket, whose address it leaves in the cell: a signal may
// raise in Python as soon as this returns. False when the engine is closed, None
// when a slot is gone: another thread, or a signal handler, gave the ticket up.
static PyObject *submit(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    (void)self;
    long long a[10];
    if (!gf_integers(args, n, 10, a)) return NULL;
    if (a[4] < 0 || a[5] < 1) {
        PyErr_SetString(PyExc_ValueError, "no rows");
        return NULL;
    }
    for (long long i = 0; i * a[5] < a[4]; i++)
        if (!POINTER(const uint64_t, a[6])[i]) Py_RETURN_NONE;
    gf_crew *crew = POINTER(gf_crew, a[0]);
    gf_ticket *ticket = crew->submit(crew, POINTER(const gf_view, a[1]), POINTER(const int64_t, a[2]),
                                     POINTER(const uint8_t, a[3]), a[4], a[5], POINTER(gf_slot *const, a[6]),
                                     POINTER(uint8_t, a[7]), (int)a[8]);
    *POINTER(uint64_t, a[9]) = (uintptr_t)ticket;
    return PyBool_FromLong(ticket != NULL);
}

// wait(cell, slot, milliseconds): helps with the ticket in the cell, then waits
// for the slot, or for all of it where slot is 0. True when that is settled.
static PyObject *wait(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    (void)self;
    long long a[3];
    if (!gf_integers(args, n, 3, a)) return NULL;
    gf_ticket *ticket = POINTER(gf_ticket, *POINTER(uint64_t, a[0]));
    if (!ticket) Py_RETURN_TRUE;
    atomic_fetch_add_explicit(&ticket->refs, 1, memory_order_relaxed); // another thread may cancel it meanwhile
    PyThreadState *state = PyEval_SaveThread();
    int settled = ticket->crew->wait(ticket, POINTER(const gf_slot, a[1]), a[2]);
    ticket->crew->release(ticket);
    PyEval_RestoreThread(state);
    return PyBool_FromLong(settled);
}

// cancel(cell): drops the ticket in the cell; nothing writes for it any more.
static PyObject *cancel(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    (void)self;
    long long a[1];
    if (!gf_integers(args, n, 1, a)) return NULL;
    uint64_t *cell = POINTER(uint64_t, a[0]);
    gf_ticket *ticket = POINTER(gf_ticket, *cell);
    if (!ticket) Py_RETURN_NONE;
    gf_crew *crew = ticket->crew;
    atomic_fetch_add_explicit(&ticket->refs, 1, memory_order_relaxed);
    PyThreadState *state = PyEval_SaveThread();
    crew->cancel(ticket);
    PyEval_RestoreThread(state);
    // The cell is cleared last: a second thread that cancels must wait as well.
    if (*cell == (uintptr_t)ticket) {
        *cell = 0;
        crew->release(ticket);
    }
    crew->release(ticket);
    Py_RETURN_NONE;
}

// take(place): the batch of the slot whose address lies at place, as a capsule;
// None while it is being filled, or when there is no slot; False when it failed.
// The capsule owns the slot: place is cleared in the same step, because a signal
// may raise in Python as soon as this returns, and the slot has one owner.
static PyObject *take(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    (void)self;
    long long a[1];
    if (!gf_integers(args, n, 1, a)) return NULL;
    uint64_t *place = POINTER(uint64_t, a[0]);
    gf_slot *slot = POINTER(gf_slot, *place);
    if (!slot) Py_RETURN_NONE;
    switch (atomic_load_explicit(&slot->status, memory_order_acquire)) {
    case GF_SLOT_PENDING:
        Py_RETURN_NONE;
    case GF_SLOT_FAILED:
        Py_RETURN_FALSE;
    default:
        *place = 0;
        return wrap(slot);
    }
}

static PyObject *bad_index(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    (void)self;
    long long a[1];
    if (!gf_integers(args, n, 1, a)) return NULL;
    return PyLong_FromLongLong(POINTER(gf_slot, a[0])->bad_index);
}

// release(places, count): gives back the slots whose addresses lie there, those
// that were not taken, and clears the places.
static PyObject *release(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    (void)self;
    long long a[2];
    if (!gf_integers(args, n, 2, a)) return NULL;
    uint64_t *places = POINTER(uint64_t, a[0]);
    for (int64_t i = 0; i < a[1]; i++) {
        if (places[i]) gf_slot_release(POINTER(gf_slot, places[i]));
        places[i] = 0;
    }
    Py_RETURN_NONE;
}

// move(from, to): the slot whose address lies at from is what lies at to from now on, in one step. False when
// there is none.
static PyObject *move(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    (void)self;
    long long a[2];
    if (!gf_integers(args, n, 2, a)) return NULL;
    uint64_t *from = POINTER(uint64_t, a[0]), *to = POINTER(uint64_t, a[1]);
    *to = *from;
    *from = 0;
    return PyBool_FromLong(*to != 0);
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
    long long a[4 + 9];
    if (n < 5 || n > 4 + 9) {
        PyErr_SetString(PyExc_TypeError, "takes a ring, a slot number, a type and 1 to 9 dimensions");
        return NULL;
    }
    if (!gf_integers(args, n, n, a)) return NULL;
    gf_ring *ring = POINTER(gf_ring, a[0]);
    int64_t bytes = a[3] / 8, shape[8];
    for (Py_ssize_t i = 4; i < n; i++) {
        if (a[i] < 0 || (a[i] > 0 && bytes > INT64_MAX / a[i])) {
            PyErr_SetString(PyExc_ValueError, "bad shape");
            return NULL;
        }
        bytes *= a[i];
        if (i > 4) shape[i - 5] = a[i];
    }
    if (a[1] < 0 || a[1] >= ring->count || bytes > ring->slot_bytes) {
        PyErr_SetString(PyExc_ValueError, "the batch does not lie in the ring");
        return NULL;
    }
    gf_slot *slot = &ring->slots[a[1]];
    atomic_fetch_add_explicit(&ring->users, 1, memory_order_relaxed);
    gf_slot_describe(slot, a[4], (int32_t)(n - 5), shape, (int32_t)a[2], (int32_t)a[3]);
    return wrap(slot);
}

// picks(list, indices, n, map, length): whether the elements of a list at n indices are still the
// numbers that map, of this length, has there. False also where only Python can tell.
static PyObject *picks(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    (void)self;
    long long a[4];
    if (n < 1 || !PyList_CheckExact(args[0])) {
        PyErr_SetString(PyExc_TypeError, "takes a list");
        return NULL;
    }
    if (!gf_integers(args + 1, n - 1, 4, a)) return NULL;
    const int64_t *indices = POINTER(const int64_t, a[0]), *map = POINTER(const int64_t, a[2]);
    if (PyList_Size(args[0]) != a[3]) Py_RETURN_FALSE;
    // A shuffled epoch finds each number in another cache line: several are on their way at once.
    enum { TOGETHER = 32 };
    for (int64_t first = 0; first < a[1]; first += TOGETHER) {
        int64_t stop = first + TOGETHER < a[1] ? first + TOGETHER : a[1];
        PyObject *numbers[TOGETHER];
        for (int64_t i = first; i < stop; i++) {
            int64_t at = indices[i] + (indices[i] < 0 ? a[3] : 0);
            if (at < 0 || at >= a[3]) Py_RETURN_FALSE;
            numbers[i - first] = PyList_GetItem(args[0], (Py_ssize_t)at);
            __builtin_prefetch(numbers[i - first]);
            __builtin_prefetch(&map[at]);
        }
        for (int64_t i = first; i < stop; i++) {
            int64_t at = indices[i] + (indices[i] < 0 ? a[3] : 0);
            PyObject *number = numbers[i - first];
            int overflow;
            if (!PyLong_CheckExact(number) || PyLong_AsLongLongAndOverflow(number, &overflow) != map[at] || overflow) Py_RETURN_FALSE;
        }
    }
    Py_RETURN_TRUE;
}

#define FUNCTION(name) {#name, (PyCFunction)(void (*)(void))name, METH_FASTCALL, NULL}
#define IMAGES(name) {#name, (PyCFunction)(void (*)(void))gf_py_##name, METH_FASTCALL, NULL}
static PyMethodDef functions[] = {
    FUNCTION(ring_new), FUNCTION(shared_ring_bytes), FUNCTION(shared_ring), FUNCTION(ring_drop), FUNCTION(reserve),
    FUNCTION(fill),     FUNCTION(take),              FUNCTION(bad_index),   FUNCTION(release),   FUNCTION(hand_over),
    FUNCTION(submit),   FUNCTION(wait),              FUNCTION(cancel),      FUNCTION(adopt),     FUNCTION(move),
    FUNCTION(picks),
    IMAGES(draw),       IMAGES(draw_stateless),      IMAGES(faults),        IMAGES(mend),        IMAGES(sample),
    IMAGES(from_picture), IMAGES(free_picture),      {NULL, NULL, 0, NULL},
};
static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "gofast._capsule", NULL, -1, functions, NULL, NULL, NULL, NULL};

void *gf_capsule_module(void) { return PyModule_Create(&definition); }
