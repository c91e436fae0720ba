package gofast

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/gofast-org/gofast/gofast/engine"
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
	case <-time.After(20 * time.Second):
		t.Fatalf("%s hangs", what)
	}
}

// launchOne submits the whole table as one batch, on at most threads threads.
func launchOne(t *testing.T, e *Engine, table *Dataset, threads int) (*engine.Ticket, engine.Slot) {
	t.Helper()
	slot, labels := cMemory(t, table.view.RowBytes()*table.Len()), cMemory(t, 8*table.Len())
	slot.Describe(table.Len(), []int64{64}, 2, 32)
	ticket, err := e.Submit(engine.Request{View: table.view, Indices: Sequential(table.Len()), BatchRows: int(table.Len()),
		Slots: []engine.Slot{slot}, Labels: labels.Data(), Threads: threads})
	if err != nil {
		t.Fatal(err)
	}
	return ticket, slot
}

// A thread that may not help, because a ticket has its most threads, sleeps while
// the engine stops: it must be woken.
func TestCloseWithLimitedTickets(t *testing.T) {
	table := digits(t, 20_000) // 20 jobs
	for range 30 {
		e := NewEngine(4)
		var slots []engine.Slot
		for range 2 {
			ticket, slot := launchOne(t, e, table, 1)
			ticket.Release()
			slots = append(slots, slot)
		}
		within(t, "Close", e.Close)
		for _, slot := range slots {
			if slot.Status() != engine.Ready {
				t.Fatalf("status %d: what was queued was not finished", slot.Status())
			}
		}
	}
}

// The same when the last rows are handed out to a caller that waits, or are
// cancelled.
func TestCloseWhileCallersWaitAndCancel(t *testing.T) {
	table := digits(t, 20_000)
	for round := range 30 {
		e := NewEngine(3)
		var callers sync.WaitGroup
		for caller := range 3 {
			ticket, _ := launchOne(t, e, table, 1+caller%2)
			callers.Go(func() {
				defer ticket.Release()
				if (caller+round)%2 == 0 {
					ticket.Cancel()
				} else if err := ticket.Wait(context.Background()); err != nil {
					t.Error(err)
				}
			})
		}
		within(t, "Close", e.Close)
		within(t, "a caller", callers.Wait)
	}
}

// A view that is forgotten is read by nobody: its memory goes at once.
func TestForgottenViewIsNotRead(t *testing.T) {
	e := NewEngine(3)
	defer e.Close()
	for range 50 {
		table := digits(t, 2000)
		for range 4 {
			ticket, _ := launchOne(t, e, table, 0)
			ticket.Release()
		}
		within(t, "Forget", func() { e.Forget(table.view) })
		table.Close() // a late read is a fault
	}
}
