// Package measure times epochs.
package measure

import (
	"context"
	"time"

	"github.com/gofast-org/gofast/benchmarks/gofast-bench/internal/data"
	"github.com/gofast-org/gofast/benchmarks/gofast-bench/internal/machine"
	"github.com/gofast-org/gofast/benchmarks/gofast-bench/internal/report"
	"github.com/gofast-org/gofast/benchmarks/gofast-bench/internal/statistics"
	"github.com/gofast-org/gofast/gofast"
)

// Config is what is measured of a source.
type Config struct {
	Batch     int
	Threads   []int
	Epochs    int
	Shuffle   bool
	Seed      uint64
	DropCache bool
	// Batches makes a loader's epochs; nil: Host.
	Batches func(gofast.Loader) (Batches, error)
	// Live is called after every epoch, with what is known so far; nil: not.
	Live func(r *report.Report, epoch int, threads int)
}

// Epochs times the source's epochs, with the thread counts interleaved, so that a slow
// moment of the machine falls on all of them. The first of each warms up. It adds the runs
// to the report.
func Epochs(ctx context.Context, s *data.Source, c Config, r *report.Report) error {
	loaders, makers := make([]gofast.Loader, len(c.Threads)), make([]Batches, len(c.Threads))
	for i, n := range c.Threads {
		loader := gofast.Loader{Engine: gofast.NewEngine(n), Dataset: s.Dataset, BatchRows: int(min(int64(c.Batch), s.Len()))}
		defer loader.Engine.Close()
		loaders[i] = loader
		r.Runs = append(r.Runs, report.Run{Threads: n})
		if c.Batches == nil {
			makers[i] = Host(loader)
			continue
		}
		var err error
		if makers[i], err = c.Batches(loader); err != nil {
			return err
		}
	}
	memory, epochs, warm := watchMemory(), make([][]Epoch, len(c.Threads)), make([]gofast.Stats, len(c.Threads))
	defer func() {
		memory.stop()
		r.Memory, r.PeakBytes = memory.points, memory.peak
	}()
	start, telling := time.Now(), time.Duration(0)
	files, path := s.Files()
	for epoch := range c.Epochs + 1 {
		for i, n := range c.Threads {
			if c.DropCache {
				memory.run(0, false)
				if err := machine.DropCache(ctx, files, path); err != nil {
					return err
				}
				if r.Dropped == nil {
					left, err := machine.LookCache(ctx, files, path)
					if err != nil {
						return err
					}
					r.Dropped = &left
				}
			}
			memory.run(n, epoch == 0)
			e, err := run(ctx, loaders[i], uint64(epoch), order(s.Len(), c, epoch), makers[i])
			if err != nil {
				return err
			}
			memory.run(0, false)
			if epoch == 0 {
				r.Runs[i].Warmup, warm[i] = e.Seconds, loaders[i].Engine.Stats()
			} else {
				epochs[i] = append(epochs[i], e)
				r.Runs[i].Seconds = append(r.Runs[i].Seconds, e.Seconds)
				// Every figure of a million epochs, behind each of them, would take longer than the epochs.
				if now := time.Now(); epoch == c.Epochs || 50*telling <= now.Sub(start) {
					summarise(&r.Runs[i], epochs[i], loaders[i].Engine.Stats().Sub(warm[i]), s.Len(), c.Seed)
					telling += time.Since(now)
				}
			}
			if c.Live != nil {
				c.Live(r, epoch, n)
			}
		}
	}
	return nil
}

func order(n int64, c Config, epoch int) func() []int64 {
	return func() []int64 {
		if c.Shuffle {
			return gofast.Shuffled(n, c.Seed, uint64(epoch))
		}
		return gofast.Sequential(n)
	}
}

// summarise makes a run's figures of its epochs, and of what its engine did in them.
func summarise(r *report.Run, epochs []Epoch, did gofast.Stats, samples int64, seed uint64) {
	var processor, first, others []float64
	busy := 0.0
	for _, e := range epochs {
		processor = append(processor, e.Processor/float64(samples))
		busy += e.Processor
		first = append(first, e.Batches[0])
		others = append(others, e.Batches[1:]...)
	}
	r.Median, r.Interval = statistics.Median(r.Seconds), statistics.MedianInterval(r.Seconds, seed)
	r.SamplesPerS = float64(samples) / r.Median
	if r.Interval != nil {
		r.PerSInterval = &statistics.Interval{Low: float64(samples) / r.Interval.High, High: float64(samples) / r.Interval.Low}
	}
	r.ProcessorS, r.FirstBatch = statistics.Median(processor), statistics.Median(first)
	all := 0.0
	for _, s := range r.Seconds {
		all += s
	}
	r.Busy = busy / (all * float64(r.Threads))
	r.Stages = stagesOf(did.Stages, all*float64(r.Threads), samples*int64(len(epochs)))
	r.Latency = statistics.Percentiles(others)
}

// Begin is a report without runs: the work, the machine and the state of the page cache.
func Begin(ctx context.Context, s *data.Source, work report.Work, opened time.Duration) (*report.Report, error) {
	r := &report.Report{Format: report.Format, Started: time.Now().UTC(), Machine: machine.Look(), Work: work, OpenS: opened.Seconds()}
	files, path := s.Files()
	var err error
	if r.Cache, err = machine.LookCache(ctx, files, path); err != nil {
		return nil, err
	}
	w := &r.Work
	w.Kind, w.Paths, w.Samples, w.Files, w.Shape, w.DType = s.Kind, s.Paths, s.Len(), files, s.Shape, s.DType
	if s.Table != nil {
		w.Stored = s.Table.Type
	}
	if w.Digest, w.Bytes, err = s.Digest(ctx); err != nil {
		return nil, err
	}
	return r, nil
}
