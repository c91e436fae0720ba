package steps

import (
	"encoding/json"
	"maps"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
)

// ops are all operations that a plan may name.
var ops = slices.Sorted(maps.Keys(kinds))

// randomSteps makes plans that mean something, most of them.
func randomSteps(rng *rand.Rand, depth int) []Step {
	steps := make([]Step, rng.IntN(6-min(depth, 5))+1)
	for i := range steps {
		s := Step{Op: ops[rng.IntN(len(ops))], Version: []string{"v1", "v2"}[rng.IntN(2)], Filter: "box", Mode: "edge", Fill: []int{1, 2, 3},
			P: rng.Float64() * 1.1, PadIfNeeded: rng.IntN(2) == 0, Channels: 1 + 2*rng.IntN(2), Threshold: rng.IntN(257), Value: []float32{1}}
		s.Size = []int{rng.IntN(300) + 1, rng.IntN(300) + 1}
		if s.Op == "resize" && rng.IntN(2) == 0 {
			s.Size, s.MaxSize = s.Size[:rng.IntN(2)], rng.IntN(3)*400
		}
		if s.Op == "pad" || rng.IntN(2) == 0 {
			s.Padding = make([]int, 4)
			for j := range s.Padding {
				s.Padding[j] = rng.IntN(40) * rng.IntN(2)
			}
			if rng.IntN(20) == 0 {
				s.Padding[rng.IntN(4)] = MaxSide
			}
		}
		s.Scale = spread(rng, rng.Float64())
		switch s.Op {
		case "random_zoom_out":
			s.Scale[0]++
			s.Scale[1]++
		case "random_resize":
			s.Size[1] += s.Size[0]
		}
		s.Sides, s.Kernel, s.Sigma = s.Size, []int{3, 1 + 2*rng.IntN(20)}, spread(rng, 0.1+rng.Float64())
		s.Ratio = spread(rng, math.Exp(rng.NormFloat64()))
		s.LogRatio = []float32{float32(math.Log(s.Ratio[0])), float32(math.Log(s.Ratio[1]))}
		s.Seen, s.Bits, s.Factor, s.Expand = "bilinear", 1+rng.IntN(8), rng.NormFloat64(), rng.IntN(2) == 0
		s.Distortion = rng.Float64() * 1.1
		s.Degrees = spread(rng, float64(45*rng.IntN(20)-360))
		for _, some := range []*[]float64{&s.Translate, &s.Center} {
			if rng.IntN(2) == 0 {
				*some = []float64{rng.Float64(), rng.Float64()}
			}
		}
		if rng.IntN(2) == 0 {
			s.Shear = slices.Concat(spread(rng, rng.NormFloat64()), spread(rng, rng.NormFloat64()))[:2+2*rng.IntN(2)]
		}
		s.Numbers = randomNumbers(rng, s.Op)
		if s.Op == "augmix" {
			s.Chains, s.Depth, s.Alpha = 1+rng.IntN(MaxChains), rng.IntN(MaxDepth+1), float32(math.Exp(rng.NormFloat64()))
			s.Operations = 9 + 4*rng.IntN(2)
			s.Numbers = make([]float64, 12*s.Operations*(1+rng.IntN(10)))
		}
		for _, factor := range []*[]float64{&s.Brightness, &s.Contrast, &s.Saturation, &s.Hue} {
			if s.Op == "photometric_distort" || rng.IntN(2) == 0 {
				*factor = spread(rng, rng.NormFloat64())
			}
		}
		if s.Op == "random_apply" && rng.IntN(4) > 0 {
			s.Steps = randomSteps(rng, depth+2)
		}
		if s.Op == "random_choice" || s.Op == "random_order" {
			for range 1 + rng.IntN(4) {
				s.Members, s.Numbers = append(s.Members, randomSteps(rng, depth+3)), append(s.Numbers, rng.Float64())
			}
			if s.Version == "v1" {
				slices.Sort(s.Numbers)
			}
		}
		steps[i] = s
	}
	return steps
}

// randomNumbers are the magnitudes or policies of an augmentation.
func randomNumbers(rng *rand.Rand, op string) (numbers []float64) {
	switch op {
	case "trivial_augment":
		numbers = make([]float64, Space*(1+rng.IntN(40)))
	case "rand_augment":
		numbers = make([]float64, Space)
	case "auto_augment":
		for range 1 + rng.IntN(30) {
			for range 2 {
				numbers = append(numbers, float64(rng.IntN(Space+1)), rng.Float64(), float64(1+rng.IntN(8)))
			}
		}
		return numbers
	}
	for i := range numbers {
		numbers[i] = 1 + 7*rng.Float64()
	}
	return numbers
}

// randomPlan has numbers made where something is erased.
func randomPlan(rng *rand.Rand) []Step {
	plan := randomSteps(rng, 0)
	if rng.IntN(2) > 0 {
		plan = slices.Insert(plan, rng.IntN(len(plan)+1), Step{Op: "to_uint8"})
	}
	return plan
}

