// A stand-in for libcuda.so.1, for tests: the driver's calls over host memory, without a GPU. A test decides when the work
// of a stream is done, makes calls fail, and asks afterwards what was done wrong. It is built from the repository's root:
//
//   gcc -std=gnu11 -O2 -ffp-contract=off -Wall -Wextra -fPIC -shared -fvisibility=hidden -pthread
//       -o libstandin.so gofast/device/testdata/standin/*.c
//
// It exports the calls of ../../driver.h and the functions below. Any thread may call; one lock guards all.
//
// STREAMS are queues of operations: copies, kernels, records of events, waits for records, reads and touches. When they
// are done is the mode's choice. A wait is for the record that was the event's latest at the call, as in CUDA, so waits
// never form a circle. The null stream is torch's default stream of the device: an ordinary queue of its own. What is
// found wrong at a call or when an operation is done is a VIOLATION, and a line of standin_violations(). An operation
// that would touch what it must not is skipped.
//
// DEVICE MEMORY is host memory with guard pages around, filled with 0xcd when new. A released address is never given out
// again before standin_reset(). Released memory holds 0xdd and cannot be written; behind the first 256 MiB of it, it cannot be
// read either. Every range that a copy or a kernel uses is looked up when the operation is done.
//
// HOST MEMORY. A copy from pinned memory reads its source when it is done, and that must hold what it held at the call. A
// copy from other memory takes its source at the call. A copy to other memory waits for its stream.
#ifndef STANDIN_H
#define STANDIN_H

#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(default)

// -- when work is done

enum {
    STANDIN_MANUAL,   // by standin_advance, standin_advance_all and cuStreamSynchronize alone
    STANDIN_LATE,     // and what a standin_read needs, at that call; so as late as anybody could notice
    STANDIN_ON_SIGHT, // and all that a consumer's stream holds, with what that waits for, at each call that puts something on it
    STANDIN_RANDOM,   // and a random part of random streams at every call of the driver
};
void standin_mode(int mode);
void standin_seed(uint64_t seed); // of STANDIN_RANDOM

// Does up to n operations of a stream, or all for n < 0, until one waits for another stream. Says how many were done.
// A NULL stream here and below is the default stream of the device in question: of the memory that is named, else of the
// current context, else of device 0.
int standin_advance(void *stream, int n);
void standin_advance_all(void);
int standin_pending(void); // operations that are not done

// -- the consumer, which is torch

void *standin_stream(int device); // a stream of its own

// Memory of torch's caching allocator; 0 where there is none. Another stream than the one it is made on may use it only
// once that has done all that was on it at the call: until then, a former owner may use the memory.
uint64_t standin_malloc(int device, uint64_t bytes, void *stream);
// Tensor.record_stream.
void standin_record(uint64_t address, void *stream);
// Gives memory back as soon as its stream, and every recorded one, has done all that is on it at this call. That
// may be at once, and it is no operation of a stream: nothing waits for it.
void standin_free(uint64_t address);

// A read by the consumer: when it is done, the bytes lie in `out` and *ready is 1. In STANDIN_LATE and STANDIN_ON_SIGHT it
// is done at once. Either may be NULL.
void standin_read(void *stream, uint64_t address, uint64_t bytes, void *out, int *ready);
// A kernel of the consumer that uses the memory, and leaves it as it is.
void standin_touch(void *stream, uint64_t address, uint64_t bytes);

// torch's events: where a stream ends, whether it has come to a place, and a wait of the host until it has.
uint64_t standin_end(void *stream);
int standin_reached(void *stream, uint64_t place);
void standin_wait(void *stream, uint64_t place);

// -- the machine

void standin_devices(int n);                      // 1 by default, 8 at most; 0: cuInit fails
void standin_version(int version);                // 12040 by default
void standin_capability(int major, int minor);    // 9.0 by default
void standin_memory(uint64_t left, uint64_t total); // of each device, from now on; 8 GiB of 8 GiB by default
void standin_pin_limit(uint64_t bytes);           // of pinned pages; none by default
int standin_is_pinned(const void *);

// -- faults

// Lets the nth next call of a symbol (1: the next) return a code, and do nothing.
void standin_fail(const char *symbol, int nth, int code);
// Forgets the failures that are still to come.
void standin_heal(void);
// Every call that needs the device's context returns 700 from now on, and its streams move nothing. Calls that end
// something (free, unregister, destroy, unload) return 700 too, and end it.
void standin_lose(int device);
void standin_capture(int on); // somebody captures a graph, in the mode that forbids all threads what no graph can have
// Lets every call of a symbol take longer.
void standin_slow(const char *symbol, int microseconds);

// -- looking

int standin_calls(const char *symbol); // how often it was called
int standin_syncs(void);  // how often the host waited: cuStreamSynchronize, cuMemFree, copies to memory that is not pinned, standin_wait
int standin_staged(void); // copies from memory that is not pinned
// One a line with the name of the call, "" for none. The text grows until standin_reset.
const char *standin_violations(void);
// What is there now, one a line: retained and pushed contexts, streams of cuStreamCreate, events, modules, allocations that
// nobody freed, pinned memory. Good until the next call.
const char *standin_leaks(void);
void standin_log(int on); // every call to stderr

// Forgets everything, frees all memory, and sets all back to the defaults. Only that cuInit was called stays so, since
// programs call it once. No handle or address from before may be used.
void standin_reset(void);

#pragma GCC visibility pop

#endif
