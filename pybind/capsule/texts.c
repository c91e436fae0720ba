//go:build python

// Texts of a batch, what a tokenizer has made of them, and bytes of a compressed page.
#include "functions.h"

#include <string.h>

#include "../../gofast/source/reader/extent.h"
#include "../../gofast/source/reader/pixels.h"
#include "../../gofast/source/reader/snappy.h"
#include "../../gofast/table/gather/ragged.h"

// Below this much output it is shorter than two hand-overs of the lock.
static const int64_t RELEASE_LOCK_BYTES = 64 << 10;

// pad(request): a gf_ragged.
PyObject *gf_py_pad(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    INTEGERS(1);
    const gf_ragged *request = POINTER(const gf_ragged, a[0]);
    if (8 * request->n * request->width < RELEASE_LOCK_BYTES) {
        gf_ragged_pad(request);
    } else {
        PyThreadState *state = PyEval_SaveThread();
        gf_ragged_pad(request);
        PyEval_RestoreThread(state);
    }
    Py_RETURN_NONE;
}

// strings(bytes, ends, rows, n): a list of str.
PyObject *gf_py_strings(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    INTEGERS(4);
    const int64_t *ends = POINTER(const int64_t, a[1]), *rows = POINTER(const int64_t, a[2]);
    PyObject *list = PyList_New((Py_ssize_t)a[3]);
    for (Py_ssize_t i = 0; list && i < a[3]; i++) {
        int64_t from = ends[rows[i]];
        PyObject *text = PyUnicode_FromStringAndSize(POINTER(const char, a[0]) + from, (Py_ssize_t)(ends[rows[i] + 1] - from));
        if (!text || PyList_SetItem(list, i, text)) Py_CLEAR(list);
    }
    return list;
}

// picture_file(data): the file of a picture that lies there without one, or None.
PyObject *gf_py_picture_file(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    (void)self;
    char *data;
    Py_ssize_t size;
    if (n != 1) return PyErr_Format(PyExc_TypeError, "takes 1 argument (%zd given)", n);
    if (PyBytes_AsStringAndSize(args[0], &data, &size)) return NULL;
    uint8_t *room = PyMem_Malloc(GF_PIXELS_ROOM + (size_t)size), *stored = room + GF_PIXELS_ROOM;
    if (!room) return PyErr_NoMemory();
    ptrdiff_t longer;
    memcpy(stored, data, (size_t)size);
    const uint8_t *file = gf_pixels_file(stored, (size_t)size, &longer);
    PyObject *bytes = file ? PyBytes_FromStringAndSize((const char *)file, size + longer) : Py_NewRef(Py_None);
    PyMem_Free(room);
    return bytes;
}

// unpacked(data, skip, length): bytes that Snappy's elements hold, or None where they are broken.
PyObject *gf_py_unpacked(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    (void)self;
    char *data;
    Py_ssize_t size;
    long long a[2];
    if (n != 3) return PyErr_Format(PyExc_TypeError, "takes 3 arguments (%zd given)", n);
    if (PyBytes_AsStringAndSize(args[0], &data, &size) || !gf_integers(args + 1, 2, 2, a)) return NULL;
    if (a[0] < 0 || a[1] < 0 || a[0] > PY_SSIZE_T_MAX - a[1] - 1) return PyErr_Format(PyExc_ValueError, "there are no such bytes");
    uint8_t *made = PyMem_Malloc((size_t)(a[0] + a[1]) + 1);
    if (!made) return PyErr_NoMemory();
    int whole = gf_snappy_part((const uint8_t *)data, (size_t)size, made, (size_t)(a[0] + a[1])) >= 0;
    PyObject *bytes = whole ? PyBytes_FromStringAndSize((const char *)made + a[0], (Py_ssize_t)a[1]) : Py_NewRef(Py_None);
    PyMem_Free(made);
    return bytes;
}
