package report

import (
	"encoding/csv"
	"io"
	"strconv"
)

// WriteCSV is a row for each timed epoch, and the median's figures beside it: the form that spreadsheets and pandas like.
func (r *Report) WriteCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	_ = out.Write([]string{"threads", "epoch", "seconds", "samples", "samples_per_second", "batch", "order", "transform", "median_samples_per_second",
		"median_low_95", "median_high_95", "processor_seconds_per_sample"}) // Error says what went wrong
	number := func(v float64) string { return strconv.FormatFloat(v, 'g', 9, 64) }
	for _, run := range r.Runs {
		low, high := "", ""
		if run.PerSInterval != nil {
			low, high = number(run.PerSInterval.Low), number(run.PerSInterval.High)
		}
		for i, seconds := range run.Seconds {
			_ = out.Write([]string{strconv.Itoa(run.Threads), strconv.Itoa(i + 1), number(seconds), strconv.FormatInt(r.Work.Samples, 10),
				number(float64(r.Work.Samples) / seconds), strconv.Itoa(r.Work.Batch), r.Work.Order, r.Work.Transform, number(run.SamplesPerS),
				low, high, number(run.ProcessorS)})
		}
	}
	out.Flush()
	return out.Error()
}
