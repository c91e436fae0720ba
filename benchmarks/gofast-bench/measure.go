package main

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"slices"
	"time"

	"github.com/gofast-org/gofast/gofast"
	"github.com/gofast-org/gofast/gofast/source"
	"github.com/gofast-org/gofast/gofast/table/gather"
	"gonum.org/v1/gonum/stat"
)

// report is what a run found.
type report struct {
	Version string   `json:"version"`
	CPUs    int      `json:"cpus"`
	Paths   []string `json:"paths"`
	Rows    int64    `json:"rows"`
	Width   int      `json:"features"`
	Stored  string   `json:"stored_as"`
	Batch   int      `json:"batch"`
	Epochs  int      `json:"epochs"`
	Shuffle bool     `json:"shuffle"`
	Seed    uint64   `json:"seed"`
	OpenS   float64  `json:"open_seconds"`
	Device  string   `json:"device,omitempty"`
	Runs    []run    `json:"runs"`
}

// run is one number of threads. Seconds are of whole epochs.
type run struct {
	Threads   int       `json:"threads"`
	RowsPerS  float64   `json:"rows_per_second"` // of the median epoch
	Median    float64   `json:"median_seconds"`
	Quartiles []float64 `json:"quartile_seconds"` // first and third: the spread
	Seconds   []float64 `json:"seconds"`
	Moves     *moves    `json:"moves,omitempty"`
}

// measure opens the table once and times its epochs, with the thread counts
// interleaved, so that a slow moment of the machine falls on all of them.
func measure(ctx context.Context, c config, progress io.Writer) (*report, error) {
	paths, err := source.Expand(c.paths)
	if err != nil {
		return nil, err
	}
	gpu, err := openGPU(c.device)
	if err != nil {
		return nil, err
	}
	defer gpu.closeDevice()
	start := time.Now()
	options := gofast.TableOptions{LabelOptional: !c.named, Header: c.header, Threads: slices.Max(c.threads)}
	if c.label != "" {
		options.Label = []gofast.ColumnRef{{Name: c.label}}
	}
	table, err := gofast.OpenTable(ctx, paths, options,
		gather.Transform{Scale: gather.ScaleUnit}) // as pixels: divided by 255
	if err != nil {
		return nil, err
	}
	defer table.Close()
	if len(table.Table.Labels) == 0 && c.label != "" {
		fmt.Fprintf(progress, "gofast-bench: no column is called %q: without labels; the features are %.6q (name one with --label, or say --label \"\")\n",
			c.label, table.Table.Features)
	}
	r := &report{
		Version: gofast.Version, CPUs: runtime.NumCPU(), Paths: paths, Rows: table.Len(), Width: table.Table.Width, Stored: table.Table.Type,
		Batch: c.batch, Epochs: c.epochs, Shuffle: c.shuffle, Seed: c.seed, OpenS: time.Since(start).Seconds(),
	}
	defer gpu.closeLoaders()
	r.Device = gpu.name
	epochs := make([]func(context.Context, []int64, *run) (int64, error), len(c.threads))
	for i, n := range c.threads {
		loader := gofast.Loader{Engine: gofast.NewEngine(n), Dataset: table, BatchRows: c.batch}
		defer loader.Engine.Close()
		r.Runs = append(r.Runs, run{Threads: n})
		if epochs[i], err = gpu.epochs(loader); err != nil {
			return nil, err
		}
	}
	for epoch := range c.epochs + 1 { // the first warms up
		for i := range epochs {
			if epoch == 1 {
				r.Runs[i].Moves = nil // the first warmed up
			}
			seconds, err := oneEpoch(table, c, uint64(epoch), func(order []int64) (int64, error) { return epochs[i](ctx, order, &r.Runs[i]) })
			if err != nil {
				return nil, err
			}
			if epoch > 0 {
				r.Runs[i].Seconds = append(r.Runs[i].Seconds, seconds)
			}
		}
		fmt.Fprintf(progress, "\repoch %d of %d", epoch, c.epochs)
	}
	fmt.Fprintln(progress)
	for i := range r.Runs {
		r.Runs[i].summarise(r.Rows)
	}
	return r, nil
}

func oneEpoch(table *gofast.Dataset, c config, epoch uint64, batches func(order []int64) (rows int64, err error)) (float64, error) {
	start := time.Now()
	order := gofast.Sequential(table.Len())
	if c.shuffle {
		order = gofast.Shuffled(table.Len(), c.seed, epoch)
	}
	rows, err := batches(order)
	if err != nil {
		return 0, err
	}
	if rows != table.Len() {
		return 0, fmt.Errorf("an epoch gave %d rows of %d", rows, table.Len())
	}
	return time.Since(start).Seconds(), nil
}

func (r *run) summarise(rows int64) {
	sorted := slices.Sorted(slices.Values(r.Seconds))
	r.Median = stat.Quantile(0.5, stat.LinInterp, sorted, nil)
	r.Quartiles = []float64{stat.Quantile(0.25, stat.LinInterp, sorted, nil), stat.Quantile(0.75, stat.LinInterp, sorted, nil)}
	r.RowsPerS = float64(rows) / r.Median
	r.Moves.summarise()
}
