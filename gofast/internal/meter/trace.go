package meter

/*
#include "trace.h"

static int64_t thread_of(gf_trace_ring *r) { return atomic_load(&r->thread); }
static int64_t role_of(gf_trace_ring *r) { return atomic_load(&r->role); }
static int trace_of(gf_trace_ring *r) { return atomic_load(&r->trace); }
static int64_t written(gf_trace_ring *r) { return atomic_load_explicit(&r->written, memory_order_acquire); }
static void event_at(gf_trace_ring *r, int64_t n, int64_t out[4]) {
	gf_event *e = &r->events[n % r->most];
	out[0] = atomic_load_explicit(&e->start, memory_order_relaxed);
	out[1] = atomic_load_explicit(&e->ns, memory_order_relaxed);
	out[2] = atomic_load_explicit(&e->ticket, memory_order_relaxed);
	out[3] = atomic_load_explicit(&e->what, memory_order_relaxed);
	atomic_thread_fence(memory_order_acquire);
}
*/
import "C"

// Kind is what an event tells; below Job it is a stage.
type Kind int32

// The kinds, in trace.h's order.
const (
	Job    Kind = C.GF_EVENT_JOB + iota // a thread's work on rows of a ticket
	Wait                                // a thread waited for a ticket
	Submit                              // a ticket begins
	Finish                              // and is finished, or given up
)

// Name is the stage's, or the kind's.
func (k Kind) Name() string {
	switch {
	case k >= 0 && int(k) < C.GF_EVENT_JOB:
		return stageName(int(k))
	case k == Job:
		return "job"
	case k == Wait:
		return "wait"
	default:
		return "ticket"
	}
}

// Event is what a thread did; times are nanoseconds of CLOCK_MONOTONIC.
type Event struct {
	Kind         Kind
	Start, NS    int64
	Ticket, Rows int64
}

// Thread is what one thread did.
type Thread struct {
	ID      int64 // the system's number
	Engine  int64 // its number among an engine's threads, from 1 on; 0: it is none of them
	Events  []Event
	Dropped int64 // older events, for which there was no room
}

// StartTrace begins to note what all threads of this process do, the last so many events of each. It says whether that
// was possible: there is one trace at a time.
func StartTrace(events int) bool { return C.gf_trace_start(C.int64_t(events)) != 0 }

// StopTrace ends it, and returns what was noted.
func StopTrace() []Thread {
	trace := C.gf_trace_stop()
	var threads []Thread
	for ring := C.gf_trace_rings(); ring != nil; ring = ring.next {
		if C.trace_of(ring) == trace {
			threads = append(threads, readRing(ring))
		}
	}
	return threads
}

func readRing(ring *C.gf_trace_ring) Thread {
	t := Thread{ID: int64(C.thread_of(ring)), Engine: int64(C.role_of(ring))}
	last := int64(C.written(ring))
	// A thread that saw the trace just before its end may still write one event, over the oldest one.
	first := max(0, last-int64(ring.most)+1)
	for n := first; n < last; n++ {
		var e [4]C.int64_t
		C.event_at(ring, C.int64_t(n), &e[0])
		t.Events = append(t.Events, Event{Kind: Kind(e[3] >> 32), Start: int64(e[0]), NS: int64(e[1]), Ticket: int64(e[2]), Rows: int64(e[3] & 0xffffffff)})
	}
	// What was overwritten meanwhile is not what it says.
	if gone := max(0, int64(C.written(ring))-int64(ring.most)+1) - first; gone > 0 {
		t.Events = t.Events[min(gone, int64(len(t.Events))):]
		first += gone
	}
	t.Dropped = first
	return t
}
