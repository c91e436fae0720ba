//go:build python

// Pictures that are made of what Python holds. The bytes objects are the caller's, and stay for as long as the call.
#include "functions.h"

#include "../../gofast/engine/crew.h"
#include "../../gofast/image/jpeg/header.h"
#include "../../gofast/image/lazy.h"
#include "../../gofast/image/picture/format.h"
#include "../../gofast/image/png/header.h"
#include "../../gofast/source/kept/kept.h"

// A picture (data, width, height, recorded): a file's bytes, where width is 0, or RGBX rows; and what was recorded. Behind it
// may stand the width and height of the sample, of a program that makes samples of any size.
static int lazy_of(PyObject *picture, gf_lazy *lazy) {
    char *data, *recorded;
    Py_ssize_t size, words;
    long long a[4] = {0};
    Py_ssize_t n = PyTuple_Check(picture) ? PyTuple_Size(picture) : 0;
    if (n != 4 && n != 6) {
        PyErr_SetString(PyExc_TypeError, "takes a picture");
        return 0;
    }
    PyObject *sides[4];
    for (Py_ssize_t i = 0; i < n - 2; i++) sides[i] = PyTuple_GetItem(picture, i < 2 ? i + 1 : i + 2);
    if (PyBytes_AsStringAndSize(PyTuple_GetItem(picture, 0), &data, &size) || !gf_integers(sides, n - 2, n - 2, a) ||
        PyBytes_AsStringAndSize(PyTuple_GetItem(picture, 3), &recorded, &words))
        return 0;
    int is_rows = a[0] > 0 && a[1] > 0 && a[0] <= INT32_MAX && a[1] <= (size - GF_FORMAT_SLACK) / 4 / a[0];
    int is_size = n == 4 || (a[2] > 0 && a[3] > 0 && a[2] <= INT32_MAX && a[3] <= INT32_MAX);
    if ((a[0] && !is_rows) || !is_size || words % (Py_ssize_t)sizeof(gf_recorded)) {
        PyErr_SetString(PyExc_ValueError, "not such a picture");
        return 0;
    }
    *lazy = (gf_lazy){.data = (const uint8_t *)data, .size = (size_t)size, .width = (int32_t)a[0], .height = (int32_t)a[1],
                      .recorded = (const gf_recorded *)(const void *)recorded, .n = words / (Py_ssize_t)sizeof(gf_recorded),
                      .sample = {(int32_t)a[2], (int32_t)a[3]}};
    return 1;
}

// make_sample(picture, view, record, x): makes a sample of the view's first dataset at x. (code, text).
PyObject *gf_py_make_sample(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    (void)self;
    gf_lazy lazy;
    long long a[3];
    if (n != 4) return PyErr_Format(PyExc_TypeError, "takes 4 arguments (%zd given)", n);
    if (!lazy_of(args[0], &lazy) || !gf_integers(args + 1, 3, 3, a)) return NULL;
    const gf_image_program *p = POINTER(const gf_view, a[0])->parts[0].program;
    gf_fault fault = {0};
    PyThreadState *state = PyEval_SaveThread();
    int32_t code = gf_lazy_sample(p, &lazy, POINTER(const int32_t, a[1]), POINTER(uint8_t, a[2]), &fault);
    PyEval_RestoreThread(state);
    return Py_BuildValue("is", code, fault.text);
}

// Pictures that are made together: what a view's only program points to.
typedef struct {
    const gf_image_program *program;
    const gf_lazy *lazy;
    uint8_t *const *places; // of their samples
    _Atomic int32_t *code;  // of one that could not be made: make_all's
} lazies;

typedef int32_t make_fn(const gf_image_program *, const gf_lazy *, const int32_t *record, uint8_t *x, gf_fault *);

