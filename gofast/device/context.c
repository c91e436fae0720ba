// What all other files here stand on: the device's context, what the driver says, a kernel's start.
#include "device.h"

#include <stdio.h>
#include <unistd.h>

int gf_device_said(const gf_device *d, gf_cu_result code, const char *call, gf_device_fault *fault) {
    if (!code || !fault) return code;
    const char *name = NULL, *words = NULL;
    d->driver->error_name(code, &name);
    d->driver->error_string(code, &words);
    fault->code = code;
    snprintf(fault->text, sizeof fault->text, "%s: %s (%s)", call, name ? name : "unknown error", words ? words : "no words");
    return code;
}

// The thread's capture modes before each gf_device_enter that it is inside of: sending enters, and launching inside of it.
enum { MOST_ENTERED = 8 };
static _Thread_local int modes[MOST_ENTERED], entered;

int gf_device_enter(gf_device *d, gf_device_fault *fault) {
    if (d->pid != (int32_t)getpid()) {
        if (fault) {
            fault->code = -1;
            snprintf(fault->text, sizeof fault->text, "the device was opened in process %d, and CUDA does not survive a fork", d->pid);
        }
        return -1;
    }
    int code = gf_device_said(d, d->driver->context_push(d->context), "cuCtxPushCurrent", fault);
    if (code) return code;
    int mode = GF_CU_CAPTURE_RELAXED;
    d->driver->capture_mode(&mode);
    if (entered < MOST_ENTERED) modes[entered] = mode;
    entered++;
    return 0;
}

void gf_device_leave(gf_device *d) {
    entered--;
    if (entered < MOST_ENTERED) d->driver->capture_mode(&modes[entered]);
    gf_cu_context popped;
    d->driver->context_pop(&popped);
}

void gf_device_drop(gf_device *d) {
    if (atomic_fetch_sub_explicit(&d->users, 1, memory_order_acq_rel) != 1) return;
    if (d->pid == (int32_t)getpid()) d->driver->context_release(d->handle);
    pthread_mutex_destroy(&d->lock);
    free(d);
}

int gf_device_launch(gf_device *d, uint64_t function, const gf_making *making, uint64_t stream, gf_device_fault *fault) {
    if (!making->count || (!making->width && !making->label_bytes)) return 0; // a grid of no blocks is an error
    // A thread makes four values, a block is 256 threads: of one row if that is long, else of several.
    int64_t groups = (making->width + 3) / 4, wide = groups > making->label_bytes ? groups : making->label_bytes;
    unsigned x = 1;
    while (x < 256 && x < wide) x *= 2;
    unsigned y = 256 / x;
    int64_t across = (wide + x - 1) / x, down = (making->count + y - 1) / y;
    if (across > 4096) across = 4096; // the kernel's loops do the rest
    if (down > 65535) down = 65535;
    void *parameters[] = {(void *)making};
    int code = gf_device_enter(d, fault);
    if (code) return code;
    code = gf_device_said(d, d->driver->launch((gf_cu_function)(uintptr_t)function, (unsigned)across, (unsigned)down, 1, x, y, 1, 0,
                                               (gf_cu_stream)(uintptr_t)stream, parameters, NULL),
                          "cuLaunchKernel", fault);
    gf_device_leave(d);
    if (!code) atomic_fetch_add_explicit(&d->counts.kernels, 1, memory_order_relaxed);
    return code;
}
