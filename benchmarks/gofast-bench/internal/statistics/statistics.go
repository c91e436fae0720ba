// Package statistics says how sure a median is, and which of two is smaller. It assumes nothing about how times are
// distributed.
package statistics

import (
	"fmt"
	"math"
	"slices"
	"sort"

	"gonum.org/v1/gonum/stat/distuv"
)

// Interval is where a value lies with 95 % confidence.
type Interval struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// Fewest values are needed for an interval. The widest that there is, from the least of n values to the largest, misses
// the median when all lie on one side of it: in 2 of 2^n cases, which is 6 % of five values and 3 % of six.
const Fewest = 6

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
	sorted, n := slices.Sorted(slices.Values(values)), len(values)
	if n == 0 {
		return math.NaN()
	}
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// MedianInterval is the interval of the median by the sign test; nil of fewer than Fewest values.
func MedianInterval(values []float64) *Interval {
	if len(values) < Fewest {
		return nil
	}
	sorted := slices.Sorted(slices.Values(values))
	k := rank(len(sorted))
	return &Interval{sorted[k], sorted[len(sorted)-1-k]}
}

// rank is how many of n values at each end can be left out, so that those between hold the median in 95 % of all cases.
func rank(n int) int {
	below := distuv.Binomial{N: float64(n), P: 0.5} // the median
	return max(sort.Search(n, func(k int) bool { return 2*below.CDF(float64(k)) > 0.05 })-1, 0)
}

// Verdict is what two series of times show.
type Verdict string

// The verdicts.
const (
	Faster   Verdict = "faster"
	Slower   Verdict = "slower"
	NotShown Verdict = "no difference shown"
	TooFew   Verdict = "too few epochs"
)

// Comparison is how many times faster the second series is.
type Comparison struct {
	Ratio    float64   `json:"ratio"` // of the medians: the first's time by the second's
	Interval *Interval `json:"interval"`
	Verdict  Verdict   `json:"verdict"`
}

// Compare compares the times of the same work. How far each median may be off adds up as independent errors do.
func Compare(first, second []float64) Comparison {
	c := Comparison{Ratio: Median(first) / Median(second), Verdict: TooFew}
	a, b := MedianInterval(first), MedianInterval(second)
	if a == nil || b == nil {
		return c
	}
	off := func(value, bound float64) float64 { return math.Log(value / bound) }
	x, y := Median(first), Median(second)
	c.Interval = &Interval{c.Ratio * math.Exp(-math.Hypot(off(x, a.Low), off(y, b.High))), c.Ratio * math.Exp(math.Hypot(off(x, a.High), off(y, b.Low)))}
	switch {
	case c.Interval.Low > 1:
		c.Verdict = Faster
	case c.Interval.High < 1:
		c.Verdict = Slower
	default:
		c.Verdict = NotShown
	}
	return c
}

// String is the comparison in words, of B to A.
func (c Comparison) String() string {
	switch c.Verdict {
	case Faster:
		return fmt.Sprintf("B is %.2fx faster (%.2f to %.2f)", c.Ratio, c.Interval.Low, c.Interval.High)
	case Slower:
		return fmt.Sprintf("B is %.2fx slower (%.2f to %.2f)", 1/c.Ratio, 1/c.Interval.High, 1/c.Interval.Low)
	case NotShown:
		return fmt.Sprintf("no difference shown (B is %.2fx as fast, %.2f to %.2f)", c.Ratio, c.Interval.Low, c.Interval.High)
	default:
		return fmt.Sprintf("no verdict: %d epochs or more are needed on both sides (B looks %.2fx as fast)", Fewest, c.Ratio)
	}
}
