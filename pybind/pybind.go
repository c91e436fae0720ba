// Package pybind is all that gopy reads: free functions that take integers and
// strings and return one value and an error. They are called a few times a
// batch, never a sample; what is called more often is in package capsule.
package pybind

import (
	"context"
	"encoding/json"
	"runtime/debug"
	"sync"
	"time"
	"unsafe"

	"github.com/gofast-org/gofast/gofast"
	"github.com/gofast-org/gofast/gofast/batch"
	"github.com/gofast-org/gofast/gofast/buffer"
	"github.com/gofast-org/gofast/pybind/capsule"
)

var (
	mu      sync.Mutex
	engine  *gofast.Engine
	tickets table[*gofast.Ticket]
)

// Version is gofast's version.
func Version() string { return gofast.Version }

// Errors lists the names of the error catalogue, as a JSON array.
func Errors() string {
	text, _ := json.Marshal(gofast.ErrorNames())
	return string(text)
}

// CapsuleModule is the address of the C function that makes the per-batch module.
func CapsuleModule() uintptr { return capsule.Address() }

// Start starts the engine of this process, once, and returns its threads. 0
// threads means all that the process may use.
func Start(threads int) (count int, err error) {
	defer guard(&err)
	mu.Lock()
	defer mu.Unlock()
	if engine == nil {
		// Batches live in C memory: what little garbage the Go side makes need
		// not be collected often, and a quarter of its default headroom is plenty.
		debug.SetGCPercent(25)
		engine = gofast.NewEngine(threads)
	}
	return engine.ThreadCount(), nil
}

func running() (*gofast.Engine, error) {
	mu.Lock()
	defer mu.Unlock()
	if engine == nil {
		return nil, gofast.NewError(gofast.ErrClosed, "engine", "the engine is not running")
	}
	return engine, nil
}

// words views n 8-byte integers of the caller's memory.
func words(address uintptr, n int) []int64 {
	// The address is C memory that Python owns; vet cannot know that.
	return unsafe.Slice(*(**int64)(unsafe.Pointer(&address)), n)
}

// Submit starts filling n rows in batches of batchRows rows. indices, slots (one
// address per batch) and labels are addresses; indices and slots are copied, the
// labels' memory must live until the ticket is done or cancelled. The caller
// chooses the ticket's number, a new one, and so can cancel the ticket even when
// Ctrl-C keeps Submit from returning to it.
func Submit(ticket int, view, indices uintptr, n, batchRows int, slots, labels uintptr, threads int) (ok int, err error) {
	defer guard(&err)
	e, err := running()
	if err != nil {
		return 0, err
	}
	if n < 0 || batchRows < 1 {
		return 0, gofast.NewError(gofast.ErrConfig, "submit", "no rows")
	}
	r := gofast.Request{View: batch.ViewAt(view), Indices: words(indices, n), BatchRows: batchRows, Labels: labels, Threads: threads}
	for _, address := range words(slots, (n+batchRows-1)/batchRows) {
		r.Slots = append(r.Slots, buffer.SlotAt(uintptr(address)))
	}
	r.OnDone = func() { forgetDone(ticket) }
	t, err := e.Submit(r)
	if err != nil {
		return 0, err
	}
	tickets.put(ticket, t)
	forgetDone(ticket) // OnDone may have come before put
	return 0, nil
}

// forgetDone drops a ticket that is done. One that failed stays, so that Wait can
// say why for each of its batches.
func forgetDone(ticket int) {
	t, ok := tickets.get(ticket)
	if !ok {
		return
	}
	select {
	case <-t.Done():
		if t.Err() == nil {
			tickets.drop(ticket)
		}
	default:
	}
}

// Wait waits at most ms milliseconds for a ticket; 1 when it is done.
func Wait(ticket, ms int) (done int, err error) {
	defer guard(&err)
	t, ok := tickets.get(ticket)
	if !ok {
		return 1, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(ms)*time.Millisecond)
	defer cancel()
	switch err := t.Wait(ctx); err {
	case nil:
		return 1, nil
	case context.DeadlineExceeded:
		return 0, nil
	default:
		return 1, err
	}
}

// Cancel drops a ticket's queued work and returns when nothing writes into its
// slots and labels any more.
func Cancel(ticket int) (ok int, err error) {
	defer guard(&err)
	if t, ok := tickets.get(ticket); ok {
		t.Cancel()
		tickets.drop(ticket)
	}
	return 0, nil
}

// Stats describes the engine, as a JSON object.
func Stats() (text string, err error) {
	defer guard(&err)
	e, err := running()
	if err != nil {
		return "", err
	}
	b, err := json.Marshal(e.Stats())
	return string(b), err
}

// Close stops the engine. Idempotent.
func Close() (ok int, err error) {
	defer guard(&err)
	mu.Lock()
	e := engine
	engine = nil
	mu.Unlock()
	if e != nil {
		e.Close()
	}
	return 0, nil
}
