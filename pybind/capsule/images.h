// The functions of images.c, for the module's table, and what they share with capsule.c.
#ifndef GOFAST_CAPSULE_IMAGES_H
#define GOFAST_CAPSULE_IMAGES_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "../../gofast/engine/slot.h"

#define POINTER(type, value) ((type *)(uintptr_t)(value))

// Reads count integers; false with an exception set when one is not.
int gf_integers(PyObject *const *args, Py_ssize_t got, Py_ssize_t count, long long *out);

PyObject *gf_py_draw(PyObject *self, PyObject *const *args, Py_ssize_t n);
PyObject *gf_py_faults(PyObject *self, PyObject *const *args, Py_ssize_t n);
PyObject *gf_py_from_picture(PyObject *self, PyObject *const *args, Py_ssize_t n);
PyObject *gf_py_free_picture(PyObject *self, PyObject *const *args, Py_ssize_t n);

#endif
