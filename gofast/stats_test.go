package gofast

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gofast-org/gofast/gofast/engine"
	"github.com/gofast-org/gofast/gofast/internal/errs"
)

// iterate takes an epoch, and says how many batches and bytes it had.
func iterate(t *testing.T, e *Engine, d *Dataset, batchRows int) (batches, bytes int64) {
	t.Helper()
	for b, err := range e.Batches(context.Background(), d, Shuffled(d.Len(), 1, 1), batchRows) {
		if err != nil {
			t.Error(err)
			return
		}
		batches++
		bytes += int64(len(b.Features))
	}
	return batches, bytes
}

func checkStages(t *testing.T, s Stats, must ...string) {
	t.Helper()
	var sum time.Duration
	for name, spent := range s.Stages {
		if spent <= 0 {
			t.Errorf("%s took %v: what is not known must not be there", name, spent)
		}
		sum += spent
	}
	for _, name := range must {
		if s.Stages[name] == 0 {
			t.Errorf("no %s in %v", name, s.Stages)
		}
	}
	// Rounding of each stage apart.
	if sum > s.Busy+time.Duration(len(s.Stages)) {
		t.Errorf("stages take %v, threads were busy for %v", sum, s.Busy)
	}
}

func TestStatsOfATable(t *testing.T) {
	table := digits(t, 1000)
	for _, threads := range []int{1, 2, 5} {
		e := NewEngine(threads)
		batches, bytes := iterate(t, e, table, 96)
		before := e.Stats()
		if before.Batches != batches || before.Samples != 1000 || before.Bytes != bytes || batches != 11 {
			t.Errorf("%d threads: %d batches, %d samples, %d bytes counted; there were %d, 1000, %d", threads, before.Batches, before.Samples, before.Bytes, batches, bytes)
		}
		if before.Rows != 1000 || before.RowBytes != bytes || before.Tickets != batches {
			t.Errorf("%d threads: %d rows, %d bytes, %d tickets made", threads, before.Rows, before.RowBytes, before.Tickets)
		}
		// A batch may come between two looks of a wait on a busy machine: that takes time, and is no wait.
		if before.Waits > batches || (before.Waits > 0 && before.Wait == 0) {
			t.Errorf("%d waits, of %v", before.Waits, before.Wait)
		}
		if before.Busy <= 0 || before.Busy > before.Age*time.Duration(threads) {
			t.Errorf("busy for %v of %v", before.Busy, before.Age)
		}
		checkStages(t, before, engine.StageGather)
		if len(before.Stages) > 1 {
			t.Errorf("a table has the stages %v", before.Stages)
		}
		iterate(t, e, table, 100)
		if d := e.Stats().Sub(before); d.Batches != 10 || d.Samples != 1000 || d.Rows != 1000 || d.Age <= 0 {
			t.Errorf("the second epoch: %+v", d)
		}
		e.Close()
		if after := e.Stats(); after.Samples != 2000 {
			t.Errorf("closed, it knows of %d samples", after.Samples)
		}
		if again := NewEngine(threads); again.Stats().Samples != 0 {
			t.Error("a new engine does not begin at 0")
		} else {
			again.Close()
		}
	}
}

func TestStatsOfPictures(t *testing.T) {
	folder := openFolder(t, pictureFolder(t, 60), trainPlan, FolderOptions{})
	e := engineOf(t, 3)
	iterate(t, e, folder, 7)
	s := e.Stats()
	if s.Samples != 60 || s.Rows != 60 || s.Batches != 9 || s.FileBytes == 0 {
		t.Errorf("%+v", s)
	}
	// A crop of random size needs the headers first; PNG does not say what of its decoding is what.
	checkStages(t, s, engine.StageRead, engine.StageHeader, engine.StageDecode, engine.StageResize, engine.StageNumbers)
	for _, unknown := range []string{engine.StageEntropy, engine.StageInverse, engine.StageGather} {
		if _, there := s.Stages[unknown]; there {
			t.Errorf("PNG files have the stage %s", unknown)
		}
	}
	// What happens between two looks never takes longer than the threads were busy, although other pictures are measured
	// in detail each time.
	for range 20 {
		before := e.Stats()
		iterate(t, e, folder, 7)
		checkStages(t, e.Stats().Sub(before))
	}
}

type chromeTrace struct {
	Other struct {
		Dropped int64 `json:"dropped_events"`
	} `json:"otherData"`
	Events []struct {
		Name  string         `json:"name"`
		Phase string         `json:"ph"`
		ID    string         `json:"id"`
		PID   int64          `json:"pid"`
		TID   int64          `json:"tid"`
		TS    float64        `json:"ts"`
		Dur   *float64       `json:"dur"`
		Args  map[string]any `json:"args"`
	} `json:"traceEvents"`
}

