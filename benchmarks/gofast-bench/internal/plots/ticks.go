package plots

import (
	"math"
	"strconv"

	"github.com/gofast-org/gofast/benchmarks/gofast-bench/internal/report"
	"gonum.org/v1/plot"
)

// plainTicks are about six round numbers, with commas where they are whole.
type plainTicks struct{}

func (plainTicks) Ticks(low, high float64) (ticks []plot.Tick) {
	span := high - low
	if !(span > 0) || math.IsInf(span, 0) {
		return nil
	}
	step := math.Pow(10, math.Floor(math.Log10(span/6)))
	for _, times := range []float64{1, 2, 5, 10} {
		if span/(step*times) <= 7 {
			step *= times
			break
		}
	}
	for k := math.Ceil(low / step); k*step <= high; k++ {
		ticks = append(ticks, plot.Tick{Value: k * step, Label: label(k*step, step)})
	}
	return ticks
}

func label(v, step float64) string {
	if step >= 1 {
		return report.Grouped(v)
	}
	return strconv.FormatFloat(v, 'f', int(math.Ceil(-math.Log10(step))), 64)
}