static void make_lazies(const gf_view *view, const gf_batch *batch, int64_t from, int64_t to, make_fn *make) {
    const lazies *l = view->parts[0].program;
    for (int64_t i = from; i < to; i++) {
        gf_fault fault = {0};
        const int32_t *record = view->record_bytes ? (const int32_t *)(const void *)(batch->records + i * view->record_bytes) : NULL;
        int32_t code = make(l->program, &l->lazy[i], record, l->places[i], &fault);
        if (code) atomic_store_explicit(l->code, code, memory_order_relaxed);
    }
}

static int64_t fill_lazies(const gf_view *view, const gf_batch *batch, int64_t from, int64_t to) {
    make_lazies(view, batch, from, to, gf_lazy_fill);
    return -1;
}

// A view of these, which says what a record is.
static void view_lazies(gf_view *view, lazies *work, int64_t count) {
    view->map = NULL;
    view->y_bytes = 0;
    view->hint = NULL;
    view->length = count;
    view->job_rows = 1;
    view->fill = fill_lazies;
    view->meter = gf_meter_of_fill;
    view->stage = GF_STAGE_PICTURE;
    view->n_parts = 1;
    view->parts[0] = (gf_part){.program = work};
}

// Makes each of these, with most threads of a crew if there is one, of a view that says what a record is.
// 0, or the code of one that could not be made; -1: Python raises.
static int32_t make_all(gf_view *view, lazies *work, int64_t count, const uint8_t *records, gf_crew *crew, int most) {
    int64_t *indices = PyMem_Calloc((size_t)count + 1, sizeof *indices);
    if (!indices) {
        PyErr_NoMemory();
        return -1;
    }
    for (int64_t i = 0; i < count; i++) indices[i] = i;
    _Atomic int32_t code = 0;
    work->code = &code;
    view_lazies(view, work, count);
    const gf_batch batch = {.indices = indices, .records = records};
    gf_slot slot = {.rows_left = count}, *const slots[] = {&slot};
    const gf_request request = {.indices = indices, .records = records, .rows = count, .batch_rows = count, .slots = slots, .silent = 1};
    PyThreadState *state = PyEval_SaveThread();
    if (!crew || count < 2 || gf_crew_do(crew, view, most, &request, NULL) < 0) make_lazies(view, &batch, 0, count, gf_lazy_sample);
    PyEval_RestoreThread(state);
    PyMem_Free(indices);
    return code;
}

// make_samples(pictures, view, records, places, crew, most): makes a sample of each picture in a list, at its place, by the
// program of the view's first dataset, with most threads of the crew if there is one. The records lie one behind the other.
// Returns 0, or the code of a sample that could not be made.
PyObject *gf_py_make_samples(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    (void)self;
    long long a[5];
    if (n != 6) return PyErr_Format(PyExc_TypeError, "takes 6 arguments (%zd given)", n);
    if (!gf_integers(args + 1, 5, 5, a)) return NULL;
    Py_ssize_t count = PyList_Size(args[0]);
    if (count < 0) return NULL;
    const gf_view *of = POINTER(const gf_view, a[0]);
    PyObject *result = NULL;
    gf_lazy *lazy = PyMem_Calloc((size_t)count + 1, sizeof *lazy);
    gf_view *view = PyMem_Calloc(1, sizeof *view + sizeof *view->parts);
    if (!lazy || !view) {
        PyErr_NoMemory();
        goto end;
    }
    for (Py_ssize_t i = 0; i < count; i++)
        if (!lazy_of(PyList_GetItem(args[0], i), &lazy[i])) goto end;
    lazies work = {.program = of->parts[0].program, .lazy = lazy, .places = POINTER(uint8_t *const, a[2])};
    *view = *of;
    int32_t code = make_all(view, &work, count, POINTER(const uint8_t, a[1]), POINTER(gf_crew, a[3]), (int)a[4]);
    if (!PyErr_Occurred()) result = PyLong_FromLong(code);
end:
    PyMem_Free(lazy);
    PyMem_Free(view);
    return result;
}

