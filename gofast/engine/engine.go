package engine

/*
#cgo CFLAGS: -O3 -std=gnu11 -Wall -Wextra -Wno-unused-function
#cgo LDFLAGS: -lpthread
#include "crew.h"

static void *as_pointer(uintptr_t address) { return (void *)address; }
static gf_ticket *submit(gf_crew *crew, const gf_view *view, int most, gf_request request) {
	return gf_submit(crew, view, most, &request); // by value: Go's own struct may not hold pointers to Go's memory
}
static int stopping(gf_crew *crew) {
	pthread_mutex_lock(&crew->lock);
	int yes = crew->stopping;
	pthread_mutex_unlock(&crew->lock);
	return yes;
}
*/
import "C"

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"unsafe"

	"github.com/gofast-org/gofast/gofast/internal/errs"
)

// Engine fills batches on its own threads (crew.h). Submit returns a ticket at once.
// The batches of a ticket go into slots that the caller acquired, and into label memory
// of the caller, which must stay valid until the ticket is done or cancelled.
type Engine struct {
	threads int
	crew    *C.gf_crew
	workers sync.WaitGroup
}

// Request is the work of one ticket: the rows Indices of View, in batches of
// BatchRows (the last may be shorter), with one Slot for each batch.
type Request struct {
	View      View
	Indices   []int64 // copied
	Records   []byte  // copied; View.RecordBytes() for each index: its random draws
	BatchRows int
	Slots     []Slot  // copied; acquired, one per batch
	Labels    uintptr // rows x View.LabelBytes(); the caller's memory
	Threads   int     // most threads for this ticket; 0: the engine's
}

// Ticket is work under way. Release it once.
type Ticket struct{ c *C.gf_ticket }

// New starts an engine that keeps the given number of threads busy; 0 means
// Threads(). One of them is the caller's thread inside Wait, but the engine always has
// at least one of its own.
func New(threads int) *Engine {
	if threads <= 0 {
		threads = Threads()
	}
	e := &Engine{threads: threads, crew: C.gf_crew_new(C.int(threads))}
	for range max(1, threads-1) {
		e.workers.Go(func() {
			runtime.LockOSThread() // one call into C for the engine's whole life
			C.gf_crew_work(e.crew)
		})
	}
	return e
}

// Threads is the default number of threads: the processors that this process may use,
// by affinity and cgroup quota.
func Threads() int { return runtime.GOMAXPROCS(0) }

// ThreadCount is the number of threads the engine keeps busy, the waiting caller's included.
func (e *Engine) ThreadCount() int { return e.threads }

// Address is the place of the crew in C memory, for the border to Python.
func (e *Engine) Address() uintptr { return uintptr(unsafe.Pointer(e.crew)) }

// Submit starts the work and returns its ticket.
func (e *Engine) Submit(r Request) (*Ticket, error) {
	n := len(r.Indices)
	if r.BatchRows <= 0 || len(r.Slots) != (n+r.BatchRows-1)/r.BatchRows {
		return nil, errs.New(errs.ErrConfig, "submit", fmt.Sprintf("%d rows in batches of %d do not fit %d slots", n, r.BatchRows, len(r.Slots)))
	}
	if int64(len(r.Records)) != int64(n)*r.View.RecordBytes() {
		return nil, errs.New(errs.ErrConfig, "submit", fmt.Sprintf("%d bytes of records for %d indices", len(r.Records), n))
	}
	if r.Labels == 0 && r.View.LabelBytes() > 0 && n > 0 {
		return nil, errs.New(errs.ErrConfig, "submit", "no memory for the labels")
	}
	slots := make([]uintptr, len(r.Slots))
	for i, slot := range r.Slots {
		slots[i] = slot.Address()
	}
	c := C.submit(e.crew, (*C.gf_view)(C.as_pointer(C.uintptr_t(r.View.Address()))), C.int(r.Threads), C.gf_request{
		indices:    (*C.int64_t)(unsafe.SliceData(r.Indices)),
		records:    (*C.uint8_t)(unsafe.SliceData(r.Records)),
		rows:       C.int64_t(n),
		batch_rows: C.int64_t(r.BatchRows),
		slots:      (**C.gf_slot)(unsafe.Pointer(unsafe.SliceData(slots))),
		labels:     (*C.uint8_t)(C.as_pointer(C.uintptr_t(r.Labels))),
	})
	switch {
	case c == nil && C.stopping(e.crew) == 0:
		return nil, errs.New(errs.ErrLimit, "submit", fmt.Sprintf("no memory for a ticket of %d rows", n))
	case c == nil:
		return nil, errs.New(errs.ErrClosed, "submit", "the engine is closed")
	}
	return &Ticket{c}, nil
}

// waitMs is how long Wait stays in C before it looks at its context again.
const waitMs = 20

// Wait returns when every batch of the ticket is finished, or ctx ends. The caller's
// thread helps meanwhile, if the engine has more than one. An index out of range is
// not an error of the ticket: the slot of its batch is Failed.
func (t *Ticket) Wait(ctx context.Context) error {
	for C.gf_wait(t.c, nil, waitMs) == 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

// Cancel drops the rows that are not begun and returns when the running ones have
// finished. After it, nothing writes into the slots or the labels.
func (t *Ticket) Cancel() { C.gf_cancel(t.c) }

// Release gives the ticket up. Its work goes on.
func (t *Ticket) Release() { C.gf_release(t.c) }

// Forget cancels every ticket that reads the view. After it, the view may be freed.
func (e *Engine) Forget(view View) {
	C.gf_crew_forget(e.crew, (*C.gf_view)(C.as_pointer(C.uintptr_t(view.Address()))))
}

// Close finishes the queued work and stops the threads. It may be called again.
func (e *Engine) Close() {
	C.gf_crew_stop(e.crew)
	e.workers.Wait()
}
