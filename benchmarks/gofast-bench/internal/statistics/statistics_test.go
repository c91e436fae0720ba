package statistics

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestMediansAndQuantiles(t *testing.T) {
	for _, c := range []struct {
		values []float64
		median float64
	}{{[]float64{3}, 3}, {[]float64{4, 1}, 2.5}, {[]float64{9, 1, 5}, 5}} {
		if got := Median(c.values); got != c.median {
			t.Errorf("the median of %v is %v", c.values, got)
		}
	}
	for _, c := range []struct{ values, want []float64 }{ // at 0, 50, 95 and 100 %, by numpy.percentile
		{[]float64{5, 1, 4, 2, 3}, []float64{1, 3, 4.8, 5}}, {[]float64{7}, []float64{7, 7, 7, 7}},
	} {
		all := Percentiles(c.values)
		for i, percent := range []int{0, 50, 95, 100} {
			if math.Abs(all[percent]-c.want[i]) > 1e-12 {
				t.Errorf("%d %% of %v is %v", percent, c.values, all[percent])
			}
		}
	}
}

// By tables of the sign test.
func TestRanks(t *testing.T) {
	for n, want := range map[int]int{5: 0, 8: 0, 9: 1, 11: 1, 12: 2, 15: 3, 20: 5, 25: 7, 50: 17, 100: 39, 1000: 468, 5001: 2430} {
		if got := rank(n); got != want {
			t.Errorf("of %d values, %d are left out", n, got)
		}
	}
}

func exponential(r *rand.Rand, n int, scale float64) []float64 {
	values := make([]float64, n)
	for i := range values {
		values[i] = scale * (1 + 0.1*r.ExpFloat64()) // times have a tail to one side
	}
	return values
}

// The true median lies in 95 % intervals about as often as they promise, and equal work is seldom called different.
func TestIntervalsHold(t *testing.T) {
	const trials = 1000
	r, truth := rand.New(rand.NewPCG(1, 2)), 1+0.1*math.Ln2
	for _, n := range []int{Fewest, 9, 13} {
		inside, wrong := 0, 0
		for range trials {
			first := exponential(r, n, 1)
			if i := MedianInterval(first); i.Low <= truth && truth <= i.High {
				inside++
			}
			if Compare(first, exponential(r, n, 1)).Verdict != NotShown {
				wrong++
			}
		}
		if inside < trials*94/100 || wrong > trials*8/100 {
			t.Errorf("%d epochs: of %d intervals %d hold the median, %d equal pairs are called different", n, trials, inside, wrong)
		}
	}
	for second, want := range map[float64]Verdict{0.5: Faster, 2: Slower} {
		if made := Compare(exponential(r, 7, 1), exponential(r, 7, second)); made.Verdict != want || math.Abs(made.Ratio*second-1) > 0.3 {
			t.Errorf("%g: %+v", second, made)
		}
	}
	if few := Compare([]float64{1, 1, 1, 1, 1}, []float64{5, 5, 5, 5, 5, 5}); few.Verdict != TooFew || few.Interval != nil {
		t.Errorf("%+v", few)
	}
}
