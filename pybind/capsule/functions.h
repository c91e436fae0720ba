// The functions of blocks.c, images.c, lazy.c, mixing.c, moves.c, pages.c, stamps.c and texts.c, for the module's table, and what they share with capsule.c.
#ifndef GOFAST_CAPSULE_FUNCTIONS_H
#define GOFAST_CAPSULE_FUNCTIONS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "../../gofast/engine/slot.h"

#define POINTER(type, value) ((type *)(uintptr_t)(value))

// Reads count integers; false with an exception set when one is not.
int gf_integers(PyObject *const *args, Py_ssize_t got, Py_ssize_t count, long long *out);

// What a function of integers begins with: they are a[0] and so on.
#define INTEGERS(count) \
    (void)self;         \
    long long a[count]; \
    if (!gf_integers(args, n, count, a)) return NULL

// The ring that stands first among a function's arguments; the integers behind it go to out.
gf_ring *gf_ring_and_integers(PyObject *const *args, Py_ssize_t got, Py_ssize_t count, long long *out);

// The destructor of a DLPack capsule: what nobody consumed is given up.
void gf_drop_capsule(PyObject *capsule);

// Those functions, a line for each file.
#define GF_ELSEWHERE(DO) \
    DO(block) DO(piece) DO(held) \
    DO(draw) DO(faults) DO(free_picture) \
    DO(jpeg_header) DO(jpeg_is_certain) DO(png_header) DO(make_sample) DO(make_samples) DO(begin_samples) DO(end_samples) DO(begin_rows) DO(kept_place) DO(make_pixels) \
    DO(mixup) DO(cutmix) \
    DO(pages) DO(share) \
    DO(pin) DO(send) DO(receive) DO(launch) DO(sent) \
    DO(same_items) \
    DO(pad) DO(strings) DO(unpacked) DO(picture_file)

#define GF_DECLARE(name) PyObject *gf_py_##name(PyObject *self, PyObject *const *args, Py_ssize_t n);
GF_ELSEWHERE(GF_DECLARE)

#endif
