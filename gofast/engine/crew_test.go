package engine_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/gofast-org/gofast/gofast/engine"
	"github.com/gofast-org/gofast/gofast/engine/enginetest"
)

// within fails the test when work takes longer than any machine needs.
func within(t *testing.T, what string, work func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		work()
	}()
	select {
	case <-done:
	case <-time.After(30 * time.Second):
		t.Fatalf("%s hangs", what)
	}
}

func known(t *testing.T, each time.Duration, jobRows int64) enginetest.Known {
	t.Helper()
	view, err := enginetest.NewKnown(100, each, jobRows)
	if err != nil {
		t.Fatal(err)
	}
	return view
}

func ring(t *testing.T, count int) engine.Ring {
	t.Helper()
	r, err := engine.NewRing(enginetest.SlotBytes, count)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Drop)
	return r
}

// submit puts one batch of rows on the engine. Its memory is given back with the test.
func submit(t *testing.T, e *engine.Engine, view engine.View, rows, threads int) *engine.Ticket {
	t.Helper()
	memory := ring(t, 2)
	slot, _ := memory.Acquire()
	labels, _ := memory.Acquire()
	t.Cleanup(slot.Release)
	t.Cleanup(labels.Release)
	slot.Describe(int64(rows), []int64{8}, 0, 64)
	ticket, err := e.Submit(engine.Request{View: view, Indices: make([]int64, rows), BatchRows: rows,
		Slots: []engine.Slot{slot}, Labels: labels.Data(), Threads: threads})
	if err != nil {
		t.Fatal(err)
	}
	return ticket
}

// Several threads submit, wait, cancel and leave tickets, as a seed says, and take their slots from one ring. In every
// other schedule the engine is closed meanwhile.
func TestSchedules(t *testing.T) {
	for seed := range uint64(24) {
		r := rand.New(rand.NewPCG(seed, 24))
		view, memory, closing := known(t, 0, 1+r.Int64N(8)), ring(t, 12), seed%2 == 1
		e := engine.New(1 + r.IntN(4))
		var callers sync.WaitGroup
		for range 3 {
			seed := r.Uint64()
			callers.Go(func() {
				if taken, err := enginetest.Call(e, view.View, memory, seed, 40, closing); err != nil || taken == 0 && !closing {
					t.Errorf("%d tickets: %v", taken, err)
				}
			})
		}
		if closing {
			time.Sleep(time.Duration(r.IntN(2000)) * time.Microsecond)
			within(t, "Close", e.Close)
		}
		within(t, "a caller", callers.Wait)
		within(t, "Close", e.Close)
		for range memory.Count() { // all are free again
			if slot, ok := memory.Acquire(); !ok {
				t.Fatalf("seed %d: a slot was lost", seed)
			} else {
				defer slot.Release()
			}
		}
		view.Free()
	}
}

// A view is forgotten while its tickets are queued, under way, and waited for; then its memory goes.
func TestForgetWhileOthersWork(t *testing.T) {
	e := engine.New(4)
	defer e.Close()
	others, memory := known(t, 0, 2), ring(t, 12)
	defer others.Free()
	var callers sync.WaitGroup
	callers.Go(func() {
		if _, err := enginetest.Call(e, others.View, memory, 1, 400, false); err != nil {
			t.Error(err)
		}
	})
	for range 100 {
		view := known(t, 0, 1)
		for range 4 {
			submit(t, e, view.View, enginetest.MostRows, 0).Release()
		}
		within(t, "Forget", func() { e.Forget(view.View) })
		view.Free()
	}
	within(t, "the other caller", callers.Wait)
}

// A ticket has no more threads than it allows, the waiting one included.
func TestTicketsLimitTheirThreads(t *testing.T) {
	e := engine.New(4)
	defer e.Close()
	for most := 1; most <= 2; most++ {
		view := known(t, 100*time.Microsecond, 1)
		ticket := submit(t, e, view.View, enginetest.MostRows, most)
		if err := ticket.Wait(context.Background()); err != nil {
			t.Fatal(err)
		}
		ticket.Release()
		if got := view.MostAtWork(); got > most {
			t.Errorf("%d threads for a ticket of at most %d", got, most)
		}
		e.Forget(view.View)
		view.Free()
	}
}

// Threads that may not help sleep while the engine stops, and are woken when nothing is left to hand out.
func TestCloseWakesThoseWhoMayNotHelp(t *testing.T) {
	for range 3 {
		view := known(t, time.Millisecond, 1)
		e := engine.New(4)
		submit(t, e, view.View, 10, 1).Release()
		within(t, "Close", e.Close)
		view.Free()
	}
}

// A ticket's memory goes with its last reference, however it ends.
func TestTicketsAreFreed(t *testing.T) {
	e, view, memory := engine.New(2), known(t, 0, 4), ring(t, 12)
	defer view.Free()
	defer e.Close()
	call := func(seed uint64) {
		if _, err := enginetest.Call(e, view.View, memory, seed, 500, false); err != nil {
			t.Fatal(err)
		}
	}
	call(1)
	before := enginetest.Memory()
	call(2)
	if more := enginetest.Memory() - before; more > 64<<10 {
		t.Errorf("500 tickets left %d bytes", more)
	}
}

// A child's copy of a tensor is not the parent's: what the child drops stays the parent's.
func TestForkedChildFreesNothing(t *testing.T) {
	if status := enginetest.Fork(); status != 0 {
		t.Errorf("status %d", status)
	}
}
