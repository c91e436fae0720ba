//go:build python

// What Python calls for pictures, beside capsule.c's functions.
#include "functions.h"

#include "../../gofast/engine/crew.h"
#include "../../gofast/image/image.h"

// Whether a signal's handler has raised, as Ctrl-C does.
static int interrupted(void) {
    PyGILState_STATE state = PyGILState_Ensure();
    int raised = PyErr_CheckSignals();
    PyGILState_Release(state);
    return raised;
}

// What is drawn for a batch: see gf_image_draws. Python has the same struct, whose fields are all of eight bytes.
typedef struct {
    const int64_t *indices;
    int64_t n;
    gf_size *sizes;
    int32_t *records;
    uint8_t *state;
    uint32_t *python;
    int64_t flags, done;
    const float *asked, *answers;
    int64_t answered;
    gf_tally *tally;
    const uint64_t *epoch;
    int64_t *refills;
} gf_draw_request;

// draw(view, crew, most, request): finds the sizes of a batch's pictures where the caller has 0 x 0, with most threads of the
// crew if there is one. Then it draws records from sample done on, unless there are none (records is 0). It draws from
// state, a torch generator's, and from python, one of Python's, and advances both. Where state is 0, each sample has a
// stream of its own. Returns (code, done, what to ask, text): see gf_image_draw.
PyObject *gf_py_draw(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    INTEGERS(4);
    const gf_view *view = POINTER(const gf_view, a[0]);
    const gf_draw_request *r = POINTER(const gf_draw_request, a[3]);
    if (r->n < 0 || r->done < 0 || r->done > r->n || r->answered < 0 || (r->n && (!r->indices || !r->sizes)) || (r->answered && (!r->asked || !r->answers)))
        return PyErr_Format(PyExc_ValueError, "not a batch to draw for");
    gf_image_draws draws = {
        .indices = r->indices, .n = r->n, .sizes = r->sizes, .flags = (int32_t)r->flags, .state = r->state, .python = r->python,
        .records = r->records, .answers = {r->asked, r->answers, r->answered}, .result.done = r->done,
        .tally = r->tally, .epoch = r->epoch, .refills = r->refills,
    };
    // Without headers to read, the rest is over before anybody waits for the lock.
    PyThreadState *state = gf_image_known_sizes(view, &draws) > 0 ? PyEval_SaveThread() : NULL;
    int32_t code = gf_image_draw(view, POINTER(gf_crew, a[1]), (int)a[2], &draws, interrupted);
    if (state) PyEval_RestoreThread(state);
    if (code == GF_DRAW_NO_SIZES) return PyErr_Occurred() ? NULL : PyErr_NoMemory();
    return Py_BuildValue("iLds", code, (long long)draws.result.done, (double)draws.result.ask, draws.result.text);
}

// faults(slot): where the samples of a failed batch lie, the index that made it fail where no sample did, and a list of
// (position in the batch, code, offset, text), one for each sample that could not be made.
PyObject *gf_py_faults(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    INTEGERS(1);
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

// free_picture(made): frees the picture of a gf_made_picture at that address, and clears it.
PyObject *gf_py_free_picture(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    INTEGERS(1);
    gf_made_picture *made = POINTER(gf_made_picture, a[0]);
    free(made->data);
    made->data = NULL;
    Py_RETURN_NONE;
}
