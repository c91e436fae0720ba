// A GPU, as batches move to it. All is plain C, and every function makes the device's context current for its own calls
// only: any thread may call, with or without Python's lock, and torch never notices.
//
// The order of things, on the one stream that gofast has on a device:
//
//   send:    staging -> copies -> kernel -> event      returns at once; the slot belongs to the move
//   receive: the consumer's stream waits for the event  no thread waits
//   reap:    event has passed -> slot and staging free   whenever send or receive comes by
#ifndef GOFAST_DEVICE_H
#define GOFAST_DEVICE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "../engine/slot.h"
#include "driver.h"
#include "making.h"

// What the driver refused.
typedef struct {
    int32_t code;  // CUresult; 0: nothing
    char text[256]; // "cuMemAlloc_v2: CUDA_ERROR_OUT_OF_MEMORY (out of memory)"
} gf_device_fault;

// A batch that is on its way. Its events are recorded; it is gone once the last one has passed.
typedef struct {
    int64_t number;
    gf_slot *slot;        // what is copied, or NULL; released when the copies are done
    gf_cu_event begun;    // before the copies, where they are timed; else NULL
    gf_cu_event copied;   // behind them, likewise
    gf_cu_event made;     // behind the kernel, where the copies are timed
    gf_cu_event done;     // behind all; NULL where that could not be marked, and was waited for
    int64_t bytes;
    int64_t staged_to;    // where its staging ends
} gf_move;

// Counters. The time is of copies of 1 MiB and more of pinned memory, whose start and end are events.
typedef struct {
    _Atomic int64_t moves, bytes, staged_bytes, pageable_bytes, kernels, pinned_bytes;
    _Atomic int64_t timed_bytes, timed_nanoseconds, kernel_nanoseconds; // kernels' behind these copies
} gf_device_counts;

typedef struct gf_device gf_device;
struct gf_device {
    const gf_driver *driver;
    gf_cu_device handle;
    gf_cu_context context; // the primary one, which is torch's too
    gf_cu_stream stream;   // non-blocking
    int32_t ordinal, capability; // 90 is 9.0
    int32_t pid;
    _Atomic int32_t users;       // who opened it, and every pinned ring: a batch may outlive the device's last use
    pthread_mutex_t lock;  // of all below
    gf_move *moves;        // a queue: done in their order, since the stream does them in order
    int64_t first, last, room; // moves[number % room] for first <= number < last
    gf_cu_event *events, *timers; // free ones; timers can tell the time
    int64_t n_events, n_timers, event_room, timer_room;
    uint8_t *staging;      // pinned, used as a ring; NULL while nobody needed it
    int64_t staging_begin, staging_end; // what is in use lies between, modulo its size
    int32_t no_staging;    // the driver gave none
    gf_device_fault broken; // what the driver said when it did no work any more
    gf_device_counts counts;
};

// Opens a device. NULL with a fault where the driver refuses.
gf_device *gf_device_open(const gf_driver *, int ordinal, gf_device_fault *);

// Waits for what is under way and gives all back but the context, which goes with the last pinned ring. The device must
// have no other callers.
void gf_device_close(gf_device *);
void gf_device_drop(gf_device *);

// Pins the memory of a private ring, whose slots are for moves alone and not for tensors, before this process takes a slot of it, so that its batches are copied without the processor. Its pages
// are made by several threads first: one thread makes 2 GB/s of them, and the driver's own lock is held meanwhile
// otherwise. 0, or the driver's code: then batches of the ring go through staging.
int gf_device_pin(gf_device *, gf_ring *, gf_device_fault *);

// A part of a batch.
typedef struct {
    uint64_t host;    // 0: the slot's memory
    uint64_t device;
    int64_t bytes;
    int64_t pinned;   // the host's memory is pinned, and stays until the move is done. A slot knows that by itself
} gf_piece;

// What one send does.
typedef struct {
    uint64_t function; // of a kernel behind the copies, or 0
    uint64_t making;   // the address of its gf_making
    int64_t n;
    gf_piece piece[];
} gf_job;

// Starts a job. Memory that is not pinned is free when this returns. Its slot, or NULL, belongs to the move from then on, whatever happens. Returns the move's number, from 1
// on, or 0 with a fault.
int64_t gf_device_send(gf_device *, const gf_job *, gf_slot *, gf_device_fault *);

// Lets what is put on a stream from now on wait for a move. 0, or the driver's code.
int gf_device_receive(gf_device *, int64_t number, uint64_t stream, gf_device_fault *);

// Whether a move is done: its host memory is free.
int gf_device_done(gf_device *, int64_t number);

// Whether a move has arrived: 1, 0 not yet, or -1 with a fault where the device does nothing any more.
int gf_device_arrived(gf_device *, int64_t number, gf_device_fault *);

// Waits for all that gofast's stream holds, and gives slots back.
int gf_device_drain(gf_device *, gf_device_fault *);

// Copies to the host what gofast's stream makes, and waits for that.
int gf_device_copy_out(gf_device *, void *to, uint64_t from, int64_t bytes, gf_device_fault *);

// Puts a kernel on a stream.
int gf_device_launch(gf_device *, uint64_t function, const gf_making *, uint64_t stream, gf_device_fault *);

// Between gf_device_enter and gf_device_leave the device's context is current. The thread also says there that its calls
// belong to no graph: otherwise a query of an event would end a capture of a graph on another thread.
int gf_device_enter(gf_device *, gf_device_fault *);
void gf_device_leave(gf_device *);

// Notes what a call said; returns its code.
int gf_device_said(const gf_device *, gf_cu_result, const char *call, gf_device_fault *);

// -- events.c

// A mark behind all that a stream holds now; NULL with a fault. It is followed once.
gf_cu_event gf_device_mark(gf_device *, uint64_t stream, gf_device_fault *);

// Lets gofast's stream wait for a mark, which is gone then. 0, or the driver's code.
int gf_device_follow(gf_device *, gf_cu_event mark, gf_device_fault *);

// An event that tells the time or not, and what is done with it later: under the lock, with the context current.
gf_cu_event gf_event_take(gf_device *, int timed, gf_device_fault *);
void gf_event_give(gf_device *, gf_cu_event, int timed);

// -- move.c: under the lock, where the driver cannot be asked any more

// Gives all moves' slots back.
void gf_moves_forget(gf_device *);

#endif
