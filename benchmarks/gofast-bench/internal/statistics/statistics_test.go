package statistics

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestMediansAndQuantiles(t *testing.T) {
	for _, c := range []struct {
		values []float64
		median float64
	}{{[]float64{3}, 3}, {[]float64{4, 1}, 2.5}, {[]float64{9, 1, 5}, 5}, {[]float64{4, 3, 2, 1}, 2.5}} {
		before := append([]float64{}, c.values...)
		if got := Median(c.values); got != c.median {
			t.Errorf("the median of %v is %v", c.values, got)
		}
		for i := range before {
			if before[i] != c.values[i] {
				t.Fatalf("%v was changed", before)
			}
		}
	}
	if !math.IsNaN(Median(nil)) || Percentiles(nil) != nil {
		t.Error("nothing has a median")
	}
	for _, c := range []struct{ values, want []float64 }{ // at 0, 50, 95 and 100 %, by numpy.percentile
		{[]float64{5, 1, 4, 2, 3}, []float64{1, 3, 4.8, 5}}, {[]float64{2, 1}, []float64{1, 1.5, 1.95, 2}}, {[]float64{7}, []float64{7, 7, 7, 7}},
	} {
		all := Percentiles(c.values)
		for i, percent := range []int{0, 50, 95, 100} {
			if math.Abs(all[percent]-c.want[i]) > 1e-12 {
				t.Errorf("%d %% of %v is %v", percent, c.values, all[percent])
			}
		}
	}
}

const trials = 100 // of a share: it is right to 3 %

func exponential(r *rand.Rand, n int, scale float64) []float64 {
	values := make([]float64, n)
	for i := range values {
		values[i] = scale * (1 + 0.1*r.ExpFloat64()) // times have a tail to one side
	}
	return values
}

// The true median lies in 95 % intervals about as often as they promise, of the fewest epochs too.
func TestIntervalsHoldTheMedian(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	truth := 1 + 0.1*math.Ln2
	if testing.Short() {
		t.Skip("one goroutine computes: nothing for the race detector")
	}
	for _, n := range []int{FewestForInterval, 6, 7, 13} {
		inside := 0
		for range trials {
			interval := MedianInterval(exponential(r, n, 1), r.Uint64())
			if interval.Low <= truth && truth <= interval.High {
				inside++
			}
		}
		if share := float64(inside) / trials; share < 0.91 {
			t.Errorf("%d epochs: %.3f of the intervals hold the median", n, share)
		}
	}
	if MedianInterval([]float64{1, 2, 3, 4}, 0) != nil {
		t.Error("four values have no interval")
	}
	values := exponential(r, 7, 1)
	if a, b := MedianInterval(values, 3), MedianInterval(values, 3); *a != *b {
		t.Error("a seed gives one interval")
	}
}

// By tables of the sign test.
func TestRanks(t *testing.T) {
	for n, want := range map[int]int{5: 0, 6: 0, 7: 0, 8: 0, 9: 1, 11: 1, 12: 2, 15: 3, 20: 5, 25: 7, 50: 17, 100: 39} {
		if got := rank(n); got != want {
			t.Errorf("of %d values, %d are left out", n, got)
		}
	}
	if k := rank(1000); k < 460 || k > 475 { // 500 - 0.98 sqrt(1000) = 469
		t.Errorf("of 1000 values, %d are left out", k)
	}
	values := make([]float64, 5001) // 2500.5 +- 0.98 sqrt(5001)
	for i := range values {
		values[i] = float64(i)
	}
	if i := MedianInterval(values, 1); math.Abs(i.Low-2431) > 5 || math.Abs(i.High-2570) > 5 {
		t.Errorf("%+v", i)
	}
}

// Equal work is seldom called different; planted differences are found, with the right sign.
func TestVerdictsOnPlantedTimes(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	if testing.Short() {
		t.Skip("one goroutine computes: nothing for the race detector")
	}
	for _, n := range []int{FewestForVerdict, 9} {
		wrong := 0
		for range trials {
			if Compare(exponential(r, n, 1), exponential(r, n, 1), r.Uint64()).Verdict != NotShown {
				wrong++
			}
		}
		if share := float64(wrong) / trials; share > 0.1 {
			t.Errorf("%d epochs: %.3f of equal pairs are called different", n, share)
		}
	}
	for _, c := range []struct {
		second float64
		want   Verdict
		says   string
	}{{0.5, Faster, "x faster ("}, {2, Slower, "x slower"}} {
		made := Compare(exponential(r, 7, 1), exponential(r, 7, c.second), 1)
		if made.Verdict != c.want || !strings.Contains(made.String(), c.says) || math.Abs(made.Ratio*c.second-1) > 0.3 {
			t.Errorf("%g: %+v, %s", c.second, made, made)
		}
	}
	few := Compare([]float64{1, 1, 1, 1}, []float64{5, 5, 5, 5, 5}, 0)
	if few.Verdict != TooFew || few.Interval != nil || !strings.Contains(few.String(), "no verdict") {
		t.Errorf("%+v", few)
	}
}
