package main

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/gofast-org/gofast/benchmarks/gofast-bench/internal/measure"
	"github.com/gofast-org/gofast/benchmarks/gofast-bench/internal/report"
	"github.com/spf13/cobra"
)

// roofs are what roof prints as JSON.
type roofs struct {
	*report.Report
	Limits []measure.Limits `json:"limits"`
}

func newRoofCommand() *cobra.Command {
	w, epochs := &workFlags{}, 0
	c := &cobra.Command{
		Use:   "roof PATH...",
		Short: "Measure this machine's limits for these data, and say which one binds",
		Long: `Measure what no loader can beat on this machine with these data, for each number of threads:
copying finished samples, reading the files, decoding them (whole, and only what the transform
needs), beside run itself. All of it goes through the same threads and in the same order.

The limit that binds is the lowest one. run comes close to it, or something else is in the way.`,
		Example: `  gofast-bench roof photos/train --threads 1,2,4
  gofast-bench roof photos/train --drop-cache    # what the disk gives
  gofast-bench roof train.parquet --json`,
		Args: somePaths,
		RunE: func(c *cobra.Command, paths []string) error {
			if err := w.check(); err != nil {
				return err
			}
			if err := checkEpochs(epochs); err != nil {
				return err
			}
			start := time.Now()
			s, err := w.open(c.Context(), c, paths)
			if err != nil {
				return err
			}
			defer s.Close()
			r, err := measure.Begin(c.Context(), s, w.work(s.Kind, epochs), time.Since(start))
			if err != nil {
				return err
			}
			config := w.config(s.Kind)
			config.Epochs = epochs
			limits, err := measure.Roofs(c.Context(), s, r.Work.Bytes, config, func(done, of int) {
				fmt.Fprintf(c.ErrOrStderr(), "round %d of %d\n", done, of)
			})
			if err != nil {
				return err
			}
			r.Bad = badOnes(s)
			if wantsJSON(c) {
				return writeJSON(c.OutOrStdout(), roofs{r, limits})
			}
			r.WriteHead(c.OutOrStdout())
			fmt.Fprintln(c.OutOrStdout())
			if err := writeLimits(c.OutOrStdout(), r, limits); err != nil {
				return err
			}
			r.WriteBad(c.OutOrStdout())
			return nil
		},
	}
	w.add(c)
	c.Flags().IntVar(&epochs, "epochs", 3, "epochs of each; one more is run first to warm up")
	return c
}

func writeLimits(w io.Writer, r *report.Report, limits []measure.Limits) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(t, "%s/s\t", r.Work.Unit())
	for _, l := range limits {
		fmt.Fprintf(t, "%s\t", report.Threads(l.Threads))
	}
	fmt.Fprintln(t)
	for k := range limits[0].Roofs {
		fmt.Fprintf(t, "%s\t", limits[0].Roofs[k].Name)
		for _, l := range limits {
			fmt.Fprintf(t, "%s\t", report.Grouped(l.Roofs[k].SamplesPerS))
		}
		fmt.Fprintln(t)
	}
	fmt.Fprintf(t, "run\t")
	for _, l := range limits {
		fmt.Fprintf(t, "%s\t", report.Grouped(l.Run.SamplesPerS))
	}
	fmt.Fprintln(t)
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(w)
	for _, l := range limits {
		copying := l.Roofs[0]
		fmt.Fprintf(w, "%-11s %s (copying is %.1f GB/s)\n", report.Threads(l.Threads)+":", l.Says, copying.BytesPerS/1e9)
	}
	return nil
}
