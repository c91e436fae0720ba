//go:build python

// Batches on their way to a GPU: device.h says what each of these does. What the driver refuses is a RuntimeError whose text
// is JSON, as gopy's are, for `errors.from_native`.
#include "functions.h"

#include <string.h>

#include "../../gofast/device/device.h"

static PyObject *refused(const gf_device_fault *fault) {
    char text[2 * sizeof fault->text], *to = text;
    for (const char *at = fault->text; *at; at++) {
        if (*at == '"' || *at == '\\') *to++ = '\\';
        if ((unsigned char)*at >= ' ') *to++ = *at;
    }
    *to = 0;
    return PyErr_Format(PyExc_RuntimeError, "{\"kind\": \"Device\", \"message\": \"device: %s\"}", text);
}

// pin(ring, device): pins the ring's memory, of which no slot is taken. "", or why that is not possible.
PyObject *gf_py_pin(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    (void)self;
    long long a[1];
    gf_ring *ring = gf_ring_and_integers(args, n, 1, a);
    if (!ring) return NULL;
    gf_device_fault fault = {0};
    PyThreadState *state = PyEval_SaveThread();
    gf_device_pin(POINTER(gf_device, a[0]), ring, &fault);
    PyEval_RestoreThread(state);
    return PyUnicode_FromString(fault.text);
}

// send(device, place, mended, job): starts a job on the slot whose address lies at place, if place is not 0. Like take: None
// while the slot is being filled or where there is none, False where it failed, unless what could not be made was mended.
// Else the number of the move, which owns the slot: place is cleared. Where job is 0: True, and nothing is done.
PyObject *gf_py_send(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    INTEGERS(4);
    uint64_t *place = POINTER(uint64_t, a[1]);
    gf_slot *slot = NULL;
    if (place) {
        if (!(slot = POINTER(gf_slot, *place))) Py_RETURN_NONE;
        int32_t status = atomic_load_explicit(&slot->status, memory_order_acquire);
        if (status == GF_SLOT_PENDING) Py_RETURN_NONE;
        if (status == GF_SLOT_FAILED && !a[2]) Py_RETURN_FALSE;
    }
    if (!a[3]) Py_RETURN_TRUE;
    if (place) *place = 0;
    gf_device_fault fault = {0};
    PyThreadState *state = PyEval_SaveThread(); // what is not pinned is copied by this thread
    int64_t number = gf_device_send(POINTER(gf_device, a[0]), POINTER(const gf_job, a[3]), slot, &fault);
    PyEval_RestoreThread(state);
    return number ? PyLong_FromLongLong(number) : refused(&fault);
}

// receive(device, number, stream): the stream waits for the move.
PyObject *gf_py_receive(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    INTEGERS(3);
    gf_device_fault fault = {0};
    PyThreadState *state = PyEval_SaveThread(); // another thread may be sending what is not pinned
    int code = gf_device_receive(POINTER(gf_device, a[0]), a[1], (uint64_t)a[2], &fault);
    PyEval_RestoreThread(state);
    if (code) return refused(&fault);
    Py_RETURN_NONE;
}

// launch(device, function, making, stream): puts a kernel on the stream.
PyObject *gf_py_launch(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    INTEGERS(4);
    gf_device_fault fault = {0};
    PyThreadState *state = PyEval_SaveThread(); // the driver waits while too much is on the stream
    int code = gf_device_launch(POINTER(gf_device, a[0]), (uint64_t)a[1], POINTER(const gf_making, a[2]), (uint64_t)a[3], &fault);
    PyEval_RestoreThread(state);
    if (code) return refused(&fault);
    Py_RETURN_NONE;
}

// sent(device, number): whether a move is done, so that its host memory is free.
PyObject *gf_py_sent(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    INTEGERS(2);
    PyThreadState *state = PyEval_SaveThread();
    int done = gf_device_done(POINTER(gf_device, a[0]), a[1]);
    PyEval_RestoreThread(state);
    return PyBool_FromLong(done);
}