// readTrace checks what Perfetto asks of a file: spans of a thread nest, tickets begin before they end, times ascend.
func readTrace(t *testing.T, path string) (names map[string]int, dropped int64) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var trace chromeTrace
	if err := json.Unmarshal(data, &trace); err != nil {
		t.Fatal(err)
	}
	names, last, named := map[string]int{}, 0.0, map[int64]bool{}
	open, tickets := map[int64][]float64{}, map[string]bool{}
	const rounding = 0.002 // of two microseconds with three digits
	for _, e := range trace.Events {
		if e.PID != int64(os.Getpid()) {
			t.Errorf("an event of process %d", e.PID)
		}
		if e.Phase == "M" {
			named[e.TID] = true
			continue
		}
		names[e.Name+" "+e.Phase]++
		if e.TS < last {
			t.Errorf("%s at %v comes behind %v", e.Name, e.TS, last)
		}
		last = e.TS
		switch e.Phase {
		case "X":
			if !named[e.TID] {
				t.Errorf("thread %d has no name", e.TID)
			}
			ends := open[e.TID]
			for len(ends) > 0 && ends[len(ends)-1] <= e.TS+rounding {
				ends = ends[:len(ends)-1]
			}
			if len(ends) > 0 && e.TS+*e.Dur > ends[len(ends)-1]+rounding {
				t.Errorf("%s from %v for %v ends behind the span around it, at %v", e.Name, e.TS, *e.Dur, ends[len(ends)-1])
			}
			open[e.TID] = append(ends, e.TS+*e.Dur)
		case "b":
			tickets[e.ID] = true
		case "e":
			if !tickets[e.ID] {
				t.Errorf("ticket %s ends before it begins", e.ID)
			}
			delete(tickets, e.ID)
		}
	}
	if len(tickets) > 0 {
		t.Errorf("tickets that do not end: %v", slices.Collect(maps.Keys(tickets)))
	}
	return names, trace.Other.Dropped
}

func TestTrace(t *testing.T) {
	folder := openFolder(t, pictureFolder(t, 40), trainPlan, FolderOptions{})
	e := engineOf(t, 3)
	path := filepath.Join(t.TempDir(), "trace.json")
	for _, c := range []struct {
		events int
		drops  bool
	}{{1000, false}, {10, true}, {1000, false}} {
		trace, err := engine.StartTrace(path, c.events)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := engine.StartTrace(path+"2", 10); !errors.Is(err, errs.ErrConfig) {
			t.Errorf("a second trace: %v", err)
		}
		iterate(t, e, folder, 8)
		size, err := trace.Stop(nil)
		if err != nil {
			t.Fatal(err)
		}
		iterate(t, e, folder, 8) // must not be in it
		names, dropped := readTrace(t, path)
		if dropped != size.Dropped || (dropped > 0) != c.drops {
			t.Errorf("%d events a thread: %d dropped, the file says %d", c.events, size.Dropped, dropped)
		}
		if c.drops {
			continue
		}
		if names["job X"] < 40 || names["read X"] < 40 || names["picture X"] != 40 || names["ticket b"] != 5 || names["ticket e"] != 5 {
			t.Errorf("events: %v", names)
		}
	}
	if left, _ := filepath.Glob(path + "?*"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// A trace that begins and ends while threads work has no halves of anything.
func TestTraceInTheMiddle(t *testing.T) {
	table := digits(t, 300)
	e := engineOf(t, 3)
	ctx, stop := context.WithCancel(context.Background())
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() {
			for ctx.Err() == nil {
				iterate(t, e, table, 16)
			}
		})
	}
	path := filepath.Join(t.TempDir(), "trace.json")
	for range 10 {
		trace, err := engine.StartTrace(path, 50)
		if err != nil {
			t.Fatal(err)
		}
		for before := e.Stats().Batches; e.Stats().Batches < before+20; {
			time.Sleep(time.Millisecond)
		}
		if _, err := trace.Stop(nil); err != nil {
			t.Fatal(err)
		}
		if names, _ := readTrace(t, path); names["job X"] == 0 {
			t.Errorf("no job in %v", names)
		}
	}
	stop()
	all.Wait()
}

func TestTraceThatCannotBeWritten(t *testing.T) {
	for path, events := range map[string]int{"/nowhere/at/all/trace.json": 10, t.TempDir() + "/a": 0, t.TempDir() + "/b": 1 << 40} {
		if _, err := engine.StartTrace(path, events); err == nil || !strings.Contains(err.Error(), "trace") {
			t.Errorf("%s, %d events: %v", path, events, err)
		}
	}
	trace, err := engine.StartTrace(filepath.Join(t.TempDir(), "trace.json"), 10) // the refused ones left nothing under way
	if err != nil {
		t.Fatal(err)
	}
	if _, err := trace.Stop(nil); err != nil {
		t.Fatal(err)
	}
	next, err := engine.StartTrace(filepath.Join(t.TempDir(), "trace.json"), 10)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := trace.Stop(nil); !errors.Is(err, ErrClosed) { // and the next one goes on
		t.Errorf("a trace that was stopped: %v", err)
	}
	if _, err := engine.StartTrace(filepath.Join(t.TempDir(), "trace.json"), 10); !errors.Is(err, ErrConfig) {
		t.Errorf("the trace before was stopped again, and the next one has ended: %v", err)
	}
	if _, err := next.Stop(nil); err != nil {
		t.Error(err)
	}
}

// One of two that stop a trace at once does.
func TestTraceStopsOnce(t *testing.T) {
	trace, err := engine.StartTrace(filepath.Join(t.TempDir(), "trace.json"), 10)
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	var stopped atomic.Int64
	for range 8 {
		group.Go(func() {
			if _, err := trace.Stop(nil); err == nil {
				stopped.Add(1)
			} else if !errors.Is(err, ErrClosed) {
				t.Error(err)
			}
		})
	}
	if group.Wait(); stopped.Load() != 1 {
		t.Errorf("it was stopped %d times", stopped.Load())
	}
}