// spread is a range from low on, at times a single point.
func spread(rng *rand.Rand, low float64) []float64 {
	return []float64{low, low + float64(rng.IntN(3))*rng.Float64()}
}

func randomSize(rng *rand.Rand) Size {
	bound := []int{4, 50, 600, 5000, math.MaxInt32}[rng.IntN(5)]
	return Size{int32(rng.IntN(bound)), int32(rng.IntN(bound))}
}

// compare runs C and Go over the same call and its continuations, and says whether the plan was accepted.
func compare(t *testing.T, rng *rand.Rand, plan []Step) bool {
	t.Helper()
	steps, _, err := Compile(plan)
	if err != nil {
		return false
	}
	defer steps.Free()
	words := steps.Words()
	sizes := make([]Size, rng.IntN(40)+1)
	samples := make([]Sample, len(sizes))
	for i := range sizes {
		sizes[i] = randomSize(rng)
		samples[i] = Sample{int64(rng.Uint64()), int32(rng.Uint32()), sizes[i]}
	}
	fused, seed, epoch := rng.IntN(2) == 0, rng.Uint64(), rng.Uint64()
	stateC, records := *Seed(seed), make([]int32, len(sizes)*words)
	var pythonC [PythonWords]uint32
	for i := range mtWords {
		pythonC[i] = rng.Uint32()
	}
	pythonC[mtWords] = uint32(rng.IntN(PythonWords))
	var answers []Answer
	for rest, begun := sizes, 0; ; {
		stateGo, pythonGo, twin := stateC, pythonC, slices.Clone(records[begun*words:])
		code, result := drawC(steps, fused, Generators{&stateC, &pythonC}, rest, records[begun*words:], answers)
		codeGo, resultGo := drawTwin(steps, fused, Generators{&stateGo, &pythonGo}, rest, twin, answers)
		if code != codeGo || !reflect.DeepEqual(result, resultGo) {
			t.Fatalf("%+v\nC  %d %+v\nGo %d %+v", plan, code, result, codeGo, resultGo)
		}
		if stateC != stateGo || pythonC != pythonGo || !slices.Equal(records[begun*words:], twin) {
			t.Fatalf("%+v: states equal: %v\nC  %v\nGo %v", plan, stateC == stateGo, records[begun*words:], twin)
		}
		if code == Invalid || code == OK {
			break
		}
		skip := int(result.Done)
		if code == Raises {
			skip++
		} else if answers = append(answers, Answer{result.Ask, float32(math.Exp(float64(result.Ask)))}); len(answers) > 10*len(sizes)*len(steps.steps()) {
			t.Fatal("it goes on asking")
		}
		begun, rest = begun+skip, rest[skip:]
	}
	twin := slices.Clone(records)
	code, result := statelessC(steps, seed, epoch, samples, records)
	codeGo, resultGo := statelessTwin(steps, seed, epoch, samples, twin)
	if code != codeGo || !reflect.DeepEqual(result, resultGo) || !slices.Equal(records, twin) {
		t.Fatalf("stateless %+v\nC  %d %+v %v\nGo %d %+v %v", plan, code, result, records, codeGo, resultGo, twin)
	}
	return true
}

func TestTwins(t *testing.T) {
	rounds := 20000
	if testing.Short() {
		rounds = 1000
	}
	drawn := 0
	for i := range rounds {
		rng := rand.New(rand.NewPCG(uint64(i), 3))
		if compare(t, rng, randomPlan(rng)) {
			drawn++
		}
	}
	if drawn < rounds/4 {
		t.Errorf("only %d of %d plans were accepted", drawn, rounds)
	}
}

// FuzzDraw compares C and Go on any plan that is accepted.
func FuzzDraw(f *testing.F) {
	for seed := range uint64(8) {
		text, _ := json.Marshal(randomPlan(rand.New(rand.NewPCG(seed, 9))))
		f.Add(seed, text)
	}
	f.Fuzz(func(t *testing.T, seed uint64, text []byte) {
		var plan []Step
		if json.Unmarshal(text, &plan) == nil {
			compare(t, rand.New(rand.NewPCG(seed, 4)), plan)
		}
	})
}

// FuzzState feeds both any state.
func FuzzState(f *testing.F) {
	f.Add([]byte{0, 1, 2}, 8)
	f.Fuzz(func(t *testing.T, raw []byte, at int) {
		state := Seed(7)
		if at >= 0 && at < StateBytes {
			copy(state[at:], raw)
		}
		twin, steps := *state, compile(t, Step{Op: "hflip", P: 0.5})
		records, recordsGo := make([]int32, 1300), make([]int32, 1300)
		sizes := slices.Repeat([]Size{{1, 1}}, len(records))
		code, result := drawC(steps, true, Generators{Torch: state}, sizes, records, nil)
		codeGo, resultGo := drawTwin(steps, true, Generators{Torch: &twin}, sizes, recordsGo, nil)
		if code != codeGo || result != resultGo || *state != twin || !slices.Equal(records, recordsGo) {
			t.Fatalf("C %d %+v, Go %d %+v", code, result, codeGo, resultGo)
		}
	})
}
