//go:build python

// MixUp and CutMix of a batch that a user's collate function mixes.
#include "functions.h"

#include "../../gofast/image/pixel/mixing.h"

// mixup(batch, mixed, samples, values, part, rest): of float32 values; part and rest are floats.
PyObject *gf_py_mixup(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    (void)self;
    long long a[4];
    if (n != 6) return PyErr_Format(PyExc_TypeError, "takes 6 arguments (%zd given)", n);
    if (!gf_integers(args, 4, 4, a)) return NULL;
    double part = PyFloat_AsDouble(args[4]), rest = PyFloat_AsDouble(args[5]);
    if (PyErr_Occurred()) return NULL;
    PyThreadState *state = PyEval_SaveThread();
    gf_mixup(POINTER(const float, a[0]), POINTER(float, a[1]), a[2], a[3], (float)part, (float)rest);
    PyEval_RestoreThread(state);
    Py_RETURN_NONE;
}

// cutmix(batch, mixed, samples, planes, height, row_bytes, left, top, right, bottom): the box in bytes and rows.
PyObject *gf_py_cutmix(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    (void)self;
    long long a[10];
    if (!gf_integers(args, n, 10, a)) return NULL;
    gf_cutmix_shape shape = {a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9]};
    PyThreadState *state = PyEval_SaveThread();
    gf_cutmix(POINTER(const uint8_t, a[0]), POINTER(uint8_t, a[1]), &shape);
    PyEval_RestoreThread(state);
    Py_RETURN_NONE;
}
