//go:build python

// What Python calls for pictures, beside capsule.c's functions.
#include "images.h"

#include "../../gofast/engine/crew.h"
#include "../../gofast/image/image.h"

// Whether a signal's handler has raised, as Ctrl-C does.
static int interrupted(void) {
    PyGILState_STATE state = PyGILState_Ensure();
    int raised = PyErr_CheckSignals();
    PyGILState_Release(state);
    return raised;
}

// What plan returns beside GF_DRAW_...
enum { UNKNOWN_SIZES = GF_DRAW_INVALID + 1, NO_INDEX };

// plan(view, crew, most, indices, n, sizes, flags, state, seeds, epochs, records, done, asked, answers, n_answers): finds
// the sizes of a batch's pictures where the caller has 0 x 0, with most threads of the crew if there is one. Then draws
// their records, unless that is 0, from sample done on: from the state image of a torch generator, which it advances, or,
// where state is 0, from a stream of each sample's own. Returns (code, done, what to ask, text, unknown): see gf_draw.
// Nothing is drawn while the sizes at the positions unknown are the caller's to find out.
PyObject *gf_py_plan(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    (void)self;
    long long a[15];
    if (!gf_integers(args, n, 15, a)) return NULL;
    const gf_view *view = POINTER(const gf_view, a[0]);
    const int64_t *indices = POINTER(const int64_t, a[3]);
    gf_draw_size *sizes = POINTER(gf_draw_size, a[5]);
    int64_t count = a[4], done = a[11], left = gf_image_known_sizes(view, indices, count, sizes, &done);
    if (left < 0) return Py_BuildValue("iLds[]", NO_INDEX, (long long)done, 0.0, "");
    if (left > 0) {
        PyThreadState *state = PyEval_SaveThread();
        int found = gf_image_find_sizes(view, POINTER(gf_crew, a[1]), (int)a[2], indices, count, sizes, interrupted);
        PyEval_RestoreThread(state);
        if (!found) return PyErr_Occurred() ? NULL : PyErr_NoMemory();
    }
    gf_draw_result result = {0};
    int32_t code = GF_DRAW_OK;
    PyObject *unknown = PyList_New(0);
    for (int64_t i = 0; i < count && unknown; i++) {
        if (sizes[i].width > 0) continue;
        PyObject *position = PyLong_FromLongLong(i);
        if (!position || PyList_Append(unknown, position)) Py_CLEAR(unknown);
        Py_XDECREF(position);
        code = UNKNOWN_SIZES;
    }
    if (unknown && a[10] && code == GF_DRAW_OK) {
        const gf_image_program *p = view->parts[0].program; // the others draw alike
        gf_draw_answers answers = {POINTER(const float, a[12]), POINTER(const float, a[13]), a[14]};
        int32_t *records = POINTER(int32_t, a[10]) + done * p->steps->record_words;
        if (a[7]) {
            code = gf_draw(p->steps, (int32_t)a[6], POINTER(uint8_t, a[7]), sizes + done, count - done, records, &answers, &result);
        } else {
            code = gf_image_draw_stateless(view, POINTER(const uint64_t, a[8]), POINTER(const uint64_t, a[9]), indices, count, sizes, records, &result);
        }
    }
    if (code == -2) code = NO_INDEX;
    if (code < 0) {
        Py_CLEAR(unknown);
        PyErr_NoMemory();
    }
    return unknown ? Py_BuildValue("iLdsN", code, (long long)(done + result.done), (double)result.ask, result.text, unknown) : NULL;
}

// faults(slot): where the samples of a failed batch lie, the index that made it fail where no sample did, and a list of
// (position in the batch, code, offset, text), one for each sample that could not be made.
PyObject *gf_py_faults(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    (void)self;
    long long a[1];
    if (!gf_integers(args, n, 1, a)) return NULL;
    const gf_slot *slot = POINTER(const gf_slot, a[0]);
    PyObject *list = PyList_New(0);
    for (const gf_sample_fault *f = atomic_load_explicit(&slot->faults.first, memory_order_acquire); f && list; f = f->next) {
        PyObject *text = PyUnicode_DecodeUTF8(f->fault.text, (Py_ssize_t)strlen(f->fault.text), "replace");
        PyObject *entry = text ? Py_BuildValue("LiLN", (long long)f->position, f->fault.code, (long long)f->fault.offset, text) : NULL;
        if (!entry || PyList_Append(list, entry)) Py_CLEAR(list);
        Py_XDECREF(entry);
    }
    return list ? Py_BuildValue("KLN", (unsigned long long)(uintptr_t)slot->managed.dl_tensor.data, (long long)slot->bad_index, list) : NULL;
}

// from_picture(program, data, stride, width, height, record, x): makes a sample at x of RGBX pixels in memory.
// (code, text).
PyObject *gf_py_from_picture(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    (void)self;
    long long a[7];
    if (!gf_integers(args, n, 7, a)) return NULL;
    const gf_image_program *p = POINTER(const gf_image_program, a[0]);
    gf_picture picture = {POINTER(uint8_t, a[1]), a[2], (int32_t)a[3], (int32_t)a[4]};
    gf_fault fault = {0};
    PyThreadState *state = PyEval_SaveThread();
    int32_t code = gf_image_from_picture(p, picture, POINTER(const int32_t, a[5]), POINTER(uint8_t, a[6]), &fault);
    PyEval_RestoreThread(state);
    return Py_BuildValue("is", code, fault.text);
}

// free_picture(made): frees the picture of a gf_made_picture at that address, and clears it.
PyObject *gf_py_free_picture(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    (void)self;
    long long a[1];
    if (!gf_integers(args, n, 1, a)) return NULL;
    gf_made_picture *made = POINTER(gf_made_picture, a[0]);
    free(made->data);
    made->data = NULL;
    Py_RETURN_NONE;
}
