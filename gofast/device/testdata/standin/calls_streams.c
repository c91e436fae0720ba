// The calls about streams and events.
#include "state.h"

EXPORT gf_cu_result cuStreamCreate(gf_cu_stream *made, unsigned flags) {
    BEGIN(stream_create, NEEDS_CONTEXT);
    if (flags != GF_CU_STREAM_NON_BLOCKING) violation(call, "flags %u: a stream that blocks waits for the null stream too", flags);
    *made = (gf_cu_stream)make_stream(current_context()->device, 0);
    return SUCCESS;
}

EXPORT gf_cu_result cuThreadExchangeStreamCaptureMode(int *mode) {
    BEGIN(capture_mode, NEEDS_DRIVER);
    int before = capture_mode;
    if (*mode < 0 || *mode > GF_CU_CAPTURE_RELAXED) return INVALID_VALUE;
    capture_mode = *mode;
    *mode = before;
    return SUCCESS;
}

EXPORT gf_cu_result cuStreamDestroy_v2(gf_cu_stream handle) {
    BEGIN(stream_destroy, ENDS);
    object *stream = need_object(call, handle, STREAM, "stream");
    if (!stream) return INVALID_HANDLE;
    if (stream->consumers) {
        violation(call, "stream %d is the consumer's", stream->number);
        return INVALID_HANDLE;
    }
    stream->live = 0;
    return ended();
}

EXPORT gf_cu_result cuStreamWaitEvent(gf_cu_stream on, gf_cu_event handle, unsigned flags) {
    BEGIN(stream_wait, NEEDS_CONTEXT);
    object *stream = stream_of(call, on, current_context()->device);
    object *event = need_object(call, handle, EVENT, "event");
    if (!stream || !event) return INVALID_HANDLE;
    if (flags) return INVALID_VALUE;
    if (!event->record.stream) {
        violation(call, "a wait for an event that was never recorded");
        return SUCCESS; // and waits for nothing
    }
    enqueue(stream, &(operation){.kind = WAIT, .call = call, .until = event->record});
    return SUCCESS;
}

EXPORT gf_cu_result cuStreamSynchronize(gf_cu_stream on) {
    BEGIN(stream_synchronize, NEEDS_CONTEXT);
    object *stream = stream_of(call, on, current_context()->device);
    if (!stream) return INVALID_HANDLE;
    machine.syncs++;
    drain(end_of(stream));
    return SUCCESS;
}

EXPORT gf_cu_result cuEventCreate(gf_cu_event *made, unsigned flags) {
    BEGIN(event_create, NEEDS_CONTEXT);
    object *event = make_object(EVENT, current_context()->device);
    event->untimed = (flags & GF_CU_EVENT_DISABLE_TIMING) != 0;
    *made = (gf_cu_event)event;
    return SUCCESS;
}

EXPORT gf_cu_result cuEventDestroy_v2(gf_cu_event handle) {
    BEGIN(event_destroy, ENDS);
    object *event = need_object(call, handle, EVENT, "event");
    if (!event) return INVALID_HANDLE;
    event->live = 0;
    return ended();
}

EXPORT gf_cu_result cuEventRecord(gf_cu_event handle, gf_cu_stream on) {
    BEGIN(event_record, NEEDS_CONTEXT);
    object *stream = stream_of(call, on, current_context()->device);
    object *event = need_object(call, handle, EVENT, "event");
    if (!stream || !event) return INVALID_HANDLE;
    if (event->device != stream->device) {
        violation(call, "the event is of device %d, and the stream of device %d", event->device, stream->device);
        return INVALID_HANDLE;
    }
    enqueue(stream, &(operation){.kind = RECORD, .call = call, .event = event});
    return SUCCESS;
}

EXPORT gf_cu_result cuEventQuery(gf_cu_event handle) {
    BEGIN(event_query, NEEDS_CONTEXT);
    object *event = need_object(call, handle, EVENT, "event");
    if (!event) return INVALID_HANDLE;
    return !event->record.stream || reached(event->record) ? SUCCESS : NOT_READY;
}

EXPORT gf_cu_result cuEventElapsedTime(float *milliseconds, gf_cu_event from, gf_cu_event to) {
    BEGIN(event_elapsed, NEEDS_CONTEXT);
    object *first = need_object(call, from, EVENT, "event"), *second = need_object(call, to, EVENT, "event");
    if (!first || !second) return INVALID_HANDLE;
    if (first->untimed || second->untimed || !first->record.stream || !second->record.stream) {
        violation(call, "an event that tells no time, or was never recorded");
        return INVALID_HANDLE;
    }
    if (!reached(first->record) || !reached(second->record)) return NOT_READY;
    // An operation takes 10 us.
    *milliseconds = second->moment > first->moment ? 0.01f * (float)(second->moment - first->moment) : 0.001f;
    return SUCCESS;
}
