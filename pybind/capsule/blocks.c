//go:build python

// Blocks: slots in which tensors lie side by side until they are one batch. Each of them is a tensor of its own, and whether
// one is still held is not guessed: its deleter says so.
#include "functions.h"

// The block's capsule and each piece have a reference; the last one frees both.
typedef struct {
    gf_slot *slot;
    _Atomic int64_t refs;
    int32_t pid; // a child that was forked meanwhile owns nothing of it
} gf_block;

typedef struct {
    DLManagedTensor managed;
    gf_block *block;
    int64_t shape[9];
} gf_piece;

static const char BLOCK[] = "gofast.block";

static void drop(gf_block *block) {
    if (block->pid != (int32_t)getpid() || atomic_fetch_sub_explicit(&block->refs, 1, memory_order_acq_rel) != 1) return;
    gf_slot_release(block->slot);
    free(block);
}

static void drop_block(PyObject *capsule) { drop(PyCapsule_GetPointer(capsule, BLOCK)); }

// Runs when the last tensor on the piece's storage is deleted, on any thread, without Python's lock.
static void drop_piece(DLManagedTensor *managed) {
    gf_piece *piece = managed->manager_ctx;
    drop(piece->block);
    free(piece);
}

// block(ring): takes a slot to lay tensors in: its capsule, and the slot. None where the ring has none.
PyObject *gf_py_block(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    (void)self;
    gf_ring *ring = gf_ring_and_integers(args, n, 0, NULL);
    if (!ring) return NULL;
    gf_block *block = malloc(sizeof *block);
    if (!block) return PyErr_NoMemory();
    *block = (gf_block){.slot = gf_slot_acquire(ring), .refs = 1, .pid = (int32_t)getpid()};
    if (!block->slot) {
        free(block);
        Py_RETURN_NONE;
    }
    PyObject *capsule = PyCapsule_New(block, BLOCK, drop_block);
    if (capsule) return Py_BuildValue("NK", capsule, (unsigned long long)(uintptr_t)block->slot);
    drop(block);
    return NULL;
}

// piece(block, offset, code, bits, dim0, dim1, ...): a tensor from that byte of the block on, not yet written.
PyObject *gf_py_piece(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    (void)self;
    long long a[3 + 9];
    if (n < 5 || n > 4 + 9) return PyErr_Format(PyExc_TypeError, "takes a block, a place, a type and 1 to 9 dimensions");
    gf_block *block = PyCapsule_GetPointer(args[0], BLOCK);
    if (!block || !gf_integers(args + 1, n - 1, n - 1, a)) return NULL;
    int64_t bytes = a[2] / 8, room = a[0] < 0 ? 0 : block->slot->ring->slot_bytes - a[0];
    gf_piece *piece = calloc(1, sizeof *piece);
    if (!piece) return PyErr_NoMemory();
    for (Py_ssize_t i = 0; i < n - 4; i++) {
        piece->shape[i] = a[3 + i];
        bytes = a[3 + i] > 0 && bytes <= room / a[3 + i] ? bytes * a[3 + i] : 0;
    }
    if (bytes < 1 || bytes > room) {
        free(piece);
        return PyErr_Format(PyExc_ValueError, "no tensor of that size lies there");
    }
    piece->block = block;
    piece->managed = (DLManagedTensor){
        .dl_tensor = {.data = (char *)block->slot->managed.dl_tensor.data + a[0], .device = {1, 0}, .ndim = (int32_t)(n - 4),
                      .dtype = {(uint8_t)a[1], (uint8_t)a[2], 1}, .shape = piece->shape},
        .manager_ctx = piece,
        .deleter = drop_piece,
    };
    atomic_fetch_add_explicit(&block->refs, 1, memory_order_relaxed);
    PyObject *capsule = PyCapsule_New(&piece->managed, "dltensor", gf_drop_capsule);
    if (!capsule) drop_piece(&piece->managed);
    return capsule;
}

// held(block): how many pieces of it are alive.
PyObject *gf_py_held(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    (void)self;
    if (n != 1) return PyErr_Format(PyExc_TypeError, "takes 1 argument (%zd given)", n);
    gf_block *block = PyCapsule_GetPointer(args[0], BLOCK);
    return block ? PyLong_FromLongLong(atomic_load_explicit(&block->refs, memory_order_acquire) - 1) : NULL;
}
