package engine

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"sync/atomic"

	"github.com/gofast-org/gofast/gofast/internal/atomicfile"
	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/internal/meter"
	"golang.org/x/sys/unix"
)

// Trace is a file that will tell what this process's threads do between StartTrace and Stop: Chrome's trace events, for
// https://ui.perfetto.dev or chrome://tracing. Each thread is a track, with its jobs, their stages, and the waits for
// tickets; each ticket is an asynchronous event. Worker processes are not seen.
type Trace struct {
	file  atomic.Pointer[atomicfile.File] // nil: stopped
	began int64
}

// mostTraceEvents of one thread are 1 GiB of memory.
const mostTraceEvents = 1 << 25

// Span is what a caller adds to a trace: something that a thread did. Times are nanoseconds of CLOCK_MONOTONIC.
type Span struct {
	Thread int64  `json:"thread"` // the system's number
	Name   string `json:"name"`
	Start  int64  `json:"start"`
	NS     int64  `json:"ns"`
}

// TraceSize is how much a trace has of what was done.
type TraceSize struct {
	Events  int64 `json:"events"`  // in the file
	Dropped int64 `json:"dropped"` // older ones, for which threads had no room
}

// StartTrace begins a trace, and the file. It keeps the last so many events of each thread, 32 bytes each; a picture is
// three. There is one trace at a time, of all engines of the process.
func StartTrace(path string, events int) (*Trace, error) {
	if events < 1 || events > mostTraceEvents {
		return nil, errs.New(errs.ErrConfig, "trace", fmt.Sprintf("%d events a thread: give 1 to %d", events, mostTraceEvents))
	}
	// Who writes the same file is most likely another trace, which may take hours: no waiting.
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	file, err := atomicfile.Begin(ctx, "trace", path)
	if err != nil {
		return nil, err
	}
	began := monotonic()
	if !meter.StartTrace(events) {
		file.Release()
		return nil, errs.New(errs.ErrConfig, "trace", "there is a trace in this process already: stop it first")
	}
	t := &Trace{began: began}
	t.file.Store(file)
	return t, nil
}

// Stop ends the trace and writes the file, whole or not at all, with the caller's own spans.
func (t *Trace) Stop(spans []Span) (TraceSize, error) {
	file := t.file.Swap(nil)
	if file == nil {
		return TraceSize{}, errs.New(errs.ErrClosed, "trace", "it was stopped, or never started")
	}
	threads := meter.StopTrace()
	defer file.Release()
	if err := file.Part.Truncate(0); err != nil {
		return TraceSize{}, errs.New(errs.ErrRead, "trace", "cannot write the file").At(file.Path()).Because(err)
	}
	w := bufio.NewWriterSize(file.Part, 1<<20)
	size, err := writeTrace(w, threads, spans, t.began, monotonic())
	if err == nil {
		err = w.Flush()
	}
	if err != nil {
		return TraceSize{}, errs.New(errs.ErrRead, "trace", "cannot write the file").At(file.Path()).Because(err)
	}
	return size, file.Commit()
}

func monotonic() int64 {
	var now unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &now) // never fails
	return now.Nano()
}

// traceEvent is one of Chrome's trace events; times are microseconds.
type traceEvent struct {
	Name     string         `json:"name"`
	Phase    string         `json:"ph"`
	Category string         `json:"cat,omitempty"`
	ID       string         `json:"id,omitempty"`
	Process  int            `json:"pid"`
	Thread   int64          `json:"tid"`
	Time     float64        `json:"ts"`
	Duration *float64       `json:"dur,omitempty"`
	Args     map[string]any `json:"args,omitempty"`

	start, end int64
}

