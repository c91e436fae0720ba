package main

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gofast-org/gofast/benchmarks/gofast-bench/internal/data"
	"github.com/gofast-org/gofast/benchmarks/gofast-bench/internal/measure"
	"github.com/gofast-org/gofast/benchmarks/gofast-bench/internal/report"
	"github.com/gofast-org/gofast/benchmarks/gofast-bench/internal/transform"
	"github.com/gofast-org/gofast/gofast/engine"
	"github.com/gofast-org/gofast/gofast/image"
	"github.com/spf13/cobra"
)

// workFlags say what is done: run and roof share them.
type workFlags struct {
	as, transform, order, onError, label, header, threadList string
	batch, epochs                                            int
	seconds                                                  float64
	dropCache                                                bool
	seed                                                     uint64

	threads []int
	plan    image.Plan
	spelled string // the transform
	given   func(flag string) bool
}

// The batches that are usual.
const (
	pictureBatch = 64
	tableBatch   = 512
)

// choices are the values of flags that have few; the first is the default.
var choices = map[string][]string{
	"as":       {data.Auto, data.Pictures, data.Table},
	"order":    {"sequential", "shuffle"},
	"on-error": {"raise", "zero"},
	"header":   {"auto", "true", "false"},
}

func (w *workFlags) add(c *cobra.Command, epochs int) {
	f := c.Flags()
	f.StringVar(&w.as, "as", data.Auto, "pictures, table, or auto: what the files' names say")
	f.StringVar(&w.transform, "transform", transform.Default, "what is made of pictures, see above")
	f.IntVar(&w.batch, "batch", 0, fmt.Sprintf("samples of a batch (default %d pictures, %d rows)", pictureBatch, tableBatch))
	f.IntVar(&w.epochs, "epochs", epochs, "epochs to time for each number of threads, at least")
	f.Float64Var(&w.seconds, "seconds", 2, "seconds to time each number of threads, at least; a quarter of them warm up first")
	f.StringVar(&w.threadList, "threads", powers(engine.Threads()), "numbers of engine threads to measure, separated by commas")
	f.StringVar(&w.order, "order", "sequential", "sequential, or shuffle: another order every epoch")
	f.Uint64Var(&w.seed, "seed", 0, "seed of the shuffle and of random transforms")
	f.BoolVar(&w.dropCache, "drop-cache", false, "ask the kernel to forget the files before each epoch, so that they come from the disk")
	f.StringVar(&w.onError, "on-error", "raise", "raise: a picture that cannot be made ends the run; zero: it is counted, and zeroes stand for it")
	f.StringVar(&w.label, "label", "label", "table: name of the label column; only the default may be absent, \"\" for none")
	f.StringVar(&w.header, "header", "auto", "table: whether the first line of a text file names the columns: auto, true or false")
	for flag, values := range choices {
		// Fails only for a flag that is not there.
		_ = c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
	}
	w.given = f.Changed
}

// powers are 1, 2, 4, ... up to n, and n.
func powers(n int) (text string) {
	for i := 1; i < n; i *= 2 {
		text += strconv.Itoa(i) + ","
	}
	return text + strconv.Itoa(n)
}

// A slip of the finger neither runs for ever nor starts more threads than any machine has use for.
const (
	mostThreads = 1024
	mostEpochs  = 1_000_000
	mostSeconds = 1_000_000
)

func (w *workFlags) check() error {
	for flag, value := range map[string]string{"as": w.as, "order": w.order, "on-error": w.onError, "header": w.header} {
		if !slices.Contains(choices[flag], value) {
			return usagef("--%s %q: give %s", flag, value, strings.Join(choices[flag], " or "))
		}
	}
	if w.batch < 0 || w.given("batch") && w.batch == 0 || w.batch > 1<<30 {
		return usagef("--batch %d: give a number from 1 on", w.batch)
	}
	if w.epochs < 1 || w.epochs > mostEpochs {
		return usagef("--epochs %d: give a number from 1 to %d", w.epochs, mostEpochs)
	}
	if !(w.seconds >= 0 && w.seconds <= mostSeconds) {
		return usagef("--seconds %g: give a number from 0 to %d", w.seconds, mostSeconds)
	}
	for text := range strings.SplitSeq(w.threadList, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil || n < 1 || n > mostThreads || slices.Contains(w.threads, n) {
			return usagef("--threads %q: give different numbers from 1 to %d, separated by commas", w.threadList, mostThreads)
		}
		w.threads = append(w.threads, n)
	}
	slices.Sort(w.threads)
	var err error
	if w.plan, w.spelled, err = transform.Parse(w.transform); err != nil {
		return usagef("--transform: %w", err)
	}
	return nil
}

// open opens the paths, and begins a report about them. check has been called.
func (w *workFlags) open(c *cobra.Command, paths []string) (s *data.Source, config measure.Config, r *report.Report, err error) {
	o := data.Options{Paths: paths, As: w.as, Threads: slices.Max(w.threads), Seed: w.seed, Plan: w.plan, Zeros: w.onError == "zero",
		Label: w.label, LabelRequired: w.given("label")}
	if names, err := strconv.ParseBool(w.header); err == nil {
		o.Header = &names
	}
	start := time.Now()
	if s, err = data.Open(c.Context(), o); err != nil {
		return nil, config, nil, err
	}
	opened := time.Since(start)
	if s.Note != "" {
		fmt.Fprintln(c.ErrOrStderr(), "gofast-bench:", s.Note)
	}
	config = measure.Config{Batch: w.batch, Threads: w.threads, Epochs: w.epochs, Time: time.Duration(w.seconds * float64(time.Second)), Shuffle: w.order == "shuffle", Seed: w.seed, DropCache: w.dropCache}
	work := report.Work{Order: w.order, Seed: w.seed, DropCache: w.dropCache}
	usual, unused := pictureBatch, []string{"label", "header"}
	if s.Kind == data.Table {
		usual, unused = tableBatch, []string{"transform", "on-error", "drop-cache"}
	} else {
		work.Transform, work.OnError = w.spelled, w.onError
	}
	config.Batch = cmp.Or(w.batch, usual)
	work.Batch = config.Batch
	if i := slices.IndexFunc(unused, w.given); i >= 0 {
		err = usagef("--%s has no meaning for %s", unused[i], s.Kind)
	} else {
		r, err = measure.Begin(c.Context(), s, work, opened)
	}
	if err != nil {
		s.Close()
	}
	return s, config, r, err
}

// somePaths is cobra's MinimumNArgs(1) in words that say which.
func somePaths(_ *cobra.Command, args []string) error {
	if len(args) == 0 || slices.Contains(args, "") {
		return usagef("give a path: a folder of pictures, or the files of a table")
	}
	return nil
}
