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

// FewestForInterval values are needed for an interval. The widest that there is, from the least of n values to the
// largest, misses the median when all lie on one side of it: in 2 of 2^n cases, which is 6 % of five values and 25 % of three.
const FewestForInterval = 5

// Percentiles are the quantiles from 0 % to 100 % of values, in between where one lies between two, as numpy has them;
// nil of none.
func Percentiles(values []float64) []float64 {
	if len(values) == 0 {
		return nil
	}
	sorted, made := slices.Sorted(slices.Values(values)), make([]float64, 101)
	for percent := range made {
		at := float64(percent) / 100 * float64(len(sorted)-1)
		k := int(at)
		made[percent] = sorted[k] + (at-float64(k))*(sorted[min(k+1, len(sorted)-1)]-sorted[k])
	}
	return made
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

// many values are resampled by their number: the place of their median is as good as normal.
const many = 1000

// resampler draws medians of resampled values.
type resampler struct {
	values, drawn []float64 // sorted
	random        *rand.Rand
}

func newResampler(values []float64, random *rand.Rand) *resampler {
	return &resampler{slices.Sorted(slices.Values(values)), make([]float64, len(values)), random}
}

func (r *resampler) median() float64 {
	if n := float64(len(r.values)); n > many { // sorting 4000 times a million values would take an hour
		return r.values[min(max(int(n/2+r.random.NormFloat64()*math.Sqrt(n)/2), 0), len(r.values)-1)]
	}
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
	interval, sorted := between(medians), slices.Sorted(slices.Values(values))
	k := rank(len(sorted))
	return &Interval{min(interval.Low, sorted[k]), max(interval.High, sorted[len(sorted)-1-k])}
}

// rank is how many of n values at each end can be left out, so that those between hold the median in 95 % of all cases,
// however they are distributed. The bootstrap alone leaves out one of seven at each end, and holds it in 87 %.
func rank(n int) int {
	if n > many {
		return (n - 1) / 2 // the bootstrap of so many is right, and 2^-n soon is 0
	}
	k, tail := 0, math.Exp2(-float64(n)) // of cases with at most k values on one side
	for chance := tail; ; k++ {
		chance *= float64(n-k) / float64(k+1)
		if tail += chance; 2*tail > 0.05 || k+1 > (n-1)/2 {
			return k
		}
	}
}

// between is the middle 95 % of values.
func between(values []float64) *Interval {
	slices.Sort(values)
	return &Interval{stat.Quantile(0.025, stat.Empirical, values, nil), stat.Quantile(0.975, stat.Empirical, values, nil)}
}
