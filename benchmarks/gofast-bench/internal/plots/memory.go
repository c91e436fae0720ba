package plots

import (
	"github.com/gofast-org/gofast/benchmarks/gofast-bench/internal/report"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
)

// memory is the resident memory over time. The epochs of the numbers of threads take turns,
// and each number's engine keeps the memory of its batches meanwhile.
func memory(r *report.Report) (*figure, error) {
	if len(r.Memory) < 2 {
		return nil, nil
	}
	f := newFigure("memory", "Resident memory of the process over time", about(r))
	p := f.plot
	p.X.Label.Text, p.Y.Label.Text = "seconds; epochs take turns, and every engine keeps its memory meanwhile", "MB"
	p.Y.Min = 0
	f.grid(false, true)
	named := map[int]bool{}
	for i, run := range r.Runs {
		for _, epoch := range epochsOf(r.Memory, run.Threads) {
			line, err := plotter.NewLine(epoch)
			if err != nil {
				return nil, err
			}
			line.Color, line.Width = colour(i), vg.Points(2)
			p.Add(line)
			if !named[run.Threads] {
				f.add(report.Threads(run.Threads), line)
				named[run.Threads] = true
			}
		}
	}
	p.Y.Max = 1.1 * float64(r.PeakBytes) / 1e6
	p.X.Min, p.X.Max = 0, r.Memory[len(r.Memory)-1].Seconds
	return f, nil
}

// epochsOf cuts what was noted into the epochs of a number of threads.
func epochsOf(points []report.Memory, threads int) (epochs []plotter.XYs) {
	inside := false
	for i, m := range points {
		again := i > 0 && points[i-1].Warmup != m.Warmup
		if m.Threads != threads {
			inside = false
			continue
		}
		if !inside || again {
			epochs = append(epochs, nil)
		}
		inside = true
		last := len(epochs) - 1
		epochs[last] = append(epochs[last], plotter.XY{X: m.Seconds, Y: float64(m.Bytes) / 1e6})
	}
	return epochs
}
