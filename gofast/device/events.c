// Events: those of moves, which are used again and again, and marks on the streams of consumers.
#include "device.h"

static int grow(gf_cu_event **array, int64_t *room) {
    int64_t more = *room ? 2 * *room : 16;
    gf_cu_event *larger = realloc(*array, (size_t)more * sizeof *larger);
    if (!larger) return 0;
    *array = larger;
    *room = more;
    return 1;
}

gf_cu_event gf_event_take(gf_device *d, int timed, gf_device_fault *fault) {
    if (timed && d->n_timers) return d->timers[--d->n_timers];
    if (!timed && d->n_events) return d->events[--d->n_events];
    gf_cu_event made = NULL;
    if (gf_device_said(d, d->driver->event_create(&made, timed ? 0 : GF_CU_EVENT_DISABLE_TIMING), "cuEventCreate", fault)) return NULL;
    return made;
}

void gf_event_give(gf_device *d, gf_cu_event event, int timed) {
    if (!event) return;
    gf_cu_event **list = timed ? &d->timers : &d->events;
    int64_t *n = timed ? &d->n_timers : &d->n_events, *room = timed ? &d->timer_room : &d->event_room;
    if (*n == *room && !grow(list, room)) d->driver->event_destroy(event);
    else (*list)[(*n)++] = event;
}

gf_cu_event gf_device_mark(gf_device *d, uint64_t stream, gf_device_fault *fault) {
    if (gf_device_enter(d, fault)) return NULL;
    pthread_mutex_lock(&d->lock);
    gf_cu_event mark = gf_event_take(d, 0, fault);
    if (mark && gf_device_said(d, d->driver->event_record(mark, (gf_cu_stream)(uintptr_t)stream), "cuEventRecord", fault)) {
        gf_event_give(d, mark, 0);
        mark = NULL;
    }
    pthread_mutex_unlock(&d->lock);
    gf_device_leave(d);
    return mark;
}

int gf_device_follow(gf_device *d, gf_cu_event mark, gf_device_fault *fault) {
    int code = gf_device_enter(d, fault);
    if (code) return code; // the event is gone with its context
    pthread_mutex_lock(&d->lock);
    code = gf_device_said(d, d->driver->stream_wait(d->stream, mark, 0), "cuStreamWaitEvent", fault);
    gf_event_give(d, mark, 0); // a wait is for the record of its time, whatever the event marks later
    pthread_mutex_unlock(&d->lock);
    gf_device_leave(d);
    return code;
}
