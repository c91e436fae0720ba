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

// cutmix(batch, mixed, shape): a gf_cutmix_shape.
PyObject *gf_py_cutmix(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    INTEGERS(3);
    const gf_cutmix_shape *s = POINTER(const gf_cutmix_shape, a[2]);
    if (s->left < 0 || s->left > s->right || s->right > s->row_bytes || s->top < 0 || s->top > s->bottom || s->bottom > s->height)
        return PyErr_Format(PyExc_ValueError, "no such box");
    PyThreadState *state = PyEval_SaveThread();
    gf_cutmix(POINTER(const uint8_t, a[0]), POINTER(uint8_t, a[1]), s);
    PyEval_RestoreThread(state);
    Py_RETURN_NONE;
}
