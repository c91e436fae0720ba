package measure

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/gofast-org/gofast/benchmarks/gofast-bench/internal/data"
	"github.com/gofast-org/gofast/benchmarks/gofast-bench/internal/statistics"
	"github.com/gofast-org/gofast/gofast"
	"github.com/gofast-org/gofast/gofast/image"
)

// Roof is how fast a part of the work goes by itself.
type Roof struct {
	Name        string  `json:"name"`
	SamplesPerS float64 `json:"samples_per_second"`
	BytesPerS   float64 `json:"bytes_per_second"`        // of finished samples, or of files
	Needed      bool    `json:"needed"`                  // the work cannot do without it
	Seconds     float64 `json:"median_seconds_an_epoch"` // of all samples
}

// Limits are the roofs of a number of threads.
type Limits struct {
	Threads int    `json:"threads"`
	Roofs   []Roof `json:"roofs"`
	Run     Roof   `json:"run"`
	Binds   string `json:"binds"` // the lowest of the needed roofs
	Says    string `json:"says"`
}

// part is a piece of work over all samples, and whether the work needs it.
type part struct {
	name   string
	needed bool
	bytes  int64 // that it moves in an epoch
	work   *gofast.Dataset
}

// Roofs measures the limits. Parts, thread counts and rounds take turns. progress is called after every round.
func Roofs(ctx context.Context, s *data.Source, fileBytes int64, c Config, progress func(timed int)) ([]Limits, error) {
	parts, err := partsOf(s, fileBytes)
	defer func() {
		for _, p := range parts {
			if p.work != nil && p.work != s.Dataset {
				p.work.Close()
			}
		}
	}()
	if err != nil {
		return nil, err
	}
	engines, seconds := make([]*gofast.Engine, len(c.Threads)), make([][][]float64, len(c.Threads))
	for i, n := range c.Threads {
		engines[i], seconds[i] = gofast.NewEngine(n), make([][]float64, len(parts))
		defer engines[i].Close()
	}
	timed := 0
	for round, warms := range c.rounds(len(parts) * len(engines)) {
		for i := range c.Threads {
			for k, p := range parts {
				if err := c.forget(ctx, s); err != nil {
					return nil, err
				}
				took, err := p.time(ctx, engines[i], c, round)
				if err != nil {
					return nil, err
				}
				if !warms {
					seconds[i][k] = append(seconds[i][k], took)
				}
			}
		}
		if !warms {
			timed++
		}
		progress(timed)
	}
	limits := make([]Limits, len(c.Threads))
	for i, n := range c.Threads {
		limits[i] = limitsOf(n, parts, seconds[i], s.Len())
	}
	return limits, nil
}

// partsOf are the parts of the work; the last is all of it.
func partsOf(s *data.Source, fileBytes int64) (parts []part, err error) {
	samples := s.Len() * int64(s.DType.Size())
	for _, n := range s.Shape {
		samples *= int64(n)
	}
	parts = append(parts, part{name: "copy finished samples", needed: true, bytes: samples})
	if s.Kind == data.Pictures {
		for _, stage := range []struct {
			name   string
			until  image.Stage
			needed bool
		}{{"read the files", image.Read, true}, {"decode whole pictures", image.DecodeWhole, false}, {"decode what is needed", image.DecodeNeeded, true}} {
			work, err := s.UpTo(stage.until)
			if err != nil {
				return parts, err
			}
			parts = append(parts, part{stage.name, stage.needed, fileBytes, work})
		}
	}
	return append(parts, part{"run", false, samples, s.Dataset}), nil
}

// time is one epoch of a part, in seconds.
func (p part) time(ctx context.Context, e *gofast.Engine, c Config, round int) (float64, error) {
	if p.work == nil {
		return copying(ctx, e.ThreadCount(), p.bytes)
	}
	p.work.SetEpoch(uint64(round))
	order := c.order(p.work, round)
	start := time.Now()
	err := Host(c.loader(e, p.work))(ctx, order, func(int) {})
	return time.Since(start).Seconds(), err
}

// What is copied lies in memory that no cache holds, and goes to such memory. Each thread has its part of both.
const (
	copyRoom  = 128 << 20
	mostBytes = 4 << 30 // of an epoch that are copied: its rate is that of more
)

// copying is how long the threads take to copy so many bytes.
func copying(ctx context.Context, threads int, bytes int64) (float64, error) {
	if ctx.Err() != nil {
		return 0, ctx.Err()
	}
	part := int64(copyRoom / threads)
	times := max(2, min(bytes, mostBytes)/copyRoom) // a short copy says nothing
	from, to := make([]byte, copyRoom), make([]byte, copyRoom)
	for i := 0; i < copyRoom; i += 4096 { // is there before the clock runs
		to[i], from[i] = 1, 1
	}
	var done sync.WaitGroup
	start := time.Now()
	for n := range int64(threads) {
		done.Go(func() {
			for range times {
				if ctx.Err() != nil {
					return
				}
				copy(to[n*part:][:part], from[n*part:][:part])
			}
		})
	}
	done.Wait()
	took := time.Since(start).Seconds()
	return took * float64(bytes) / float64(times*part*int64(threads)), ctx.Err()
}

// limitsOf puts the medians together.
func limitsOf(threads int, parts []part, seconds [][]float64, samples int64) Limits {
	var roofs []Roof
	for k, p := range parts {
		median := statistics.Median(seconds[k])
		roofs = append(roofs, Roof{Name: p.name, SamplesPerS: float64(samples) / median, BytesPerS: float64(p.bytes) / median, Needed: p.needed, Seconds: median})
	}
	l := Limits{Threads: threads, Roofs: roofs[:len(roofs)-1], Run: roofs[len(roofs)-1]}
	lowest := roofs[0]
	for _, roof := range l.Roofs {
		if roof.Needed && roof.SamplesPerS < lowest.SamplesPerS {
			lowest = roof
		}
	}
	l.Binds = lowest.Name
	l.Says = fmt.Sprintf("run reaches %.0f %% of the lowest limit, %q", 100*l.Run.SamplesPerS/lowest.SamplesPerS, lowest.Name)
	return l
}
