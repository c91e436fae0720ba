// Package statistics says how sure a median is: 95 % intervals by the bootstrap, which
// assumes nothing about how times are distributed.
package statistics

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// Interval is where a value lies with 95 % confidence.
type Interval struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// resamples makes the ends of an interval steady to 1 % of its width.
const resamples = 4000

// FewestForInterval values are needed for an interval: the bootstrap of fewer repeats them.
const FewestForInterval = 3

// Quantile is the p-quantile of values, in between where it lies between two; NaN of none.
func Quantile(p float64, values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	return stat.Quantile(p, stat.LinInterp, slices.Sorted(slices.Values(values)), nil)
}

// Median is the middle of values, or the mean of the two in the middle; NaN of none.
func Median(values []float64) float64 {
	return medianOf(slices.Sorted(slices.Values(values)))
}

func medianOf(sorted []float64) float64 {
	n := len(sorted)
	if n == 0 {
		return math.NaN()
	}
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// resampler draws medians of resampled values.
type resampler struct {
	values, drawn []float64
	random        *rand.Rand
}

func newResampler(values []float64, random *rand.Rand) *resampler {
	return &resampler{values, make([]float64, len(values)), random}
}

func (r *resampler) median() float64 {
	for i := range r.drawn {
		r.drawn[i] = r.values[r.random.IntN(len(r.values))]
	}
	slices.Sort(r.drawn)
	return medianOf(r.drawn)
}

// MedianInterval is the interval of the median; nil of fewer than FewestForInterval values.
func MedianInterval(values []float64, seed uint64) *Interval {
	if len(values) < FewestForInterval {
		return nil
	}
	r := newResampler(values, rand.New(rand.NewPCG(seed, uint64(len(values)))))
	medians := make([]float64, resamples)
	for i := range medians {
		medians[i] = r.median()
	}
	return between(medians)
}

// between is the middle 95 % of values.
func between(values []float64) *Interval {
	slices.Sort(values)
	return &Interval{stat.Quantile(0.025, stat.Empirical, values, nil), stat.Quantile(0.975, stat.Empirical, values, nil)}
}
