//go:build python

// Pages: private memory that holds a table, and becomes shared memory where it lies.
#define _GNU_SOURCE
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "functions.h"

static const char PAGES[] = "gofast.pages";

static void unmap(PyObject *capsule) {
    munmap(PyCapsule_GetPointer(capsule, PAGES), (size_t)(uintptr_t)PyCapsule_GetContext(capsule));
}

// pages(address, size): a capsule that owns mapped memory.
PyObject *gf_py_pages(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    INTEGERS(2);
    PyObject *capsule = PyCapsule_New(POINTER(void, a[0]), PAGES, unmap);
    if (capsule) PyCapsule_SetContext(capsule, POINTER(void, a[1]));
    return capsule;
}

// Copies so much at a time, which is what memory is needed for twice.
enum { STEP = 64 << 20 };

// A mapping changes as a whole, and both have the same bytes: whoever reads them meanwhile sees no difference.
static int shared(char *data, size_t size, int fd) {
    for (size_t at = 0; at < size; at += STEP) {
        size_t end = size - at < STEP ? size : at + STEP;
        for (size_t done = at; done < end;) {
            ssize_t wrote = pwrite(fd, data + done, end - done, (off_t)done);
            if (wrote < 0 && errno != EINTR) return -1;
            if (wrote > 0) done += (size_t)wrote;
        }
        if (mmap(data + at, end - at, PROT_READ, MAP_SHARED | MAP_FIXED, fd, (off_t)at) == MAP_FAILED) return -1;
    }
    return 0;
}

// share(pages, fd): the file behind fd has their bytes and stands in their place.
PyObject *gf_py_share(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    (void)self;
    long long fd;
    if (n != 2 || !gf_integers(args + 1, 1, 1, &fd)) return PyErr_Format(PyExc_TypeError, "takes 2 arguments: pages and a descriptor");
    char *data = PyCapsule_GetPointer(args[0], PAGES);
    if (!data) return NULL;
    size_t size = (size_t)(uintptr_t)PyCapsule_GetContext(args[0]);
    int failed, code;
    Py_BEGIN_ALLOW_THREADS;
    failed = shared(data, size, (int)fd);
    code = errno;
    Py_END_ALLOW_THREADS;
    if (!failed) Py_RETURN_NONE;
    errno = code;
    return PyErr_SetFromErrno(PyExc_OSError);
}
