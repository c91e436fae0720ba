package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/gofast-org/gofast/benchmarks/gofast-bench/internal/data"
	"github.com/gofast-org/gofast/benchmarks/gofast-bench/internal/measure"
	"github.com/gofast-org/gofast/benchmarks/gofast-bench/internal/report"
	"github.com/gofast-org/gofast/benchmarks/gofast-bench/internal/transform"
	"github.com/spf13/cobra"
)

// The batches that are usual.
const (
	pictureBatch = 64
	tableBatch   = 512
)

type runOptions struct {
	work    workFlags
	epochs  int
	csv     bool
	out     string
	device  string
	ordinal int // of the device; -1: none
}

func newRunCommand() *cobra.Command {
	o := &runOptions{}
	c := &cobra.Command{
		Use:   "run PATH...",
		Short: "Time epochs over pictures or a table, for several numbers of threads",
		Long: `Time epochs of batches, for each number of threads.

PATH is a folder of pictures with a sub-folder for each class, a folder of pictures, a
picture, a pattern, @FILE with a path a line; or a table: CSV, TSV, Parquet, npy, npz, where
several files, a pattern or a folder are one table.

Epochs of the numbers of threads take turns, so that a slow moment falls on all. The first
epoch of each warms up, and is reported apart. Medians have 95 % intervals by bootstrap.

Transforms of pictures, separated by commas:
` + transform.Words(),
		Example: `  gofast-bench run photos/train
  gofast-bench run photos/ --transform "randomresizedcrop=224,hflip,normalize=imagenet" --threads 1,2,4,8 --order shuffle --out report/
  gofast-bench run photos/ --drop-cache --json > cold.json
  gofast-bench run train.parquet --label target --batch 512`,
		Args: somePaths,
		RunE: func(c *cobra.Command, paths []string) error { return runCommand(c, o, paths) },
	}
	o.work.add(c)
	c.Flags().IntVar(&o.epochs, "epochs", 5, "epochs to time for each number of threads; one more is run first to warm up")
	c.Flags().BoolVar(&o.csv, "csv", false, "print CSV on stdout, an epoch a line")
	c.Flags().StringVar(&o.out, "out", "", "folder for report.json, which benchmarks/plot.py draws, and report.csv")
	c.Flags().StringVar(&o.device, "device", "", "move the batches to a GPU: cuda:0, or cuda")
	return c
}

func runCommand(c *cobra.Command, o *runOptions, paths []string) error {
	if err := o.check(); err != nil {
		return err
	}
	if o.csv && wantsJSON(c) {
		return usagef("--json and --csv: give one of them")
	}
	r, err := o.measure(c.Context(), c, paths)
	if err != nil {
		return err
	}
	var saving error // the figures are printed all the same
	if o.out != "" {
		if saving = save(r, o.out); saving == nil {
			fmt.Fprintf(c.ErrOrStderr(), "written to %s\n", o.out)
		}
	}
	return errors.Join(saving, o.print(c, r))
}

func (o *runOptions) print(c *cobra.Command, r *report.Report) error {
	switch {
	case wantsJSON(c):
		return writeJSON(c.OutOrStdout(), r)
	case o.csv:
		return r.WriteCSV(c.OutOrStdout())
	}
	if err := r.WriteText(c.OutOrStdout()); err != nil {
		return err
	}
	return writeMoves(c.OutOrStdout(), r)
}

func (o *runOptions) check() error {
	err := checkEpochs(o.epochs)
	if err != nil {
		return err
	}
	if o.ordinal, err = ordinal(o.device); err != nil {
		return usagef("--device %q: %w", o.device, err)
	}
	if err := o.work.check(); err != nil {
		return err
	}
	if o.out == "" {
		return nil
	}
	if err := tryFolder(o.out); err != nil { // before minutes of measuring
		return fmt.Errorf("--out: %w", err)
	}
	return nil
}

// mostEpochs keeps a slip of the finger from running for ever.
const mostEpochs = 1_000_000

func checkEpochs(n int) error {
	if n < 1 || n > mostEpochs {
		return usagef("--epochs %d: give a number from 1 to %d", n, mostEpochs)
	}
	return nil
}

// tryFolder makes a folder, and tries whether files can be written there.
func tryFolder(path string) error {
	if err := os.MkdirAll(path, 0o777); err != nil {
		return err
	}
	file, err := os.CreateTemp(path, ".gofast-bench-*")
	if err != nil {
		return err
	}
	return errors.Join(file.Close(), os.Remove(file.Name()))
}

func (o *runOptions) measure(ctx context.Context, c *cobra.Command, paths []string) (*report.Report, error) {
	gpu, err := openGPU(o.ordinal)
	if err != nil {
		return nil, err
	}
	defer gpu.closeDevice()
	start := time.Now()
	s, err := o.work.open(ctx, c, paths)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	config := o.work.config(s.Kind)
	config.Epochs = o.epochs
	r, err := measure.Begin(ctx, s, o.work.work(s.Kind, o.epochs), time.Since(start))
	if err != nil {
		return nil, err
	}
	if gpu.device != nil {
		r.Device, config.Batches = gpu.name, gpu.batches
		defer gpu.closeLoaders()
	}
	live := newLive(c.ErrOrStderr(), o.epochs)
	config.Live = live.show
	err = measure.Epochs(ctx, s, config, r)
	live.end()
	if err != nil {
		return nil, err
	}
	gpu.addTo(r)
	r.Bad = badOnes(s)
	return r, nil
}

// badOnes are the pictures that could not be made.
func badOnes(s *data.Source) (bad []report.BadSample) {
	reasons := s.Bad.Reasons()
	for _, path := range slices.Sorted(maps.Keys(reasons)) {
		bad = append(bad, report.BadSample{Path: path, Reason: reasons[path]})
	}
	return bad
}

// save writes the report into a folder, each file complete or not at all.
func save(r *report.Report, folder string) error {
	for name, write := range map[string]func(io.Writer) error{
		"report.json": func(w io.Writer) error { return writeJSON(w, r) },
		"report.csv":  r.WriteCSV,
	} {
		path := filepath.Join(folder, name)
		var text bytes.Buffer
		err := errors.Join(write(&text), os.WriteFile(path+".part", text.Bytes(), 0o666))
		if err == nil {
			err = os.Rename(path+".part", path)
		}
		if err != nil {
			_ = os.Remove(path + ".part") // the first error counts
			return err
		}
	}
	return nil
}

// somePaths is cobra's MinimumNArgs(1) in words that say which.
func somePaths(_ *cobra.Command, args []string) error {
	if len(args) == 0 {
		return usagef("give a path: a folder of pictures, or the files of a table")
	}
	if slices.Contains(args, "") {
		return usagef("a path is empty")
	}
	return nil
}

// powers are 1, 2, 4, ... up to n, and n.
func powers(n int) (text string) {
	for i := 1; i < n; i *= 2 {
		text += strconv.Itoa(i) + ","
	}
	return text + strconv.Itoa(n)
}
