package statistics

import (
	"fmt"
	"math/rand/v2"
)

// Verdict is what two series of times show.
type Verdict string

// The verdicts.
const (
	Faster   Verdict = "faster"
	Slower   Verdict = "slower"
	NotShown Verdict = "no difference shown"
	TooFew   Verdict = "too few epochs"
)

// FewestForVerdict epochs are needed on both sides: of four and fewer, one of ten equal pairs would be called different.
const FewestForVerdict = FewestForInterval

// Comparison is how many times faster the second series is.
type Comparison struct {
	Ratio    float64   `json:"ratio"` // of the medians: the first's time by the second's
	Interval *Interval `json:"interval"`
	Verdict  Verdict   `json:"verdict"`
}

// Compare compares the times of the same work. Both are resampled by themselves.
func Compare(first, second []float64, seed uint64) Comparison {
	c := Comparison{Ratio: Median(first) / Median(second), Verdict: TooFew}
	if min(len(first), len(second)) < FewestForVerdict {
		return c
	}
	random := rand.New(rand.NewPCG(seed, uint64(len(first))<<32|uint64(len(second))))
	a, b := newResampler(first, random), newResampler(second, random)
	ratios := make([]float64, resamples)
	for i := range ratios {
		ratios[i] = a.median() / b.median()
	}
	c.Interval = between(ratios)
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
		return fmt.Sprintf("no verdict: %d epochs or more are needed on both sides (B looks %.2fx as fast)", FewestForVerdict, c.Ratio)
	}
}
