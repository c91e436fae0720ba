package gofast

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/gofast-org/gofast/gofast/buffer"
	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/internal/kernel/fill"
	"github.com/gofast-org/gofast/gofast/internal/pool"
)

// Engine fills batches on its own threads. Submit returns at once with a ticket;
// the batches of a ticket lie in slots that the caller acquired, and in label
// memory that the caller owns until the ticket is done or cancelled.
type Engine struct {
	threads int
	jobs    chan job
	workers sync.WaitGroup
	stats   counters

	mu     sync.RWMutex // held for reading while a job is queued, for writing by Close
	closed bool
}

// Request is the work of one ticket: the rows Indices of View, in batches of
// BatchRows (the last may be shorter), one Slot each.
type Request struct {
	View      fill.View
	Indices   []int64 // copied
	BatchRows int
	Slots     []buffer.Slot // copied; acquired, one per batch
	Labels    uintptr       // rows x View.LabelBytes(); the caller's memory
	Threads   int           // most threads for this ticket; 0: the engine's
	OnDone    func()        // called once when the ticket is done, from any thread; may be nil
}

// Ticket is work in flight.
type Ticket struct {
	request   Request
	pending   atomic.Int64 // jobs that are not finished
	cancelled atomic.Bool
	done      chan struct{}
	failure   atomic.Pointer[errs.Error]
	stats     *counters
}

// job is the rows from..to-1 of a ticket.
type job struct {
	ticket   *Ticket
	from, to int
}

// jobBytes is the output of one job: small enough to share a batch among
// threads, large enough that a channel hand-over (about 0.3 us) does not show.
const jobBytes = 256 << 10

// queueLength bounds the jobs that wait; Submit blocks beyond it.
const queueLength = 4096

// NewEngine starts an engine with the given number of threads; 0 means Threads().
func NewEngine(threads int) *Engine {
	if threads <= 0 {
		threads = Threads()
	}
	e := &Engine{threads: threads, jobs: make(chan job, queueLength)}
	for range threads {
		e.workers.Go(func() {
			for j := range e.jobs {
				j.run()
			}
		})
	}
	return e
}

// Threads is the default number of threads: what this process may run on,
// by affinity and cgroup quota.
func Threads() int { return runtime.GOMAXPROCS(0) }

// ThreadCount is the number of threads the engine was started with.
func (e *Engine) ThreadCount() int { return e.threads }

// Submit starts the work and returns its ticket.
func (e *Engine) Submit(r Request) (*Ticket, error) {
	n := len(r.Indices)
	if r.BatchRows <= 0 || len(r.Slots) != (n+r.BatchRows-1)/r.BatchRows {
		return nil, errs.New(errs.ErrConfig, "submit", fmt.Sprintf("%d rows in batches of %d do not fit %d slots", n, r.BatchRows, len(r.Slots)))
	}
	if r.Labels == 0 && r.View.LabelBytes() > 0 && n > 0 {
		return nil, errs.New(errs.ErrConfig, "submit", "no memory for the labels")
	}
	r.Indices, r.Slots = slices.Clone(r.Indices), slices.Clone(r.Slots)
	t := &Ticket{request: r, done: make(chan struct{}), stats: &e.stats}
	step := t.jobRows(e.threads)
	jobs := (n + step - 1) / step
	t.pending.Store(int64(jobs))
	e.mu.RLock()
	defer e.mu.RUnlock()
	if e.closed {
		return nil, errs.New(errs.ErrClosed, "submit", "the engine is closed")
	}
	e.stats.tickets.Add(1)
	if jobs == 0 {
		t.finish()
	}
	for from := 0; from < n; from += step {
		e.jobs <- job{t, from, min(from+step, n)}
	}
	return t, nil
}

// jobRows is the rows of one job: about jobBytes of output, and no more jobs
// than threads where the caller limits them.
func (t *Ticket) jobRows(threads int) int {
	r := &t.request
	n := len(r.Indices)
	rowBytes := max(r.View.RowBytes()+r.View.LabelBytes(), 1)
	rows := max(int(jobBytes/rowBytes), 1)
	if r.Threads > 0 && r.Threads < threads {
		rows = max(rows, (n+r.Threads-1)/r.Threads)
	}
	if rows >= r.BatchRows { // whole batches
		rows = rows / r.BatchRows * r.BatchRows
	}
	return rows
}

func (j job) run() {
	t := j.ticket
	if !t.cancelled.Load() {
		if err := j.fill(); err != nil {
			t.fail(err)
		}
	}
	if t.pending.Add(-1) == 0 {
		t.finish()
	}
}

func (t *Ticket) finish() {
	close(t.done)
	if t.request.OnDone != nil {
		t.request.OnDone()
	}
}

// fill makes the job's rows, batch by batch.
func (j job) fill() (err error) {
	defer pool.Recover(&err, "fill", "")
	r := &j.ticket.request
	for from := j.from; from < j.to; {
		k := from / r.BatchRows
		start := k * r.BatchRows
		to := min(j.to, start+r.BatchRows)
		slot := r.Slots[k]
		labels := r.Labels + uintptr(int64(start)*r.View.LabelBytes())
		if bad := r.View.Fill(r.Indices[start:], from-start, to-start, slot.Data(), labels); bad >= 0 {
			// Only this batch fails; the others of the ticket are filled.
			slot.Fail(r.Indices[start+int(bad)])
		} else {
			slot.Filled(int64(to - from))
			j.ticket.stats.rows.Add(int64(to - from))
		}
		from = to
	}
	return nil
}

func (t *Ticket) fail(err error) {
	e, ok := err.(*errs.Error)
	if !ok {
		e = errs.New(errs.ErrInternal, "fill", err.Error())
	}
	t.failure.CompareAndSwap(nil, e)
	for _, slot := range t.request.Slots {
		if slot.Status() == buffer.Pending {
			slot.Fail(0)
		}
	}
}

// Wait returns when every batch of the ticket is finished, or ctx ends. A batch
// with an index out of range is not an error of the ticket: its slot is Failed.
func (t *Ticket) Wait(ctx context.Context) error {
	select {
	case <-t.done:
	case <-ctx.Done():
		return ctx.Err()
	}
	return t.Err()
}

// Err is what made the ticket fail, or nil. It is final once Done is closed.
func (t *Ticket) Err() error {
	if e := t.failure.Load(); e != nil {
		return e
	}
	return nil
}

// View is what the ticket's batches are made from.
func (t *Ticket) View() fill.View { return t.request.View }

// Done is closed when no job of the ticket will write any more.
func (t *Ticket) Done() <-chan struct{} { return t.done }

// Cancel drops what is queued and returns when what runs has finished: after it
// nothing writes into the slots or the labels.
func (t *Ticket) Cancel() {
	t.cancelled.Store(true)
	<-t.done
}

// Close finishes what is queued and stops the threads. Idempotent.
func (e *Engine) Close() {
	e.mu.Lock()
	if !e.closed {
		e.closed = true
		close(e.jobs)
	}
	e.mu.Unlock()
	e.workers.Wait()
}

// Stats counts what an engine has done.
type Stats struct {
	Threads int   `json:"threads"`
	Tickets int64 `json:"tickets"`
	Rows    int64 `json:"rows"`
	Queued  int   `json:"queued"`
}

type counters struct{ tickets, rows atomic.Int64 }

// Stats returns the counters.
func (e *Engine) Stats() Stats {
	return Stats{Threads: e.threads, Tickets: e.stats.tickets.Load(), Rows: e.stats.rows.Load(), Queued: len(e.jobs)}
}
