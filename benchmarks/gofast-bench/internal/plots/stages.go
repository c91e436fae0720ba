package plots

import (
	"fmt"
	"slices"

	"github.com/gofast-org/gofast/benchmarks/gofast-bench/internal/report"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
)

// stages are the shares of the threads' time, a bar for each number of threads.
func stages(r *report.Report) (*figure, error) {
	if len(r.StageNames()) == 0 {
		return nil, nil
	}
	f := newFigure("stages", "Where the threads' time goes", about(r))
	p := f.plot
	p.X.Label.Text = "% of threads x time; in the legend: time of a sample, " + report.Threads(r.Runs[0].Threads)
	p.X.Min, p.X.Max = 0, 100
	var below *plotter.BarChart
	runs := slices.Clone(r.Runs)
	slices.Reverse(runs) // the first is at the top
	for k, name := range r.StageNames() {
		var values plotter.Values
		for i := range runs {
			values = append(values, 100*runs[i].Stage(name).Share)
		}
		bars, err := plotter.NewBarChart(values, 7*vg.Centimeter/vg.Length(max(len(runs), 3)))
		if err != nil {
			return nil, err
		}
		bars.Horizontal, bars.LineStyle.Width = true, 0
		bars.Color = colour(k)
		if name == report.Waiting {
			bars.Color = pale
		}
		if below != nil {
			bars.StackOn(below)
		}
		below = bars
		p.Add(bars)
		f.add(fmt.Sprintf("%s: %s", name, report.Duration(r.Runs[0].Stage(name).Seconds)), bars)
	}
	ticks := plot.ConstantTicks{}
	for i, run := range runs {
		ticks = append(ticks, plot.Tick{Value: float64(i), Label: report.Threads(run.Threads)})
	}
	p.Y.Tick.Marker = ticks
	p.Y.Min, p.Y.Max = -0.6, float64(len(runs))-0.4
	return f, nil
}
