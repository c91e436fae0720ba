// The calls about memory.
#include "state.h"

EXPORT gf_cu_result cuMemGetInfo_v2(size_t *left, size_t *total) {
    BEGIN(memory_info, NEEDS_CONTEXT);
    memory_info(current_context()->device, left, total);
    return SUCCESS;
}

EXPORT gf_cu_result cuMemAlloc_v2(gf_cu_address *made, size_t bytes) {
    BEGIN(memory_alloc, NEEDS_CONTEXT);
    if (!bytes) return INVALID_VALUE;
    *made = allocate(current_context()->device, bytes, NULL);
    return *made ? SUCCESS : OUT_OF_MEMORY;
}

EXPORT gf_cu_result cuMemFree_v2(gf_cu_address address) {
    BEGIN(memory_free, ENDS);
    uint64_t bytes;
    machine.syncs++;
    if (!free_now(address, &bytes)) {
        violation(call, "%#llx is no memory of cuMemAlloc, or no longer", (unsigned long long)address);
        return INVALID_VALUE;
    }
    if (names(address, bytes)) violation(call, "freed while work that uses it is under way: %#llx", (unsigned long long)address);
    return ended();
}

EXPORT gf_cu_result cuMemHostAlloc(void **made, size_t bytes, unsigned flags) {
    BEGIN(host_alloc, NEEDS_CONTEXT);
    (void)flags;
    int code = INVALID_VALUE;
    if (bytes) *made = host_alloc(bytes, &code);
    return code;
}

EXPORT gf_cu_result cuMemFreeHost(void *memory) {
    BEGIN(host_free, ENDS);
    if (!unpin(memory, 1)) {
        violation(call, "%p is no memory of cuMemHostAlloc, or no longer", memory);
        return INVALID_VALUE;
    }
    return ended();
}

EXPORT gf_cu_result cuMemHostRegister_v2(void *memory, size_t bytes, unsigned flags) {
    BEGIN(host_register, NEEDS_CONTEXT);
    (void)flags;
    return memory && bytes ? pin(memory, bytes, NULL) : INVALID_VALUE;
}

EXPORT gf_cu_result cuMemHostUnregister(void *memory) {
    BEGIN(host_unregister, ENDS);
    return unpin(memory, 0) ? ended() : NOT_REGISTERED;
}

// Whether a copy may use the host's memory; then *pin says how it is pinned.
static int host_range(const char *call, const void *memory, size_t bytes, uint64_t *pin) {
    int64_t found = memory ? pin_of(memory, bytes) : -1;
    if (found < 0) violation(call, memory ? "only a part of %zu bytes at %p is pinned" : "%zu bytes at %p", bytes, memory);
    *pin = (uint64_t)found;
    return found >= 0;
}

EXPORT gf_cu_result cuMemcpyHtoDAsync_v2(gf_cu_address to, const void *from, size_t bytes, gf_cu_stream on) {
    BEGIN(copy_in, NEEDS_CONTEXT);
    object *stream = stream_of(call, on, current_context()->device);
    if (!stream) return INVALID_HANDLE;
    if (!bytes) return SUCCESS;
    operation o = {.kind = COPY_IN, .call = call, .address = to, .bytes = bytes, .host = (void *)from};
    if (!host_range(call, from, bytes, &o.pin)) return INVALID_VALUE;
    if (!o.pin) machine.staged++;
    o.snapshot = malloc(bytes);
    memcpy(o.snapshot, from, bytes);
    enqueue(stream, &o);
    return SUCCESS;
}

EXPORT gf_cu_result cuMemcpyDtoHAsync_v2(void *to, gf_cu_address from, size_t bytes, gf_cu_stream on) {
    BEGIN(copy_out, NEEDS_CONTEXT);
    object *stream = stream_of(call, on, current_context()->device);
    if (!stream) return INVALID_HANDLE;
    if (!bytes) return SUCCESS;
    operation o = {.kind = COPY_OUT, .call = call, .address = from, .bytes = bytes, .host = to};
    if (!host_range(call, to, bytes, &o.pin)) return INVALID_VALUE;
    enqueue(stream, &o);
    if (!o.pin) {
        machine.syncs++;
        drain(end_of(stream));
    }
    return SUCCESS;
}
