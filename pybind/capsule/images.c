//go:build python

// What Python calls for pictures, beside capsule.c's functions.
#include "images.h"

#include "../../gofast/image/image.h"

// draw(program, flags, state, seed, epoch, indices, occurrences, sizes, n, records, asked, answers, n_answers): draws for
// n samples of these sizes. From the state image of a torch generator, which it advances; where state is 0, from a stream
// of each sample's own. (code, samples done, what to ask, text): see gf_draw.
PyObject *gf_py_draw(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    (void)self;
    long long a[13];
    if (!gf_integers(args, n, 13, a)) return NULL;
    const gf_image_program *p = POINTER(const gf_image_program, a[0]);
    const gf_draw_size *sizes = POINTER(const gf_draw_size, a[7]);
    int32_t *records = POINTER(int32_t, a[9]);
    gf_draw_answers answers = {POINTER(const float, a[10]), POINTER(const float, a[11]), a[12]};
    gf_draw_result result = {0};
    int32_t code;
    if (a[2]) {
        code = gf_draw(p->draws, p->n_steps, (int32_t)a[1], POINTER(uint8_t, a[2]), sizes, a[8], p->record_words, records, &answers, &result);
    } else {
        code = gf_draw_stateless(p->draws, p->n_steps, (uint64_t)a[3], (uint64_t)a[4], POINTER(const int64_t, a[5]),
                                 POINTER(const int32_t, a[6]), sizes, a[8], p->record_words, records, &result);
    }
    return Py_BuildValue("iLds", code, (long long)result.done, (double)result.ask, result.text);
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
