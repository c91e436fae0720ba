// What the parts of the stand-in share.
#ifndef STANDIN_STATE_H
#define STANDIN_STATE_H

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../driver.h"
#include "../../making.h"
#include "standin.h"

#define EXPORT __attribute__((visibility("default")))

// Codes of the driver.
enum {
    SUCCESS = 0,
    INVALID_VALUE = 1,
    OUT_OF_MEMORY = 2,
    NOT_INITIALIZED = 3,
    NO_DEVICE = 100,
    INVALID_DEVICE = 101,
    INVALID_IMAGE = 200,
    INVALID_CONTEXT = 201,
    INVALID_HANDLE = 400,
    NOT_FOUND = 500,
    NOT_READY = 600,
    ILLEGAL_ADDRESS = 700,
    ALREADY_REGISTERED = 712,
    NOT_REGISTERED = 713,
};

enum { MOST_DEVICES = 8, PAGE = 4096 };

#define CALL_NUMBER(name, symbol, arguments) CALL_##name,
enum { GF_DRIVER_CALLS(CALL_NUMBER) N_CALLS };
extern const char *const symbols[N_CALLS];

// -- objects: what handles point to

typedef struct object object;
typedef struct operation operation;
typedef struct kernel kernel;

// A place in a stream. It is reached when the stream has done its operation number `at`.
typedef struct {
    object *stream;
    uint64_t at;
} mark;

typedef enum { CONTEXT = 1, STREAM, EVENT, MODULE, FUNCTION } object_kind;

struct object {
    object_kind kind;
    int live, device, number;
    union {
        struct { int retains; };               // of a context
        struct {                               // of a stream
            int consumers;                     // torch's, not of cuStreamCreate
            operation *first, *last;
            uint64_t queued, done;             // operations, from the beginning
        };
        struct {                               // of an event
            int untimed;
            mark record;                       // the latest; no stream: none
            uint64_t moment;                   // when the latest was done
        };
        struct {                               // of a function
            object *module;
            const kernel *kernel;
        };
    };
};

object *make_object(object_kind, int device);
// The object of a handle, or NULL if it has none that lives. A handle is only compared, never followed.
object *find_object(const void *handle, object_kind);
// The same, and NULL is a violation.
object *need_object(const char *call, const void *handle, object_kind, const char *what);
object *nth_object(int);
extern int n_objects;

// -- operations

typedef enum { COPY_IN, COPY_OUT, KERNEL, RECORD, WAIT, READ, TOUCH } operation_kind;

struct operation {
    operation *next;
    operation_kind kind;
    const char *call;
    uint64_t address, bytes;  // of the device's memory
    void *host;
    uint8_t *snapshot;        // of a copy's source, at the call
    uint64_t pin;             // the pinned memory of the copy, or 0
    object *event;
    mark until;               // of a wait
    int *ready;
    object *function;
    uint32_t across, down;    // threads
    gf_making making;
};

object *make_stream(int device, int consumers);
object *default_stream(int device);
// The stream of a handle, with NULL for the device's default one; or NULL with a violation.
object *stream_of(const char *call, const void *handle, int device);
mark end_of(object *stream);
int reached(mark);
// Puts an operation at the end of a stream, which owns its snapshot.
void enqueue(object *stream, const operation *);
void drain(mark);
int advance(object *stream, int n);
void advance_all(void);
void wander(void); // a random part, in STANDIN_RANDOM
int pending(void);
int names(uint64_t address, uint64_t bytes); // whether an operation that is not done uses that memory
void forget_streams(void);
extern int mode;
extern uint64_t seed;

// Does a kernel on a stream.
void run_kernel(const object *stream, const operation *);
const kernel *find_kernel(const char *name);

// -- memory of the device

uint64_t allocate(int device, uint64_t bytes, object *torch_stream);
int device_of(uint64_t address); // or -1
// Whether an operation of a stream may use a range now; else a violation.
int reach(const char *call, const object *stream, uint64_t address, uint64_t bytes, const char *what);
// Notes a stream that uses torch's memory. 0 if there is no such memory.
int note_use(uint64_t address, object *stream);
// 0 if there is no such memory.
int free_later(uint64_t address);
int free_now(uint64_t address, uint64_t *bytes);
void release_what_is_left(void); // of what is freed and no longer in use
void memory_info(int device, size_t *left, size_t *total);
void set_memory(uint64_t left, uint64_t total);
void list_memory(void);
void forget_memory(void);

// -- pinned memory of the host

int pin(void *, size_t bytes, void *mapped); // a code
int unpin(void *, int mapped);               // 0 if there is no such memory
void *host_alloc(size_t bytes, int *code);
// The number of the pinned memory that holds the range, 0: none; -1: a part of the range is pinned.
int64_t pin_of(const void *, size_t bytes);
int pin_lives(uint64_t number);
void set_pin_limit(uint64_t);
void list_pins(void);
void forget_pins(void);

// -- contexts

object *current_context(void);
void list_contexts(void);
void forget_contexts(void);

// -- calls

int lock_all(void);
void unlock_all(int *);
#define LOCKED int locked __attribute__((cleanup(unlock_all), unused)) = lock_all()

typedef enum {
    NEEDS_NOTHING,
    NEEDS_DRIVER,  // after cuInit
    NEEDS_CONTEXT,
    ENDS,          // a context; and is done on a lost device too
} needs;
int begin(int call, needs);
extern _Thread_local int capture_mode; // of the thread: 0 is global
int ended(void); // what a call that ends something returns
#define BEGIN(name, what)                       \
    if (is_forked()) return NOT_INITIALIZED;    \
    LOCKED;                                     \
    const char *call = symbols[CALL_##name];    \
    int begun = begin(CALL_##name, what);       \
    (void)call;                                 \
    if (begun) return begun

int is_forked(void);
void initialise(void);
void forget_calls(void);
int call_of(const char *symbol, const char *who); // or -1 with a violation
void violation(const char *call, const char *format, ...) __attribute__((format(printf, 2, 3)));
void leak(const char *format, ...) __attribute__((format(printf, 1, 2)));

typedef struct {
    int devices, version, major, minor, log, capturing;
    int syncs, staged;
    int calls[N_CALLS], slow[N_CALLS];
    int lost[MOST_DEVICES];
} machine_state;
extern machine_state machine;
void add_fault(int call, int nth, int code);
void forget_faults(void);

#endif
