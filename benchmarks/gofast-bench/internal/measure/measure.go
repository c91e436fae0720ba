// Package measure times epochs.
package measure

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/gofast-org/gofast/benchmarks/gofast-bench/internal/data"
	"github.com/gofast-org/gofast/benchmarks/gofast-bench/internal/machine"
	"github.com/gofast-org/gofast/benchmarks/gofast-bench/internal/report"
	"github.com/gofast-org/gofast/benchmarks/gofast-bench/internal/statistics"
	"github.com/gofast-org/gofast/gofast"
	"github.com/gofast-org/gofast/gofast/engine"
	"golang.org/x/sys/unix"
)

// Config is what is measured of a source.
type Config struct {
	Batch     int
	Threads   []int
	Epochs    int           // at least
	Time      time.Duration // for each number of threads, at least
	Shuffle   bool
	Seed      uint64
	DropCache bool
	// Batches makes a loader's epochs; nil: Host.
	Batches func(gofast.Loader) (Batches, error)
	// Live is called after every epoch; nil: not. A number of threads that still warms up has no Seconds.
	Live func(run *report.Run, took float64)
}

// Batches goes over one epoch's batches and calls each as soon as one is there.
type Batches func(ctx context.Context, order []int64, each func(rows int)) error

// Host are a loader's batches in memory.
func Host(l gofast.Loader) Batches {
	return func(ctx context.Context, order []int64, each func(int)) error {
		for b, err := range l.Batches(ctx, order) {
			if err != nil {
				return err
			}
			each(b.Rows)
		}
		return nil
	}
}

func (c *Config) loader(e *gofast.Engine, d *gofast.Dataset) gofast.Loader {
	return gofast.Loader{Engine: e, Dataset: d, BatchRows: int(min(int64(c.Batch), d.Len()))}
}

// order is that of an epoch, which is one more at each.
func (c *Config) order(d *gofast.Dataset, epoch int) []int64 {
	if c.Shuffle {
		return gofast.Shuffled(d.Len(), c.Seed, uint64(epoch))
	}
	return gofast.Sequential(d.Len())
}

// mostRounds bounds what time alone asks for: thousands of epochs of a tiny table say no more.
const mostRounds = 1000

// rounds numbers the rounds, in each of which all members have a turn, and says which only warm up. The first epochs of
// a folder of 36 pictures touched fresh memory for half of their time, and six of 20 ms had a median that was another
// in each run: so both kinds last for a time. It does not depend on what was measured, so intervals keep their meaning.
func (c *Config) rounds(members int) iter.Seq2[int, bool] {
	return func(yield func(round int, warms bool) bool) {
		round := 0
		for _, kind := range []struct {
			warms  bool
			fewest int
			lasts  time.Duration
		}{{true, 1, c.Time / 4}, {false, c.Epochs, c.Time}} {
			start := time.Now()
			for n := 0; n < kind.fewest || n < mostRounds && time.Since(start) < kind.lasts*time.Duration(members); n++ {
				if !yield(round, kind.warms) {
					return
				}
				round++
			}
		}
	}
}

// forget drops the files from the page cache, if that is asked for.
func (c *Config) forget(ctx context.Context, s *data.Source) error {
	if !c.DropCache {
		return nil
	}
	files, path := s.Files()
	return machine.DropCache(ctx, files, path)
}

// timed are the epochs of a number of threads.
type timed struct {
	gofast.Loader
	batches                  Batches
	processor, first, others []float64 // seconds: of an epoch's processors, and from asking for a batch to having it
	warm                     gofast.Stats
}

// Epochs times the source's epochs, with the thread counts interleaved, so that a slow
// moment of the machine falls on all of them. It adds the runs to the report.
func Epochs(ctx context.Context, s *data.Source, c Config, r *report.Report) error {
	all := make([]timed, len(c.Threads))
	for i, n := range c.Threads {
		r.Runs = append(r.Runs, report.Run{Threads: n})
		t := &all[i]
		t.Loader = c.loader(gofast.NewEngine(n), s.Dataset)
		defer t.Engine.Close()
		if t.batches = Host(t.Loader); c.Batches != nil {
			var err error
			if t.batches, err = c.Batches(t.Loader); err != nil {
				return err
			}
		}
	}
	start := time.Now()
	for epoch, warms := range c.rounds(len(all)) {
		for i := range all {
			run := &r.Runs[i]
			if err := c.forget(ctx, s); err != nil {
				return err
			}
			if c.DropCache && r.Dropped == nil {
				left, err := look(ctx, s)
				if err != nil {
					return err
				}
				r.Dropped = &left
			}
			seconds, err := all[i].epoch(ctx, c, epoch, warms)
			if err != nil {
				return err
			}
			if epoch == 0 {
				run.Warmup = seconds
			}
			if !warms {
				run.Seconds = append(run.Seconds, seconds)
			}
			r.Memory = append(r.Memory, report.Memory{Seconds: time.Since(start).Seconds(), Bytes: machine.Status("VmRSS"), Threads: run.Threads, Warmup: warms})
			if c.Live != nil {
				c.Live(run, seconds)
			}
		}
	}
	r.PeakBytes, r.Work.Epochs = machine.Status("VmHWM"), len(r.Runs[0].Seconds)
	for i := range all {
		all[i].summarise(&r.Runs[i])
	}
	return nil
}

