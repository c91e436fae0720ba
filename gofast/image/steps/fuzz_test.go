package steps_test

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gofast-org/gofast/gofast/image/steps"
	"github.com/gofast-org/gofast/gofast/image/steps/stepstest"
)

func randomSize(rng *rand.Rand) stepstest.Size {
	bound := []int{4, 50, 600, 5000, math.MaxInt32}[rng.IntN(5)]
	return stepstest.Size{int32(rng.IntN(bound)), int32(rng.IntN(bound))}
}

// drawAll draws for pictures as a caller does who has exp, so many at a time, and skips those that raise.
func drawAll(t *testing.T, l steps.List, from stepstest.Generators, sizes []stepstest.Size, atOnce int) []int32 {
	t.Helper()
	records, asked := make([]int32, len(sizes)*l.Words()), 0
	var answers []stepstest.Answer
	for begun := 0; begun < len(sizes); {
		n := min(atOnce, len(sizes)-begun)
		code, result := stepstest.Draw(l, true, from, sizes[begun:begun+n], records[begun*l.Words():(begun+n)*l.Words()], answers)
		begun += int(result.Done)
		switch code {
		case stepstest.Invalid:
			t.Fatal(result.Text)
		case stepstest.Raises:
			begun++
		case stepstest.Ask:
			if asked++; asked > 1000*len(sizes) {
				t.Fatal("it goes on asking")
			}
			answers = append(answers, stepstest.Answer{result.Ask, float32(math.Exp(float64(result.Ask)))})
		}
	}
	return records
}

// FuzzDraw draws for any plan that is accepted: for all pictures at once and for one after another the same.
func FuzzDraw(f *testing.F) {
	golden := readGolden(f)
	for i, c := range slices.Concat(golden.Fused, golden.Plain) {
		text, _ := json.Marshal(c.Steps)
		f.Add(uint64(i), text)
	}
	f.Fuzz(func(t *testing.T, seed uint64, text []byte) {
		var plan []steps.Step
		if json.Unmarshal(text, &plan) != nil {
			return
		}
		l, _, err := steps.Compile(plan)
		if err != nil {
			return
		}
		defer l.Free()
		rng := rand.New(rand.NewPCG(seed, 4))
		sizes := make([]stepstest.Size, rng.IntN(40)+1)
		samples := make([]stepstest.Sample, len(sizes))
		for i := range sizes {
			sizes[i] = randomSize(rng)
			samples[i] = stepstest.Sample{Index: int64(rng.Uint64()), Occurrence: int32(rng.Uint32()), Size: sizes[i]}
		}
		together, python := *stepstest.Seed(seed), [stepstest.PythonWords]uint32{1, 2, 3, stepstest.PythonWords - 1: uint32(seed % stepstest.PythonWords)}
		apart, other := together, python
		want := drawAll(t, l, stepstest.Generators{Torch: &together, Python: &python}, sizes, len(sizes))
		got := drawAll(t, l, stepstest.Generators{Torch: &apart, Python: &other}, sizes, 1)
		if !slices.Equal(got, want) || apart != together || other != python {
			t.Fatalf("%v: one by one %v, at once %v", plan, got, want)
		}
		whole, alone := make([]int32, len(samples)*l.Words()), make([]int32, l.Words())
		if _, result := stepstest.Stateless(l, seed, 1, samples, whole); result.Done > 0 {
			last := int(result.Done) - 1
			stepstest.Stateless(l, seed, 1, samples[last:last+1], alone)
			if !slices.Equal(alone, whole[last*l.Words():(last+1)*l.Words()]) {
				t.Fatalf("%v: a sample's own stream depends on the samples before it", plan)
			}
		}
	})
}

// FuzzState draws from any state: it is refused as it is, or goes on.
func FuzzState(f *testing.F) {
	f.Add([]byte{0, 1, 2}, 8)
	f.Add([]byte{1}, 5040)
	f.Fuzz(func(t *testing.T, raw []byte, at int) {
		state := *stepstest.Seed(7)
		if at >= 0 && at < len(state) {
			copy(state[at:], raw)
		}
		before, l := state, compile(t, steps.Step{"op": "hflip", "p": 0.5})
		sizes := slices.Repeat([]stepstest.Size{{1, 1}}, 1300)
		records := make([]int32, len(sizes))
		code, result := stepstest.Draw(l, true, stepstest.Generators{Torch: &state}, sizes, records, nil)
		if code == stepstest.Invalid && state != before || code == stepstest.OK && (result.Done != 1300 || state == before) {
			t.Fatalf("code %d, %+v", code, result)
		}
	})
}