// Samples that the crew makes while Python goes on, and what they are made of.
typedef struct {
    gf_crew *crew;
    gf_ticket *ticket;
    PyObject *pictures; // has their bytes
    lazies work;
    _Atomic int32_t code;
    gf_slot slot;
    gf_view *view;
    gf_lazy *lazy;
    uint8_t **places;
    int32_t pid; // a child that was forked meanwhile has no crew, and forgets them
} making;

static const char MAKING[] = "gofast.making";

static void drop_making(PyObject *capsule) {
    making *m = PyCapsule_GetPointer(capsule, MAKING);
    if (m->ticket && m->pid != (int32_t)getpid()) return;
    if (m->ticket) {
        PyThreadState *state = PyEval_SaveThread();
        m->crew->cancel(m->ticket);
        PyEval_RestoreThread(state);
        m->crew->release(m->ticket);
    }
    Py_XDECREF(m->pictures);
    PyMem_Free(m->view);
    PyMem_Free(m->lazy);
    PyMem_Free(m->places);
    PyMem_Free(m);
}

// begin_samples(pictures, view, records, places, crew, most): begins what make_samples does, on the crew's threads. What it
// returns must end before the places do; None where the crew takes no work.
PyObject *gf_py_begin_samples(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    (void)self;
    long long a[5];
    if (n != 6) return PyErr_Format(PyExc_TypeError, "takes 6 arguments (%zd given)", n);
    if (!gf_integers(args + 1, 5, 5, a)) return NULL;
    making *m = PyMem_Calloc(1, sizeof *m);
    if (!m) return PyErr_NoMemory();
    PyObject *capsule = PyCapsule_New(m, MAKING, drop_making);
    if (!capsule) {
        PyMem_Free(m);
        return NULL;
    }
    m->pictures = PyList_AsTuple(args[0]);
    Py_ssize_t count = m->pictures ? PyTuple_Size(m->pictures) : 0;
    int64_t *indices = NULL;
    if (!m->pictures) goto failed;
    m->lazy = PyMem_Calloc((size_t)count + 1, sizeof *m->lazy);
    m->places = PyMem_Calloc((size_t)count + 1, sizeof *m->places);
    m->view = PyMem_Calloc(1, sizeof *m->view + sizeof *m->view->parts);
    indices = PyMem_Calloc((size_t)count + 1, sizeof *indices);
    if (!m->lazy || !m->places || !m->view || !indices) {
        PyErr_NoMemory();
        goto failed;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        if (!lazy_of(PyTuple_GetItem(m->pictures, i), &m->lazy[i])) goto failed;
        m->places[i] = POINTER(uint8_t *const, a[2])[i];
        indices[i] = i;
    }
    const gf_view *of = POINTER(const gf_view, a[0]);
    m->work = (lazies){.program = of->parts[0].program, .lazy = m->lazy, .places = m->places, .code = &m->code};
    *m->view = *of;
    view_lazies(m->view, &m->work, count);
    m->slot = (gf_slot){.rows_left = count};
    m->pid = (int32_t)getpid();
    m->crew = POINTER(gf_crew, a[3]);
    gf_slot *const slots[] = {&m->slot};
    const gf_request request = {.indices = indices, .records = POINTER(const uint8_t, a[1]), .rows = count, .batch_rows = count, .slots = slots, .silent = 1};
    m->ticket = m->crew && count ? m->crew->submit(m->crew, m->view, (int)a[4], &request) : NULL;
    PyMem_Free(indices);
    if (m->ticket) return capsule;
    Py_DECREF(capsule);
    Py_RETURN_NONE;
failed:
    PyMem_Free(indices);
    Py_DECREF(capsule);
    return NULL;
}

