package plots

import (
	"fmt"
	"strconv"

	"github.com/gofast-org/gofast/benchmarks/gofast-bench/internal/report"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
)

// latency is the quantiles of the time for a batch, for each number of threads.
func latency(r *report.Report) (*figure, error) {
	f := newFigure("latency", "Time from asking for a batch to having it", about(r))
	p := f.plot
	p.X.Label.Text, p.Y.Label.Text = "% of the batches come at most so late (each epoch's first left out)", "milliseconds"
	p.X.Min, p.X.Max, p.Y.Min = 0, 100, 0
	f.grid(true, true)
	for i, run := range r.Runs {
		if len(run.Latency) == 0 {
			continue
		}
		var quantiles plotter.XYs
		for percent, seconds := range run.Latency {
			quantiles = append(quantiles, plotter.XY{X: float64(percent), Y: seconds * 1e3})
		}
		line, err := plotter.NewLine(quantiles)
		if err != nil {
			return nil, err
		}
		line.Color, line.Width = colour(i), vg.Points(2)
		p.Add(line)
		f.add(fmt.Sprintf("%s: median %.3g ms", report.Threads(run.Threads), run.Latency[50]*1e3), line)
		p.Y.Max = max(p.Y.Max, 1.05*run.Latency[100]*1e3)
	}
	if len(f.legend) == 0 {
		return nil, nil
	}
	marks := plot.ConstantTicks{}
	for _, percent := range []int{0, 25, 50, 75, 95, 100} {
		marks = append(marks, plot.Tick{Value: float64(percent), Label: strconv.Itoa(percent)})
	}
	p.X.Tick.Marker = marks
	return f, nil
}
