package main

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
)

func (r *report) writeJSON(w io.Writer) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(r)
}

func (r *report) writeText(w io.Writer) error {
	fmt.Fprintf(w, "gofast %s on %d CPUs: %d rows x %d features stored as %s, opened in %.1f ms; batch %d, %d epochs, shuffle %v\n",
		r.Version, r.CPUs, r.Rows, r.Width, r.Stored, r.OpenS*1e3, r.Batch, r.Epochs, r.Shuffle)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "threads\trows/s\tepoch, median ms\tquartiles ms\t")
	for _, run := range r.Runs {
		fmt.Fprintf(t, "%d\t%.0f\t%.2f\t%.2f - %.2f\t\n", run.Threads, run.RowsPerS, run.Median*1e3, run.Quartiles[0]*1e3, run.Quartiles[1]*1e3)
	}
	if err := t.Flush(); err != nil || r.Device == "" {
		return err
	}
	fmt.Fprintf(w, "on %s:\n", r.Device)
	fmt.Fprintln(t, "threads\tMB to the device\tcopy rate GB/s\tcopies ms\tkernels ms\tnot waited for\t")
	for _, run := range r.Runs {
		m := run.Moves
		if m.CopySeconds == 0 { // smaller ones are not timed
			fmt.Fprintf(t, "%d\t%.1f\t-\t-\t-\t-\t\n", run.Threads, float64(m.Bytes)/1e6)
			continue
		}
		fmt.Fprintf(t, "%d\t%.1f\t%.2f\t%.2f\t%.2f\t%.0f %%\t\n", run.Threads, float64(m.Bytes)/1e6, m.Rate/1e9, m.CopySeconds*1e3, m.KernelSeconds*1e3, 100*m.Overlap)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(w, overlapMeans)
	return nil
}
