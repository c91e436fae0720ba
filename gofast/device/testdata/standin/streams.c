// Streams: when an operation is done, and what it does.
#include "state.h"

int mode;
uint64_t seed = 1;

static object **streams; // all, those of before their destruction too: work that is on them is still done
static int n_streams, room;
static object *defaults[MOST_DEVICES];
static uint64_t moment; // counts what is done

object *make_stream(int device, int consumers) {
    if (n_streams == room) {
        room = room ? 2 * room : 16;
        streams = realloc(streams, (size_t)room * sizeof *streams);
    }
    object *made = streams[n_streams++] = make_object(STREAM, device);
    made->consumers = consumers;
    return made;
}

object *default_stream(int device) {
    if (!defaults[device]) defaults[device] = make_stream(device, 1);
    return defaults[device];
}

object *stream_of(const char *call, const void *handle, int device) {
    return handle ? need_object(call, handle, STREAM, "stream") : default_stream(device);
}

mark end_of(object *stream) { return (mark){stream, stream->queued}; }
int reached(mark m) { return m.stream->done >= m.at; }

// -- doing

static void copy_in(const object *stream, const operation *o) {
    const void *from = o->snapshot;
    if (o->pin && !pin_lives(o->pin)) {
        violation(o->call, "source unpinned before its copy: %llu bytes at %p", (unsigned long long)o->bytes, o->host);
        return;
    }
    if (o->pin) {
        from = o->host;
        if (memcmp(from, o->snapshot, o->bytes))
            violation(o->call, "source written before its copy: %llu bytes at %p", (unsigned long long)o->bytes, o->host);
    }
    if (reach(o->call, stream, o->address, o->bytes, "the target")) memcpy((void *)(uintptr_t)o->address, from, o->bytes);
}

static void copy_out(const object *stream, const operation *o) {
    if (o->pin && !pin_lives(o->pin))
        violation(o->call, "target unpinned before its copy: %llu bytes at %p", (unsigned long long)o->bytes, o->host);
    else if (reach(o->call, stream, o->address, o->bytes, "the source"))
        memcpy(o->host, (const void *)(uintptr_t)o->address, o->bytes);
}

static void run(object *stream, const operation *o) {
    switch (o->kind) {
    case COPY_IN: copy_in(stream, o); break;
    case COPY_OUT: copy_out(stream, o); break;
    case KERNEL: run_kernel(stream, o); break;
    case RECORD:
        if (o->event->record.stream == stream && o->event->record.at == stream->done + 1) o->event->moment = moment;
        break;
    case WAIT: break;
    case READ:
        if (!reach(o->call, stream, o->address, o->bytes, "a read")) break;
        if (o->host) memcpy(o->host, (const void *)(uintptr_t)o->address, o->bytes);
        if (o->ready) *o->ready = 1;
        break;
    case TOUCH: reach(o->call, stream, o->address, o->bytes, "a kernel of the consumer"); break;
    }
}

static void do_first(object *stream) {
    operation *o = stream->first;
    moment++;
    if (!machine.lost[stream->device]) run(stream, o);
    stream->first = o->next;
    if (!stream->first) stream->last = NULL;
    stream->done++;
    free(o->snapshot);
    free(o);
    release_what_is_left();
}

void drain(mark m) {
    while (!reached(m)) {
        if (m.stream->first->kind == WAIT) drain(m.stream->first->until);
        do_first(m.stream);
    }
}

int advance(object *stream, int n) {
    int done = 0;
    for (; done != n && stream->first; done++) {
        if (stream->first->kind == WAIT && !reached(stream->first->until)) break;
        do_first(stream);
    }
    return done;
}

void advance_all(void) {
    for (int i = 0; i < n_streams; i++) drain(end_of(streams[i]));
}

static uint64_t draw(uint64_t below) {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (seed >> 11) % below;
}

void wander(void) {
    if (mode != STANDIN_RANDOM || !n_streams || draw(2)) return;
    for (uint64_t times = 1 + draw(3); times; times--) {
        object *stream = streams[draw((uint64_t)n_streams)];
        advance(stream, (int)draw(5));
    }
}

// -- queueing

void enqueue(object *stream, const operation *o) {
    operation *made = malloc(sizeof *made);
    *made = *o;
    made->next = NULL;
    if (stream->last) stream->last->next = made;
    else stream->first = made;
    stream->last = made;
    stream->queued++;
    if (o->kind == RECORD) o->event->record = end_of(stream);
    int at_once = mode == STANDIN_ON_SIGHT ? stream->consumers || o->kind == READ : mode == STANDIN_LATE && o->kind == READ;
    if (at_once) drain(end_of(stream));
}

int pending(void) {
    uint64_t n = 0;
    for (int i = 0; i < n_streams; i++) n += streams[i]->queued - streams[i]->done;
    return (int)n;
}

static int inside(uint64_t from, uint64_t bytes, uint64_t address) { return address >= from && address - from < bytes; }

static int making_names(const gf_making *m, uint64_t from, uint64_t bytes) {
    const void *all[] = {m->stored, m->rows, m->made, m->results, m->mean, m->std, m->labels, m->labels_made, m->boxes};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (inside(from, bytes, (uint64_t)(uintptr_t)all[i])) return 1;
    return 0;
}

int names(uint64_t address, uint64_t bytes) {
    for (int i = 0; i < n_streams; i++)
        for (const operation *o = streams[i]->first; o; o = o->next)
            if (inside(address, bytes, o->address) || (o->kind == KERNEL && making_names(&o->making, address, bytes))) return 1;
    return 0;
}

void forget_streams(void) {
    for (int i = 0; i < n_streams; i++)
        for (operation *o = streams[i]->first, *next; o; o = next) {
            next = o->next;
            free(o->snapshot);
            free(o);
        }
    n_streams = 0;
    memset(defaults, 0, sizeof defaults);
    moment = 0;
    mode = STANDIN_MANUAL;
    seed = 1;
}
