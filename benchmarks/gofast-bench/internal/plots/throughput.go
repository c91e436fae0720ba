package plots

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/gofast-org/gofast/benchmarks/gofast-bench/internal/report"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// points are medians with their intervals.
type points struct {
	plotter.XYs
	errors plotter.YErrors
}

func (p points) YError(i int) (low, high float64) { return p.errors.YError(i) }

// throughput is samples a second against threads.
func throughput(r *report.Report) (*figure, error) {
	f := newFigure("throughput", "Throughput by threads", about(r))
	p := f.plot
	p.X.Label.Text, p.Y.Label.Text = "engine threads", r.Work.Unit()+" per second"
	var measured points
	most, highest := 0, 0.0
	for _, run := range r.Runs {
		low, high := 0.0, 0.0
		if run.PerSInterval != nil {
			low, high = run.SamplesPerS-run.PerSInterval.Low, run.PerSInterval.High-run.SamplesPerS
		}
		measured.XYs = append(measured.XYs, plotter.XY{X: float64(run.Threads), Y: run.SamplesPerS})
		measured.errors = append(measured.errors, struct{ Low, High float64 }{low, high})
		most, highest = max(most, run.Threads), max(highest, run.SamplesPerS+high)
	}
	f.grid(false, true)
	first := r.Runs[0]
	// No more than there are processors can work at a time.
	able := most
	if cpus := r.Machine.Usable; cpus > 0 {
		able = min(most, cpus)
	}
	best := first.SamplesPerS / float64(first.Threads) * float64(able)
	ideal, err := plotter.NewLine(plotter.XYs{{X: 0, Y: 0}, {X: float64(able), Y: best}, {X: float64(most), Y: best}})
	if err != nil {
		return nil, err
	}
	ideal.Color, ideal.Dashes, ideal.Width = grey, []vg.Length{vg.Points(5), vg.Points(4)}, vg.Points(1.2)
	line, dots, err := plotter.NewLinePoints(measured)
	if err != nil {
		return nil, err
	}
	line.Color, line.Width = colour(0), vg.Points(2)
	dots.Color, dots.Shape, dots.Radius = colour(0), draw.CircleGlyph{}, vg.Points(3.5)
	bars, err := plotter.NewYErrorBars(measured)
	if err != nil {
		return nil, err
	}
	bars.Color, bars.Width, bars.CapWidth = ink, vg.Points(1.2), vg.Points(8)
	f.add("median", line)
	if r.Runs[0].PerSInterval != nil {
		f.add("95 % interval", interval{bars})
		p.Add(bars)
	}
	f.add(fmt.Sprintf("ideal: that of %s, each", report.Threads(first.Threads)), ideal)
	p.X.Min, p.X.Max, p.Y.Min = 0, float64(most)*1.06, 0
	p.Y.Max = 1.08 * max(highest, best)
	if cpus := r.Machine.Usable; cpus < most {
		limit, err := plotter.NewLine(plotter.XYs{{X: float64(cpus), Y: 0}, {X: float64(cpus), Y: p.Y.Max}})
		if err != nil {
			return nil, err
		}
		limit.Color, limit.Width, limit.Dashes = colour(5), vg.Points(1), []vg.Length{vg.Points(2), vg.Points(3)}
		p.Add(limit)
		f.add(fmt.Sprintf("%d CPUs", cpus), limit)
	}
	p.Add(ideal, line, dots)
	p.X.Tick.Marker = threadTicks(r.Runs, most)
	return f, nil
}

// interval is the thumbnail of error bars, which have none.
type interval struct{ *plotter.YErrorBars }

func (b interval) Thumbnail(c *draw.Canvas) {
	x := c.Center().X
	c.StrokeLine2(b.LineStyle, x, c.Min.Y, x, c.Max.Y)
	for _, y := range []vg.Length{c.Min.Y, c.Max.Y} {
		c.StrokeLine2(b.LineStyle, x-4, y, x+4, y)
	}
}

// threadTicks are the numbers that were measured, from the largest down, so far as their labels have room.
func threadTicks(runs []report.Run, most int) plot.ConstantTicks {
	ticks, free := plot.ConstantTicks{}, most
	for _, run := range slices.Backward(runs) {
		if run.Threads <= free {
			ticks = append(ticks, plot.Tick{Value: float64(run.Threads), Label: strconv.Itoa(run.Threads)})
			free = run.Threads - most/20 // a label of four digits
		}
	}
	return ticks
}
