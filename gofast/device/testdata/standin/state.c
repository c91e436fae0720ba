// The lock, the objects behind handles, and the texts of what was wrong.
#define _GNU_SOURCE // a recursive mutex without a call
#include <stdarg.h>
#include <sys/mman.h>

#include "state.h"

static pthread_mutex_t mutex = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

int lock_all(void) { return pthread_mutex_lock(&mutex); }

void unlock_all(int *locked) {
    (void)locked;
    pthread_mutex_unlock(&mutex);
}

// -- objects. They lie in one table, so that a handle is checked without following it, and none is used twice.

enum { MOST_OBJECTS = 1 << 20 };
static object *objects;
int n_objects;

object *make_object(object_kind kind, int device) {
    if (!objects) objects = mmap(NULL, MOST_OBJECTS * sizeof *objects, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (objects == MAP_FAILED || n_objects == MOST_OBJECTS) {
        fputs("standin: a million handles were made: call standin_reset\n", stderr);
        abort();
    }
    object *made = &objects[n_objects++];
    *made = (object){.kind = kind, .live = 1, .device = device, .number = n_objects};
    return made;
}

object *find_object(const void *handle, object_kind kind) {
    uintptr_t at = (uintptr_t)handle - (uintptr_t)objects;
    if (at % sizeof *objects || at / sizeof *objects >= (uintptr_t)n_objects) return NULL;
    object *found = objects + at / sizeof *objects;
    return found->kind == kind && found->live ? found : NULL;
}

object *need_object(const char *call, const void *handle, object_kind kind, const char *what) {
    object *found = find_object(handle, kind);
    if (!found) violation(call, "%p is no %s, or no longer one", handle, what);
    return found;
}

object *nth_object(int i) { return &objects[i]; }

static void forget_objects(void) {
    if (objects) madvise(objects, MOST_OBJECTS * sizeof *objects, MADV_DONTNEED);
    n_objects = 0;
}

// -- texts

typedef struct {
    char bytes[1 << 16];
    size_t used;
} text;
static text violations, leaks;

static void add(text *t, const char *prefix, const char *format, va_list arguments) {
    char line[512];
    vsnprintf(line, sizeof line, format, arguments);
    size_t left = sizeof t->bytes - t->used;
    int n = snprintf(t->bytes + t->used, left, "%s%s%s\n", prefix, *prefix ? ": " : "", line);
    if ((size_t)n < left) t->used += (size_t)n;
    else t->bytes[t->used] = 0; // full: the first ones count
}

void violation(const char *call, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    add(&violations, call, format, arguments);
    va_end(arguments);
}

void leak(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    add(&leaks, "", format, arguments);
    va_end(arguments);
}

const char *standin_violations(void) { return violations.bytes; }

const char *standin_leaks(void) {
    LOCKED;
    leaks.used = 0;
    leaks.bytes[0] = 0;
    list_contexts();
    for (int i = 0; i < n_objects; i++) {
        const object *o = &objects[i];
        if (!o->live) continue;
        if (o->kind == STREAM && !o->consumers) leak("stream %d of device %d", o->number, o->device);
        if (o->kind == EVENT) leak("event %d of device %d", o->number, o->device);
        if (o->kind == MODULE) leak("module %d of device %d", o->number, o->device);
    }
    list_memory();
    list_pins();
    return leaks.bytes;
}

void standin_reset(void) {
    LOCKED;
    forget_streams();
    forget_memory();
    forget_pins();
    forget_contexts();
    forget_objects();
    forget_calls();
    violations.used = 0;
    violations.bytes[0] = 0;
}
