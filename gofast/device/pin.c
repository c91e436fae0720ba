// Pinned rings.
#include "device.h"

#include <unistd.h>

enum { MOST_THREADS = 8, BYTES_A_THREAD = 8 << 20 };

typedef struct {
    char *from, *to;
} stretch;

// Writes to every page, without changing it.
static void *make_pages(void *of) {
    const stretch *s = of;
    for (_Atomic char *at = (_Atomic char *)s->from; (char *)at < s->to; at += 4096) atomic_fetch_or_explicit(at, 0, memory_order_relaxed);
    return NULL;
}

static void make_all_pages(char *map, size_t bytes) {
    pthread_t threads[MOST_THREADS];
    stretch part[MOST_THREADS];
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    int64_t n = (int64_t)(bytes / BYTES_A_THREAD) + 1;
    if (n > MOST_THREADS) n = MOST_THREADS;
    if (n > processors) n = processors > 0 ? processors : 1;
    size_t each = (size_t)gf_align((int64_t)bytes / n, 4096);
    int64_t started = 0;
    for (int64_t i = 0; i < n; i++) {
        size_t from = (size_t)i * each < bytes ? (size_t)i * each : bytes, to = i == n - 1 || from + each > bytes ? bytes : from + each;
        part[i] = (stretch){map + from, map + to};
        if (i == n - 1 || pthread_create(&threads[started], NULL, make_pages, &part[i])) make_pages(&part[i]);
        else started++;
    }
    for (int64_t i = 0; i < started; i++) pthread_join(threads[i], NULL);
}

// Says whether the ring's memory may be unmapped now; runs on any thread. In a forked child it is not mapped, and other
// memory may lie there. Memory that the driver does not give up, or cannot at the end of the process, stays: its
// pages are the device's.
static int unpin(gf_ring *ring) {
    gf_device *d = ring->pinned_by;
    int given_up = 0;
    if (!gf_device_enter(d, NULL)) {
        given_up = !d->driver->host_unregister(ring->map);
        gf_device_leave(d);
        atomic_fetch_sub_explicit(&d->counts.pinned_bytes, (int64_t)ring->map_bytes, memory_order_relaxed);
    }
    gf_device_drop(d);
    return given_up;
}

int gf_device_pin(gf_device *d, gf_ring *ring, gf_device_fault *fault) {
    if (ring->unpin) return 0;
    // A child that is forked later does not get the memory. It has no use for it, and else the next write, by the parent
    // too, could give the writer a page of its own, which the device does not see: so it is with drivers and
    // kernels before 5.9 that pin pages by plain references.
    madvise(ring->map, ring->map_bytes, MADV_DONTFORK);
    make_all_pages(ring->map, ring->map_bytes);
    int code = gf_device_enter(d, fault);
    if (!code) {
        code = gf_device_said(d, d->driver->host_register(ring->map, ring->map_bytes, GF_CU_HOST_PORTABLE), "cuMemHostRegister", fault);
        gf_device_leave(d);
    }
    if (code) {
        madvise(ring->map, ring->map_bytes, MADV_DOFORK);
        return code;
    }
    atomic_fetch_add_explicit(&d->users, 1, memory_order_relaxed);
    ring->pinned_by = d;
    ring->unpin = unpin;
    atomic_fetch_add_explicit(&d->counts.pinned_bytes, (int64_t)ring->map_bytes, memory_order_relaxed);
    return 0;
}
