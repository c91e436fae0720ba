package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

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
	batch                                                    int
	shuffle, dropCache                                       bool
	seed                                                     uint64

	threads []int
	plan    image.Plan
	spelled string // the transform
	given   func(flag string) bool
}

func (w *workFlags) add(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&w.as, "as", data.Auto, "pictures, table, or auto: what the files' names say")
	f.StringVar(&w.transform, "transform", transform.Default, "what is made of pictures, see above")
	f.IntVar(&w.batch, "batch", 0, fmt.Sprintf("samples of a batch (default %d pictures, %d rows)", pictureBatch, tableBatch))
	f.StringVar(&w.threadList, "threads", powers(engine.Threads()), "numbers of engine threads to measure, separated by commas")
	f.StringVar(&w.order, "order", "sequential", "sequential, or shuffle: another order every epoch")
	f.BoolVar(&w.shuffle, "shuffle", false, "the same as --order shuffle")
	f.Uint64Var(&w.seed, "seed", 0, "seed of the shuffle, of random transforms and of the intervals")
	f.BoolVar(&w.dropCache, "drop-cache", false, "ask the kernel to forget the files before each epoch, so that they come from the disk")
	f.StringVar(&w.onError, "on-error", "raise", "raise: a picture that cannot be made ends the run; zero: it is counted, and zeroes are in its place")
	f.StringVar(&w.label, "label", "label", "table: name of the label column; only the default may be absent, \"\" for none")
	f.StringVar(&w.header, "header", "auto", "table: whether the first line of a text file names the columns: auto, true or false")
	for flag, values := range map[string][]string{"as": {data.Auto, data.Pictures, data.Table}, "order": {"sequential", "shuffle"},
		"on-error": {"raise", "zero"}, "header": {"auto", "true", "false"}} {
		// Fails only for a flag that is not there.
		_ = c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
	}
	w.given = f.Changed
}

// mostThreads are more than any machine has use for.
const mostThreads = 1024

func oneOf(flag, value string, values ...string) error {
	if !slices.Contains(values, value) {
		return usagef("--%s %q: give %s", flag, value, strings.Join(values, " or "))
	}
	return nil
}

func (w *workFlags) check() error {
	if w.shuffle {
		w.order = "shuffle"
	}
	for _, err := range []error{
		oneOf("as", w.as, data.Auto, data.Pictures, data.Table), oneOf("order", w.order, "sequential", "shuffle"),
		oneOf("on-error", w.onError, "raise", "zero"), oneOf("header", w.header, "auto", "true", "false"),
	} {
		if err != nil {
			return err
		}
	}
	if w.batch < 0 || w.given("batch") && w.batch == 0 || w.batch > 1<<30 {
		return usagef("--batch %d: give a number from 1 on", w.batch)
	}
	w.threads = nil
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

// open opens the paths. check has been called.
func (w *workFlags) open(ctx context.Context, c *cobra.Command, paths []string) (*data.Source, error) {
	o := data.Options{Paths: paths, As: w.as, Threads: slices.Max(w.threads), Seed: w.seed, Plan: w.plan, Zeros: w.onError == "zero",
		Label: w.label, LabelRequired: w.given("label")}
	if names, err := strconv.ParseBool(w.header); err == nil {
		o.Header = &names
	}
	s, err := data.Open(ctx, o)
	if err != nil {
		return nil, err
	}
	if s.Note != "" {
		fmt.Fprintln(c.ErrOrStderr(), "gofast-bench:", s.Note)
	}
	unused := []string{"label", "header"}
	if s.Kind == data.Table {
		unused = []string{"transform", "on-error", "drop-cache"}
	}
	for _, flag := range unused {
		if w.given(flag) {
			s.Close()
			return nil, usagef("--%s has no meaning for %s", flag, map[string]string{data.Table: "a table", data.Pictures: "pictures"}[s.Kind])
		}
	}
	return s, nil
}

func (w *workFlags) config(kind string) measure.Config {
	return measure.Config{Batch: w.batchOf(kind), Threads: w.threads, Shuffle: w.order == "shuffle", Seed: w.seed, DropCache: w.dropCache}
}

func (w *workFlags) batchOf(kind string) int {
	switch {
	case w.batch > 0:
		return w.batch
	case kind == data.Table:
		return tableBatch
	}
	return pictureBatch
}

func (w *workFlags) work(kind string, epochs int) report.Work {
	made := report.Work{Batch: w.batchOf(kind), Epochs: epochs, Order: w.order, Seed: w.seed, DropCache: w.dropCache}
	if kind == data.Pictures {
		made.Transform, made.OnError = w.spelled, w.onError
	}
	return made
}
