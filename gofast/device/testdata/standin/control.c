// What a test calls, beside what stands with its own part.
#include "state.h"

void standin_mode(int chosen) {
    LOCKED;
    mode = chosen;
}

void standin_seed(uint64_t chosen) {
    LOCKED;
    seed = chosen * 0x9e3779b97f4a7c15u + 1; // small seeds differ in few bits, and 0 would draw zeros for ever
}

// The stream of a handle, for a test's own calls.
static object *stream_for(const char *who, void *handle, int device) {
    if (device < 0) {
        const object *context = current_context();
        device = context ? context->device : 0;
    }
    return stream_of(who, handle, device);
}

int standin_advance(void *handle, int n) {
    LOCKED;
    // A destroyed stream still does what is on it: standin_advance_all.
    object *stream = stream_for("standin_advance", handle, -1);
    return stream ? advance(stream, n) : 0;
}

void standin_advance_all(void) {
    LOCKED;
    advance_all();
}

int standin_pending(void) {
    LOCKED;
    return pending();
}

// -- the consumer

void *standin_stream(int device) {
    LOCKED;
    return make_stream(device, 1);
}

// What a capture by default forbids torch too, on every thread.
static void for_no_graph(const char *who, const char *call) {
    if (machine.capturing && capture_mode != GF_CU_CAPTURE_RELAXED) violation(who, "a capture is under way: %s ends it", call);
}

uint64_t standin_malloc(int device, uint64_t bytes, void *handle) {
    LOCKED;
    object *stream = stream_for("standin_malloc", handle, device);
    for_no_graph("standin_malloc", "cudaMalloc");
    return stream ? allocate(device, bytes, stream) : 0;
}

void standin_record(uint64_t address, void *handle) {
    LOCKED;
    object *stream = stream_for("standin_record", handle, device_of(address));
    if (stream && !note_use(address, stream)) violation("standin_record", "%#llx is no memory, or no longer", (unsigned long long)address);
}

void standin_free(uint64_t address) {
    LOCKED;
    if (!free_later(address)) violation("standin_free", "%#llx is no memory of standin_malloc, or no longer", (unsigned long long)address);
}

void standin_read(void *handle, uint64_t address, uint64_t bytes, void *out, int *ready) {
    LOCKED;
    object *stream = stream_for("standin_read", handle, device_of(address));
    if (stream) enqueue(stream, &(operation){.kind = READ, .call = "standin_read", .address = address, .bytes = bytes, .host = out, .ready = ready});
}

void standin_touch(void *handle, uint64_t address, uint64_t bytes) {
    LOCKED;
    object *stream = stream_for("standin_touch", handle, device_of(address));
    if (stream) enqueue(stream, &(operation){.kind = TOUCH, .call = "standin_touch", .address = address, .bytes = bytes});
}

uint64_t standin_end(void *handle) {
    LOCKED;
    object *stream = stream_for("standin_end", handle, -1);
    return stream ? end_of(stream).at : 0;
}

int standin_reached(void *handle, uint64_t place) {
    LOCKED;
    object *stream = stream_for("standin_reached", handle, -1);
    for_no_graph("standin_reached", "cudaEventQuery");
    return !stream || reached((mark){stream, place});
}

void standin_wait(void *handle, uint64_t place) {
    LOCKED;
    object *stream = stream_for("standin_wait", handle, -1);
    for_no_graph("standin_wait", "cudaEventSynchronize");
    machine.syncs++;
    if (stream) drain((mark){stream, place});
}

// -- the machine

void standin_devices(int n) {
    LOCKED;
    machine.devices = n < MOST_DEVICES ? n : MOST_DEVICES;
}

void standin_version(int version) {
    LOCKED;
    machine.version = version;
}

void standin_capability(int major, int minor) {
    LOCKED;
    machine.major = major;
    machine.minor = minor;
}

void standin_memory(uint64_t left, uint64_t total) {
    LOCKED;
    set_memory(left, total);
}

void standin_pin_limit(uint64_t bytes) {
    LOCKED;
    set_pin_limit(bytes);
}

// -- faults

void standin_fail(const char *symbol, int nth, int code) {
    LOCKED;
    int call = call_of(symbol, "standin_fail");
    if (call >= 0) add_fault(call, nth, code);
}

void standin_capture(int on) {
    LOCKED;
    machine.capturing = on;
}

void standin_heal(void) {
    LOCKED;
    forget_faults();
}

void standin_lose(int device) {
    LOCKED;
    machine.lost[device] = 1;
}

void standin_slow(const char *symbol, int microseconds) {
    LOCKED;
    int call = call_of(symbol, "standin_slow");
    if (call >= 0) machine.slow[call] = microseconds;
}

// -- looking

int standin_calls(const char *symbol) {
    LOCKED;
    int call = call_of(symbol, "standin_calls");
    return call < 0 ? -1 : machine.calls[call];
}

int standin_syncs(void) {
    LOCKED;
    return machine.syncs;
}

int standin_staged(void) {
    LOCKED;
    return machine.staged;
}

void standin_log(int on) {
    LOCKED;
    machine.log = on;
}
