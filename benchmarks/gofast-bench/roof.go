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
	w := &workFlags{}
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
			s, config, r, err := w.open(c, paths)
			if err != nil {
				return err
			}
			defer s.Close()
			var said time.Time
			limits, err := measure.Roofs(c.Context(), s, r.Work.Bytes, config, func(timed int) {
				r.Work.Epochs = timed
				if time.Since(said) > progressEvery {
					said = time.Now()
					fmt.Fprintf(c.ErrOrStderr(), "rounds timed: %d\n", timed)
				}
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
	w.add(c, 3)
	return c
}

func writeLimits(w io.Writer, r *report.Report, limits []measure.Limits) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	row := func(name string, cell func(measure.Limits) string) {
		fmt.Fprintf(t, "%s\t", name)
		for _, l := range limits {
			fmt.Fprintf(t, "%s\t", cell(l))
		}
		fmt.Fprintln(t)
	}
	row(r.Work.Unit()+"/s", func(l measure.Limits) string { return report.Threads(l.Threads) })
	for k, roof := range limits[0].Roofs {
		row(roof.Name, func(l measure.Limits) string { return report.Grouped(l.Roofs[k].SamplesPerS) })
	}
	row("run", func(l measure.Limits) string { return report.Grouped(l.Run.SamplesPerS) })
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(w)
	for _, l := range limits {
		fmt.Fprintf(w, "%-11s %s (copying is %.1f GB/s)\n", report.Threads(l.Threads)+":", l.Says, l.Roofs[0].BytesPerS/1e9)
	}
	return nil
}
