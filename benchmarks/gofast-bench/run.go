package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/gofast-org/gofast/benchmarks/gofast-bench/internal/data"
	"github.com/gofast-org/gofast/benchmarks/gofast-bench/internal/measure"
	"github.com/gofast-org/gofast/benchmarks/gofast-bench/internal/report"
	"github.com/gofast-org/gofast/benchmarks/gofast-bench/internal/statistics"
	"github.com/gofast-org/gofast/benchmarks/gofast-bench/internal/transform"
	"github.com/spf13/cobra"
)

type runOptions struct {
	workFlags
	csv         bool
	out, device string
}

// progressEvery keeps epochs of milliseconds from filling the screen.
const progressEvery = 500 * time.Millisecond

func newRunCommand() *cobra.Command {
	o := &runOptions{}
	c := &cobra.Command{
		Use:   "run PATH...",
		Short: "Time epochs over pictures or a table, for several numbers of threads",
		Long: `Time epochs of batches, for each number of threads.

PATH is a folder of pictures with a sub-folder for each class, a folder of pictures, a
picture, a pattern, @FILE with a path a line; or a table: CSV, TSV, Parquet, npy, npz, where
several files, a pattern or a folder are one table.

Epochs of the numbers of threads take turns, so that a slow moment falls on all. They go on
for --seconds, after others that warm up. Medians have 95 % intervals by the sign test.

Transforms of pictures, separated by commas:
` + transform.Words(),
		Example: `  gofast-bench run photos/train
  gofast-bench run photos/ --transform "randomresizedcrop=224,hflip,normalize=imagenet" --threads 1,2,4,8 --order shuffle --out report/
  gofast-bench run photos/ --drop-cache --json > cold.json
  gofast-bench run train.parquet --label target --batch 512`,
		Args: somePaths,
		RunE: func(c *cobra.Command, paths []string) error { return runCommand(c, o, paths) },
	}
	o.add(c, statistics.Fewest)
	c.Flags().BoolVar(&o.csv, "csv", false, "print CSV on stdout, an epoch a line")
	c.Flags().StringVar(&o.out, "out", "", "folder for report.json, which benchmarks/plot.py draws, and report.csv")
	c.Flags().StringVar(&o.device, "device", "", "move the batches to a GPU: cuda:0, or cuda")
	return c
}

func runCommand(c *cobra.Command, o *runOptions, paths []string) error {
	if o.csv && wantsJSON(c) {
		return usagef("--json and --csv: give one of them")
	}
	if _, err := ordinal(o.device); err != nil && o.device != "" {
		return usagef("--device %q: %w", o.device, err)
	}
	if err := o.check(); err != nil {
		return err
	}
	if o.out != "" {
		if err := os.MkdirAll(o.out, 0o777); err != nil { // before minutes of measuring
			return fmt.Errorf("--out: %w", err)
		}
	}
	r, err := o.measure(c, paths)
	if err != nil {
		return err
	}
	var saving error // the figures are printed all the same
	if o.out != "" {
		if saving = save(r, o.out); saving == nil {
			fmt.Fprintf(c.ErrOrStderr(), "written to %s\n", o.out)
		}
	}
	switch {
	case wantsJSON(c):
		err = writeJSON(c.OutOrStdout(), r)
	case o.csv:
		err = r.WriteCSV(c.OutOrStdout())
	default:
		err = r.WriteText(c.OutOrStdout())
	}
	return errors.Join(saving, err)
}

func (o *runOptions) measure(c *cobra.Command, paths []string) (*report.Report, error) {
	gpu, err := openGPU(o.device)
	if err != nil {
		return nil, err
	}
	s, config, r, err := o.open(c, paths)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	if gpu != nil {
		defer gpu.close()
		r.Device, config.Batches = gpu.String(), gpu.batches
	}
	var said time.Time
	config.Live = func(run *report.Run, took float64) {
		epoch := "warm-up"
		if n := len(run.Seconds); n > 0 {
			epoch = fmt.Sprintf("epoch %d", n)
		} else if gpu != nil {
			gpu.forget(run.Threads)
		}
		if time.Since(said) > progressEvery {
			said = time.Now()
			fmt.Fprintf(c.ErrOrStderr(), "%s, %s: %s %s/s\n", epoch, report.Threads(run.Threads), report.Grouped(float64(s.Len())/took), r.Work.Unit())
		}
	}
	if err := measure.Epochs(c.Context(), s, config, r); err != nil {
		return nil, err
	}
	if gpu != nil {
		gpu.addTo(r)
	}
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
