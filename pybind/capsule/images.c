//go:build python

// What Python calls for pictures, beside capsule.c's functions.
#include "images.h"

#include "../../gofast/image/image.h"

// draw(program, flags, state, sizes, n, records, answers_x, answers, n_answers): draws for n samples of these sizes
// from the state image of a torch generator, which it advances. (code, samples done, what to ask, text): see gf_draw.
PyObject *gf_py_draw(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    (void)self;
    long long a[9];
    if (!gf_integers(args, n, 9, a)) return NULL;
    const gf_image_program *p = POINTER(const gf_image_program, a[0]);
    gf_draw_answers answers = {POINTER(const float, a[6]), POINTER(const float, a[7]), a[8]};
    gf_draw_result result = {0};
    int32_t code = gf_draw(p->steps, (int32_t)a[1], POINTER(uint8_t, a[2]), POINTER(const gf_draw_size, a[3]), a[4],
                           POINTER(int32_t, a[5]), &answers, &result);
    return Py_BuildValue("iLds", code, (long long)result.done, (double)result.ask, result.text);
}

// draw_stateless(program, seed, epoch, indices, occurrences, sizes, n, records): the same from a stream of each sample's own.
PyObject *gf_py_draw_stateless(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    (void)self;
    long long a[8];
    if (!gf_integers(args, n, 8, a)) return NULL;
    const gf_image_program *p = POINTER(const gf_image_program, a[0]);
    gf_draw_result result = {0};
    int32_t code = gf_draw_stateless(p->steps, (uint64_t)a[1], (uint64_t)a[2], POINTER(const int64_t, a[3]),
                                     POINTER(const int32_t, a[4]), POINTER(const gf_draw_size, a[5]), a[6],
                                     POINTER(int32_t, a[7]), &result);
    return Py_BuildValue("iLds", code, (long long)result.done, (double)result.ask, result.text);
}

// faults(slot): a list of (position in the batch, code, offset, text), one for each sample that could not be made.
PyObject *gf_py_faults(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    (void)self;
    long long a[1];
    if (!gf_integers(args, n, 1, a)) return NULL;
    PyObject *list = PyList_New(0);
    const gf_slot *slot = POINTER(const gf_slot, a[0]);
    for (const gf_sample_fault *f = atomic_load_explicit(&slot->faults.first, memory_order_acquire); f && list; f = f->next) {
        PyObject *text = PyUnicode_DecodeUTF8(f->fault.text, (Py_ssize_t)strlen(f->fault.text), "replace");
        PyObject *entry = text ? Py_BuildValue("LiLN", (long long)f->position, f->fault.code, (long long)f->fault.offset, text) : NULL;
        if (!entry || PyList_Append(list, entry)) Py_CLEAR(list);
        Py_XDECREF(entry);
    }
    return list;
}

// mend(slot): says that every sample of a failed batch was made after all.
PyObject *gf_py_mend(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    (void)self;
    long long a[1];
    if (!gf_integers(args, n, 1, a)) return NULL;
    gf_slot *slot = POINTER(gf_slot, a[0]);
    gf_fault_clear(&slot->faults);
    atomic_store_explicit(&slot->status, GF_SLOT_READY, memory_order_release);
    Py_RETURN_NONE;
}

// sample(slot, position, bytes): where a sample of a slot lies, whose samples have so many bytes.
PyObject *gf_py_sample(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    (void)self;
    long long a[3];
    if (!gf_integers(args, n, 3, a)) return NULL;
    return PyLong_FromVoidPtr((char *)POINTER(gf_slot, a[0])->managed.dl_tensor.data + a[1] * a[2]);
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
