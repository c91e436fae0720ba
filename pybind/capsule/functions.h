// The functions of blocks.c, images.c, lazy.c, mixing.c, moves.c and texts.c, for the module's table, and what they share with capsule.c.
#ifndef GOFAST_CAPSULE_FUNCTIONS_H
#define GOFAST_CAPSULE_FUNCTIONS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "../../gofast/engine/slot.h"

#define POINTER(type, value) ((type *)(uintptr_t)(value))

// Reads count integers; false with an exception set when one is not.
int gf_integers(PyObject *const *args, Py_ssize_t got, Py_ssize_t count, long long *out);

// The ring that stands first among a function's arguments; the integers behind it go to out.
gf_ring *gf_ring_and_integers(PyObject *const *args, Py_ssize_t got, Py_ssize_t count, long long *out);

// The destructor of a DLPack capsule: what nobody consumed is given up.
void gf_drop_capsule(PyObject *capsule);

PyObject *gf_py_block(PyObject *self, PyObject *const *args, Py_ssize_t n);
PyObject *gf_py_piece(PyObject *self, PyObject *const *args, Py_ssize_t n);
PyObject *gf_py_held(PyObject *self, PyObject *const *args, Py_ssize_t n);

PyObject *gf_py_pin(PyObject *self, PyObject *const *args, Py_ssize_t n);
PyObject *gf_py_send(PyObject *self, PyObject *const *args, Py_ssize_t n);
PyObject *gf_py_receive(PyObject *self, PyObject *const *args, Py_ssize_t n);
PyObject *gf_py_launch(PyObject *self, PyObject *const *args, Py_ssize_t n);
PyObject *gf_py_sent(PyObject *self, PyObject *const *args, Py_ssize_t n);

PyObject *gf_py_draw(PyObject *self, PyObject *const *args, Py_ssize_t n);
PyObject *gf_py_faults(PyObject *self, PyObject *const *args, Py_ssize_t n);
PyObject *gf_py_free_picture(PyObject *self, PyObject *const *args, Py_ssize_t n);

PyObject *gf_py_jpeg_header(PyObject *self, PyObject *const *args, Py_ssize_t n);
PyObject *gf_py_jpeg_marker(PyObject *self, PyObject *const *args, Py_ssize_t n);
PyObject *gf_py_make_sample(PyObject *self, PyObject *const *args, Py_ssize_t n);
PyObject *gf_py_make_samples(PyObject *self, PyObject *const *args, Py_ssize_t n);
PyObject *gf_py_kept_place(PyObject *self, PyObject *const *args, Py_ssize_t n);
PyObject *gf_py_make_pixels(PyObject *self, PyObject *const *args, Py_ssize_t n);

PyObject *gf_py_mixup(PyObject *self, PyObject *const *args, Py_ssize_t n);
PyObject *gf_py_cutmix(PyObject *self, PyObject *const *args, Py_ssize_t n);

PyObject *gf_py_pad(PyObject *self, PyObject *const *args, Py_ssize_t n);
PyObject *gf_py_strings(PyObject *self, PyObject *const *args, Py_ssize_t n);

#endif