// writeTrace writes what threads did from began to ended.
func writeTrace(w io.Writer, threads []meter.Thread, spans []Span, began, ended int64) (TraceSize, error) {
	size := TraceSize{}
	var events []traceEvent
	pid := unix.Getpid()
	add := func(e traceEvent) {
		e.Process = pid
		e.start, e.end = max(e.start, began), min(e.end, ended)
		if e.start > e.end {
			return // of before the trace, or of after its end
		}
		e.Time = float64(e.start-began) / 1e3
		if e.Phase == "X" {
			duration := float64(e.end-e.start) / 1e3
			e.Duration = &duration
		}
		events = append(events, e)
	}
	tickets := ticketsOf(threads, began, ended)
	for _, t := range tickets {
		id, args := fmt.Sprintf("0x%x", t.number), map[string]any{"samples": t.rows}
		add(traceEvent{Name: "ticket", Phase: "b", Category: "ticket", ID: id, Thread: t.thread, start: t.begins, end: ended, Args: args})
		add(traceEvent{Name: "ticket", Phase: "e", Category: "ticket", ID: id, Thread: t.thread, start: t.ends, end: ended})
	}
	for _, thread := range threads {
		size.Dropped += thread.Dropped
		for _, e := range thread.Events {
			if e.Kind == meter.Submit || e.Kind == meter.Finish {
				continue
			}
			span := traceEvent{Name: e.Kind.Name(), Phase: "X", Category: "gofast", Thread: thread.ID, start: e.Start, end: e.Start + e.NS}
			if e.Ticket != 0 {
				span.Args = map[string]any{"ticket": e.Ticket}
				if e.Kind == meter.Job {
					span.Args["samples"] = e.Rows
				}
			}
			add(span)
		}
	}
	for _, s := range spans {
		add(traceEvent{Name: s.Name, Phase: "X", Category: "gofast", Thread: s.Thread, start: s.Start, end: s.Start + s.NS})
	}
	// In the order of time; what holds another span comes before it.
	slices.SortStableFunc(events, func(a, b traceEvent) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(b.end, a.end))
	})
	size.Events = int64(len(events))
	return size, encodeTrace(w, append(namesOf(threads, spans, pid), events...), size.Dropped)
}

type tracedTicket struct{ number, rows, thread, begins, ends int64 }

// ticketsOf pairs beginnings and ends. A ticket whose other end is missing was under way when the trace began, or ended.
func ticketsOf(threads []meter.Thread, began, ended int64) []tracedTicket {
	found := map[int64]*tracedTicket{}
	for _, thread := range threads {
		for _, e := range thread.Events {
			if e.Kind != meter.Submit && e.Kind != meter.Finish {
				continue
			}
			t := found[e.Ticket]
			if t == nil {
				t = &tracedTicket{number: e.Ticket, rows: e.Rows, thread: thread.ID, begins: began, ends: ended}
				found[e.Ticket] = t
			}
			if e.Kind == meter.Submit {
				t.begins, t.thread = e.Start, thread.ID
			} else {
				t.ends = e.Start
			}
		}
	}
	tickets := make([]tracedTicket, 0, len(found))
	for _, t := range found {
		tickets = append(tickets, *t)
	}
	slices.SortFunc(tickets, func(a, b tracedTicket) int { return cmp.Compare(a.number, b.number) })
	return tickets
}

// namesOf are the events that name the process and its threads.
func namesOf(threads []meter.Thread, spans []Span, pid int) []traceEvent {
	name := func(kind, name string, thread int64) traceEvent {
		return traceEvent{Name: kind, Phase: "M", Process: pid, Thread: thread, Args: map[string]any{"name": name}}
	}
	names := []traceEvent{name("process_name", "gofast", int64(pid))}
	known := map[int64]bool{}
	for _, t := range threads {
		if known[t.ID] {
			continue
		}
		known[t.ID] = true
		if t.Engine > 0 {
			names = append(names, name("thread_name", fmt.Sprintf("engine thread %d", t.Engine), t.ID))
		} else {
			names = append(names, name("thread_name", callerName(t.ID, pid), t.ID))
		}
	}
	for _, s := range spans {
		if !known[s.Thread] {
			known[s.Thread] = true
			names = append(names, name("thread_name", callerName(s.Thread, pid), s.Thread))
		}
	}
	return names
}

func callerName(thread int64, pid int) string {
	if thread == int64(pid) {
		return "main thread"
	}
	return fmt.Sprintf("thread %d", thread)
}

// encodeTrace writes one event a line.
func encodeTrace(w io.Writer, events []traceEvent, dropped int64) error {
	if _, err := fmt.Fprintf(w, `{"displayTimeUnit":"ns","otherData":{"dropped_events":%d},"traceEvents":[`, dropped); err != nil {
		return err
	}
	for i, e := range events {
		line, err := json.Marshal(e)
		if err != nil {
			return err
		}
		separator := ",\n"
		if i == 0 {
			separator = "\n"
		}
		if _, err := io.WriteString(w, separator+string(line)); err != nil {
			return err
		}
	}
	_, err := io.WriteString(w, "\n]}\n")
	return err
}