// epoch times one, with the making of its order, as a training loop would. One that warms up is not kept.
func (t *timed) epoch(ctx context.Context, c Config, epoch int, warms bool) (seconds float64, err error) {
	t.Dataset.SetEpoch(uint64(epoch))
	rows, waits := int64(0), []float64(nil)
	before, start := processorSeconds(), time.Now()
	last := start
	err = t.batches(ctx, c.order(t.Dataset, epoch), func(n int) {
		now := time.Now()
		waits = append(waits, now.Sub(last).Seconds())
		last, rows = now, rows+int64(n)
	})
	seconds = time.Since(start).Seconds()
	if err == nil && rows != t.Dataset.Len() {
		err = fmt.Errorf("an epoch gave %d samples of %d", rows, t.Dataset.Len())
	}
	if err != nil {
		return 0, err
	}
	if warms {
		t.warm = t.Engine.Stats()
		return seconds, nil
	}
	t.processor = append(t.processor, processorSeconds()-before)
	t.first, t.others = append(t.first, waits[0]), append(t.others, waits[1:]...)
	return seconds, nil
}

func processorSeconds() float64 {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

func sum(values []float64) (all float64) {
	for _, v := range values {
		all += v
	}
	return all
}

// summarise makes a run's figures of its epochs, and of what its engine did in them.
func (t *timed) summarise(r *report.Run) {
	samples := float64(t.Dataset.Len())
	r.Median, r.Interval = statistics.Median(r.Seconds), statistics.MedianInterval(r.Seconds)
	r.SamplesPerS = samples / r.Median
	if r.Interval != nil {
		r.PerSInterval = &statistics.Interval{Low: samples / r.Interval.High, High: samples / r.Interval.Low}
	}
	all := sum(r.Seconds) * float64(r.Threads)
	r.ProcessorS, r.Busy = statistics.Median(t.processor)/samples, sum(t.processor)/all
	r.FirstBatch, r.Latency = statistics.Median(t.first), statistics.Percentiles(t.others)
	r.Stages = stagesOf(t.Engine.Stats().Sub(t.warm).Stages, all, r.Median*float64(r.Threads)/samples)
}

// stageNames are the engine's stages in the order of the work, in words.
var stageNames = [][2]string{
	{engine.StageHeader, "headers"}, {engine.StageRead, "reading"}, {engine.StageDecode, "opening and other decoding"}, {engine.StageEntropy, "entropy decoding"},
	{engine.StageInverse, "inverse transform and colour"}, {engine.StageResize, "resize"}, {engine.StageSteps, "other steps"},
	{engine.StageNumbers, "numbers"}, {engine.StageGather, "gathering rows"},
}

// stagesOf are the shares of the threads' time, which is all their seconds, and behind them the rest, in which they had
// nothing to do. The clock of a stage goes on while its thread waits for a file or a processor. The shares are divided
// among what a sample of the median epoch takes: a stage's seconds add up to those of the headline.
func stagesOf(took map[string]time.Duration, all, sample float64) (stages []report.Stage) {
	left := all
	for _, stage := range stageNames {
		if seconds := took[stage[0]].Seconds(); seconds > 0 {
			stages = append(stages, report.Stage{Name: stage[1], Seconds: sample * seconds / all, Share: seconds / all})
			left -= seconds
		}
	}
	left = max(left, 0) // two clocks may differ by microseconds
	return append(stages, report.Stage{Name: report.Waiting, Seconds: sample * left / all, Share: left / all})
}

func look(ctx context.Context, s *data.Source) (machine.Cache, error) {
	files, path := s.Files()
	return machine.LookCache(ctx, files, path)
}

// Begin is a report without runs: the work, the machine and the state of the page cache.
func Begin(ctx context.Context, s *data.Source, work report.Work, opened time.Duration) (*report.Report, error) {
	r := &report.Report{Format: report.Format, Started: time.Now().UTC(), Machine: machine.Look(), Work: work, OpenS: opened.Seconds()}
	var err error
	if r.Cache, err = look(ctx, s); err != nil {
		return nil, err
	}
	w := &r.Work
	w.Files, _ = s.Files()
	w.Kind, w.Paths, w.Samples, w.Shape, w.DType = s.Kind, s.Paths, s.Len(), s.Shape, s.DType.String()
	if s.Table != nil {
		w.Stored = s.Table.Type.String()
	}
	w.Digest, w.Bytes, err = s.Digest(ctx)
	return r, err
}
