// Opens and closes a device.
#include "device.h"

#include <unistd.h>

// Fills in what the driver says of a device, and makes its stream.
static int set_up(gf_device *d, int ordinal, gf_device_fault *fault) {
    const gf_driver *driver = d->driver;
    int code, major = 0, minor = 0;
    if ((code = gf_device_said(d, driver->device_get(&d->handle, ordinal), "cuDeviceGet", fault))) return code;
    if ((code = gf_device_said(d, driver->device_attribute(&major, GF_CU_CAPABILITY_MAJOR, d->handle), "cuDeviceGetAttribute", fault))) return code;
    if ((code = gf_device_said(d, driver->device_attribute(&minor, GF_CU_CAPABILITY_MINOR, d->handle), "cuDeviceGetAttribute", fault))) return code;
    d->capability = 10 * major + minor;
    if ((code = gf_device_said(d, driver->context_retain(&d->context, d->handle), "cuDevicePrimaryCtxRetain", fault))) return code;
    if (!(code = gf_device_enter(d, fault))) {
        code = gf_device_said(d, driver->stream_create(&d->stream, GF_CU_STREAM_NON_BLOCKING), "cuStreamCreate", fault);
        gf_device_leave(d);
    }
    if (code) driver->context_release(d->handle);
    return code;
}

gf_device *gf_device_open(const gf_driver *driver, int ordinal, gf_device_fault *fault) {
    gf_device *d = calloc(1, sizeof *d);
    if (!d) {
        *fault = (gf_device_fault){-1, "no memory for a device"};
        return NULL;
    }
    d->driver = driver;
    d->ordinal = ordinal;
    d->pid = (int32_t)getpid();
    d->first = d->last = 1;
    atomic_init(&d->users, 1);
    pthread_mutex_init(&d->lock, NULL);
    if (set_up(d, ordinal, fault)) {
        pthread_mutex_destroy(&d->lock);
        free(d);
        return NULL;
    }
    return d;
}

void gf_device_close(gf_device *d) {
    const gf_driver *driver = d->driver;
    if (!gf_device_enter(d, NULL)) {
        driver->stream_synchronize(d->stream);
        gf_device_done(d, d->last); // gives the slots back
        for (int64_t i = 0; i < d->n_events; i++) driver->event_destroy(d->events[i]);
        for (int64_t i = 0; i < d->n_timers; i++) driver->event_destroy(d->timers[i]);
        if (d->staging) driver->host_free(d->staging);
        driver->stream_destroy(d->stream);
        gf_device_leave(d);
    } else if (d->pid == (int32_t)getpid()) {
        gf_moves_forget(d); // somebody has destroyed the context, and its work with it
    }
    free(d->moves);
    free(d->events);
    free(d->timers);
    gf_device_drop(d);
}