// end_samples(making): helps, and waits for all: 0, or the code of one that could not be made.
PyObject *gf_py_end_samples(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    (void)self;
    if (n != 1) return PyErr_Format(PyExc_TypeError, "takes 1 argument (%zd given)", n);
    making *m = PyCapsule_GetPointer(args[0], MAKING);
    if (!m) return NULL;
    PyThreadState *state = PyEval_SaveThread();
    while (!m->crew->wait(m->ticket, NULL, 100)) continue;
    PyEval_RestoreThread(state);
    return PyLong_FromLong(m->code);
}

static int is_size(int64_t width, int64_t height) {
    return width > 0 && height > 0 && height <= GF_CANVAS_MOST_PIXELS / width;
}

// make_rows(pictures, pass_order, max_pixels, crew, most): the pixels of each picture in a list, which says their size, as
// make_pixels gives those of four bytes; or the code of one that could not be made.
PyObject *gf_py_make_rows(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    (void)self;
    long long a[4];
    if (n != 5) return PyErr_Format(PyExc_TypeError, "takes 5 arguments (%zd given)", n);
    if (!gf_integers(args + 1, 4, 4, a)) return NULL;
    if (a[0] < 0 || a[0] >= GF_ORDERS) return PyErr_Format(PyExc_ValueError, "no such order");
    Py_ssize_t count = PyList_Size(args[0]);
    if (count < 0) return NULL;
    gf_lazy *lazy = PyMem_Calloc((size_t)count + 1, sizeof *lazy);
    uint8_t **places = PyMem_Calloc((size_t)count + 1, sizeof *places);
    gf_view *view = PyMem_Calloc(1, sizeof *view + sizeof *view->parts);
    PyObject *rows = PyList_New(0);
    if (!lazy || !places || !view || !rows) {
        PyErr_NoMemory();
        goto end;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        if (!lazy_of(PyList_GetItem(args[0], i), &lazy[i])) goto end;
        if (!is_size(lazy[i].sample.width, lazy[i].sample.height)) {
            PyErr_SetString(PyExc_ValueError, "no pixels of that size");
            goto end;
        }
        PyObject *made = PyBytes_FromStringAndSize(NULL, 4 * (Py_ssize_t)lazy[i].sample.width * lazy[i].sample.height + GF_FORMAT_SLACK);
        if (!made || PyList_Append(rows, made)) {
            Py_XDECREF(made);
            goto end;
        }
        places[i] = (uint8_t *)PyBytes_AsString(made); // nobody else has seen the object
        Py_DECREF(made);
    }
    gf_image_program program;
    gf_lazy_of_pixels(&program, (int32_t)a[0], a[1], 1, 1, 4);
    lazies work = {.program = &program, .lazy = lazy, .places = places};
    int32_t code = make_all(view, &work, count, NULL, POINTER(gf_crew, a[2]), (int)a[3]);
    if (code && !PyErr_Occurred()) {
        Py_DECREF(rows);
        rows = PyLong_FromLong(code);
    }
end:
    PyMem_Free(lazy);
    PyMem_Free(places);
    PyMem_Free(view);
    if (rows && PyErr_Occurred()) Py_CLEAR(rows);
    return rows;
}

// kept_place(name, keys, count): where a name's record is noted; -1 where there is no room.
PyObject *gf_py_kept_place(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    (void)self;
    char *name;
    long long a[2];
    if (n != 3) return PyErr_Format(PyExc_TypeError, "takes 3 arguments (%zd given)", n);
    if (PyBytes_AsStringAndSize(args[0], &name, NULL) || !gf_integers(args + 1, 2, 2, a)) return NULL;
    return PyLong_FromLongLong(gf_kept_place(POINTER(_Atomic uint64_t, a[0]), a[1], name));
}

