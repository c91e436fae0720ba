package measure

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofast-org/gofast/benchmarks/gofast-bench/internal/data"
	"github.com/gofast-org/gofast/benchmarks/gofast-bench/internal/report"
	"github.com/gofast-org/gofast/benchmarks/gofast-bench/internal/synth"
	"github.com/gofast-org/gofast/benchmarks/gofast-bench/internal/transform"
	"github.com/gofast-org/gofast/gofast"
	"github.com/gofast-org/gofast/gofast/engine"
)

func source(t *testing.T) *data.Source {
	t.Helper()
	to := t.TempDir()
	if _, err := synth.Make(context.Background(), to, synth.Options{Kind: synth.PNG, Count: 20, Classes: 2, Width: 40, Height: 30}); err != nil {
		t.Fatal(err)
	}
	plan, _, err := transform.Parse("randomresizedcrop=16,hflip")
	if err != nil {
		t.Fatal(err)
	}
	s, err := data.Open(context.Background(), data.Options{Paths: []string{to}, As: data.Auto, Plan: plan})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func TestEpochsTakeTurns(t *testing.T) {
	s := source(t)
	var turns []int
	c := Config{Batch: 8, Threads: []int{1, 3}, Epochs: 2, Shuffle: true, DropCache: true,
		Live: func(run *report.Run, _ float64) { turns = append(turns, run.Threads) }}
	r, err := Begin(context.Background(), s, report.Work{}, 0)
	if err := errors.Join(err, Epochs(context.Background(), s, c, r)); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(turns, []int{1, 3, 1, 3, 1, 3}) || len(r.Memory) != 6 || r.PeakBytes == 0 || r.Dropped == nil || !r.Cache.Known || r.Work.Samples != 20 {
		t.Errorf("%v, %+v", turns, r)
	}
	for _, run := range r.Runs {
		if len(run.Stages) < 4 || len(run.Seconds) != 2 || run.Warmup <= 0 || run.FirstBatch <= 0 || len(run.Latency) != 101 || run.Interval != nil ||
			math.Abs(run.SamplesPerS*run.Median/20-1) > 1e-9 || run.Warmup == run.Seconds[0] {
			t.Errorf("%+v", run)
		}
	}
}

// A folder of few pictures is read for a time, first to warm up; a tiny one not for ever.
func TestRoundsGoOnForATime(t *testing.T) {
	count := func(c Config, members int, each time.Duration) (warm, timed int) {
		last := -1
		for round, warms := range c.rounds(members) {
			if last++; round != last || warms && timed > 0 {
				t.Fatalf("round %d after %d, %d timed", round, last, timed)
			}
			if warms {
				warm++
			} else {
				timed++
			}
			time.Sleep(each)
		}
		return warm, timed
	}
	synctest.Test(t, func(*testing.T) {
		for _, c := range []struct {
			members, epochs   int
			lasts, each       time.Duration
			warm, timedRounds int
		}{{1, 6, 2 * time.Second, 20 * time.Millisecond, 25, 100}, {2, 6, 2 * time.Second, 40 * time.Millisecond, 25, 100}, {1, 6, 2 * time.Second, time.Second, 1, 6},
			{1, 30, time.Second, time.Second, 1, 30}, {1, 6, time.Hour, 0, mostRounds, mostRounds}, {3, 1, 0, time.Second, 1, 1}} {
			if warm, timed := count(Config{Epochs: c.epochs, Time: c.lasts}, c.members, c.each); warm != c.warm || timed != c.timedRounds {
				t.Errorf("%+v: %d warm up, %d are timed", c, warm, timed)
			}
		}
	})
}

// The seconds add up to what a sample takes in the median epoch: 0.05 s.
func TestStagesAreSharesOfThreadsTimesTime(t *testing.T) {
	stages := stagesOf(map[string]time.Duration{"read": 4 * time.Second, "numbers": 2 * time.Second, "gather": 0}, 10, 0.05)
	want := []report.Stage{{Name: "reading", Seconds: 0.02, Share: 0.4}, {Name: "numbers", Seconds: 0.01, Share: 0.2}, {Name: report.Waiting, Seconds: 0.02, Share: 0.4}}
	if !slices.Equal(stages, want) {
		t.Errorf("%+v", stages)
	}
}

// Every stage that an engine knows has its words.
func TestNoStageIsForgotten(t *testing.T) {
	e := engine.New(1)
	defer e.Close()
	for key := range e.Stats().Stages {
		if !slices.ContainsFunc(stageNames, func(s [2]string) bool { return s[0] == key }) {
			t.Errorf("%s has no name", key)
		}
	}
}

// An epoch ends in its middle.
func TestCtrlCInAnEpoch(t *testing.T) {
	s, seen := source(t), 0
	ctx, cancel := context.WithCancel(context.Background())
	c := Config{Batch: 2, Threads: []int{2}, Epochs: 1000, Batches: func(l gofast.Loader) (Batches, error) {
		return func(ctx context.Context, order []int64, each func(int)) error {
			return Host(l)(ctx, order, func(rows int) {
				if seen++; seen > 2 {
					cancel()
				}
				each(rows)
			})
		}, nil
	}}
	if err := Epochs(ctx, s, c, &report.Report{}); !errors.Is(err, context.Canceled) || seen > 7 {
		t.Errorf("%v after %d batches", err, seen)
	}
	if _, err := Roofs(ctx, s, 1, c, func(int) {}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestTheLowestNeededRoofBinds(t *testing.T) {
	parts := []part{{name: "copy", needed: true, bytes: 1000}, {name: "read", needed: true}, {name: "whole"}, {name: "needed", needed: true}, {name: "run"}}
	l := limitsOf(2, parts, [][]float64{{1}, {2}, {9}, {4, 4, 100}, {5}}, 100)
	if l.Binds != "needed" || l.Run.SamplesPerS != 20 || l.Roofs[0].BytesPerS != 1000 || l.Roofs[3].SamplesPerS != 25 || l.Says != `run reaches 80 % of the lowest limit, "needed"` {
		t.Errorf("%+v", l)
	}
}