// jpeg_header(data, length): data is the beginning of a file of that length. Returns width, height, components, where the
// header ends, and whether Pillow reads Exif data at once. None where only Pillow can read it, or the header goes on behind data.
PyObject *gf_py_jpeg_header(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    (void)self;
    char *data;
    Py_ssize_t size;
    long long length;
    if (n != 2) return PyErr_Format(PyExc_TypeError, "takes 2 arguments (%zd given)", n);
    if (PyBytes_AsStringAndSize(args[0], &data, &size) || !gf_integers(args + 1, 1, 1, &length)) return NULL;
    if (length < size) return PyErr_Format(PyExc_ValueError, "a file is no shorter than its beginning");
    gf_jpeg_header header;
    gf_fault fault = {0};
    if (gf_jpeg_header_read((const uint8_t *)data, (size_t)size, (size_t)length, &header, &fault)) Py_RETURN_NONE;
    return Py_BuildValue("iiini", header.width, header.height, header.components, (Py_ssize_t)header.end, header.asks_exif);
}

// jpeg_is_certain(data, scan, max_pixels): whether a decoder makes a picture of a JPEG whose scan begins there.
PyObject *gf_py_jpeg_is_certain(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    (void)self;
    char *data;
    Py_ssize_t size;
    long long a[2];
    if (n != 3) return PyErr_Format(PyExc_TypeError, "takes 3 arguments (%zd given)", n);
    if (PyBytes_AsStringAndSize(args[0], &data, &size) || !gf_integers(args + 1, 2, 2, a)) return NULL;
    if (a[0] < 0 || a[0] > size) return PyErr_Format(PyExc_ValueError, "there is no such place");
    return PyBool_FromLong(gf_lazy_is_certain((const uint8_t *)data, (size_t)size, (size_t)a[0], a[1]));
}

// png_header(data): data is a whole, plain file. Returns width, height, depth, colour, the palette's place and bytes, and where
// the header ends. None where Pillow must read it.
PyObject *gf_py_png_header(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    (void)self;
    char *data;
    Py_ssize_t size;
    if (n != 1) return PyErr_Format(PyExc_TypeError, "takes 1 argument (%zd given)", n);
    if (PyBytes_AsStringAndSize(args[0], &data, &size)) return NULL;
    gf_png_header header;
    gf_fault fault = {0};
    if (gf_png_header_read((const uint8_t *)data, (size_t)size, &header, &fault)) Py_RETURN_NONE;
    return Py_BuildValue("iiiinnn", header.width, header.height, header.depth, header.colour, (Py_ssize_t)header.palette,
                         (Py_ssize_t)header.palette_bytes, (Py_ssize_t)header.end);
}

// make_pixels(picture, width, height, channels, pass_order, max_pixels): the pixels, as
// bytes; or (code, text). Rows of four bytes have slack behind them, so that they may be given here again.
PyObject *gf_py_make_pixels(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    (void)self;
    gf_lazy lazy;
    long long a[5];
    if (n != 6) return PyErr_Format(PyExc_TypeError, "takes 6 arguments (%zd given)", n);
    if (!lazy_of(args[0], &lazy) || !gf_integers(args + 1, 5, 5, a)) return NULL;
    if (!is_size(a[0], a[1]) || (a[2] != 1 && a[2] != 3 && a[2] != 4) || a[3] < 0 || a[3] >= GF_ORDERS)
        return PyErr_Format(PyExc_ValueError, "no pixels of that size");
    PyObject *made = PyBytes_FromStringAndSize(NULL, a[0] * a[1] * a[2] + (a[2] == 4 ? GF_FORMAT_SLACK : 0));
    if (!made) return NULL;
    uint8_t *x = (uint8_t *)PyBytes_AsString(made); // nobody else has seen the object
    gf_fault fault = {0};
    PyThreadState *state = PyEval_SaveThread();
    int32_t code = gf_lazy_pixels(&lazy, (int32_t)a[3], a[4], (int32_t)a[0], (int32_t)a[1], (int32_t)a[2], x, &fault);
    PyEval_RestoreThread(state);
    if (!code) return made;
    Py_DECREF(made);
    return Py_BuildValue("is", code, fault.text);
}
