package draw

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"unsafe"
)

// randomSteps makes plans that mean something, most of them.
func randomSteps(rng *rand.Rand) ([]Step, int) {
	steps, words := make([]Step, rng.IntN(6)+1), rng.IntN(3)
	for i := range steps {
		s := &steps[i]
		s.Kind, s.Record, s.Version = Kind(rng.IntN(int(kinds))), int32(words), int32(rng.IntN(2)+1)
		words += s.Kind.Words()
		s.P = rng.Float64() * 1.1
		s.PadIfNeeded, s.Padded, s.Jitter = int32(rng.IntN(2)), int32(rng.IntN(2)), int32(rng.IntN(16))
		s.Size = [2]int32{int32(rng.IntN(300) + 1), int32(rng.IntN(300) + 1)}
		if s.Kind == Resize && rng.IntN(2) == 0 {
			s.Size[1], s.MaxSize = 0, int32(rng.IntN(3)*400)
			s.Size[0] *= int32(rng.IntN(2))
		}
		for j := range s.Padding {
			s.Padding[j] = int32(rng.IntN(40) * rng.IntN(2))
		}
		if rng.IntN(20) == 0 {
			s.Padding[rng.IntN(4)] = math.MaxInt32
		}
		s.Scale = spread(rng, rng.Float64())
		s.Ratio = spread(rng, math.Exp(rng.NormFloat64()))
		s.LogRatio = [2]float32{float32(math.Log(s.Ratio[0])), float32(math.Log(s.Ratio[1]))}
		for j := range s.Factors {
			s.Factors[j] = spread(rng, rng.NormFloat64())
		}
	}
	for i := range steps {
		steps[i].Inner = int32(rng.IntN(len(steps) - i))
	}
	return steps, words
}

// spread is a range from low on, at times a single point.
func spread(rng *rand.Rand, low float64) [2]float64 {
	return [2]float64{low, low + float64(rng.IntN(3))*rng.Float64()}
}

func randomSize(rng *rand.Rand) Size {
	bound := []int{4, 50, 600, 5000, math.MaxInt32}[rng.IntN(5)]
	return Size{int32(rng.IntN(bound)), int32(rng.IntN(bound))}
}

// compare runs C and Go over the same call and its continuations.
func compare(t *testing.T, rng *rand.Rand, steps []Step, words int) {
	t.Helper()
	sizes := make([]Size, rng.IntN(40)+1)
	samples := make([]Sample, len(sizes))
	for i := range sizes {
		sizes[i] = randomSize(rng)
		samples[i] = Sample{int64(rng.Uint64()), int32(rng.Uint32()), sizes[i]}
	}
	fused, seed, epoch := rng.IntN(2) == 0, rng.Uint64(), rng.Uint64()
	stateC, records := *Seed(seed), make([]int32, len(sizes)*words)
	var answers []Answer
	for rest, begun := sizes, 0; ; {
		stateGo, twin := stateC, slices.Clone(records[begun*words:])
		code, result := drawC(steps, fused, &stateC, rest, words, records[begun*words:], answers)
		codeGo, resultGo := drawTwin(steps, fused, &stateGo, rest, words, twin, answers)
		if code != codeGo || !reflect.DeepEqual(result, resultGo) {
			t.Fatalf("%+v\nC  %d %+v\nGo %d %+v", steps, code, result, codeGo, resultGo)
		}
		if stateC != stateGo || !slices.Equal(records[begun*words:], twin) {
			t.Fatalf("%+v: states equal: %v\nC  %v\nGo %v", steps, stateC == stateGo, records[begun*words:], twin)
		}
		if code == Invalid || code == OK {
			break
		}
		skip := int(result.Done)
		if code == Raises {
			skip++
		} else if answers = append(answers, Answer{result.Ask, float32(math.Exp(float64(result.Ask)))}); len(answers) > 10*len(sizes)*len(steps) {
			t.Fatal("it goes on asking")
		}
		begun, rest = begun+skip, rest[skip:]
	}
	twin := slices.Clone(records)
	code, result := statelessC(steps, seed, epoch, samples, words, records)
	codeGo, resultGo := statelessTwin(steps, seed, epoch, samples, words, twin)
	if code != codeGo || !reflect.DeepEqual(result, resultGo) || !slices.Equal(records, twin) {
		t.Fatalf("stateless %+v\nC  %d %+v %v\nGo %d %+v %v", steps, code, result, records, codeGo, resultGo, twin)
	}
}

func TestTwins(t *testing.T) {
	rounds := 20000
	if testing.Short() {
		rounds = 1000
	}
	drawn := 0
	for i := range rounds {
		rng := rand.New(rand.NewPCG(uint64(i), 3))
		steps, words := randomSteps(rng)
		if code, _ := Check(steps, words); code == OK {
			drawn++
		}
		compare(t, rng, steps, words)
	}
	if drawn < rounds/2 {
		t.Errorf("only %d of %d plans were accepted", drawn, rounds)
	}
}

// FuzzDraw compares C and Go on plans that are any bytes, laid over plans that mean something.
func FuzzDraw(f *testing.F) {
	f.Add(uint64(1), []byte{})
	f.Add(uint64(2), make([]byte, 400))
	f.Fuzz(func(t *testing.T, seed uint64, raw []byte) {
		rng := rand.New(rand.NewPCG(seed, 4))
		steps, words := randomSteps(rng)
		bytes := unsafe.Slice((*byte)(unsafe.Pointer(&steps[0])), len(steps)*int(unsafe.Sizeof(Step{})))
		for i := range min(len(raw), len(bytes)) {
			bytes[i] ^= raw[i]
		}
		compare(t, rng, steps, words)
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
		twin, steps := *state, []Step{{Kind: HFlip, P: 0.5}}
		records, recordsGo := make([]int32, 1300), make([]int32, 1300)
		sizes := slices.Repeat([]Size{{1, 1}}, len(records))
		code, result := drawC(steps, true, state, sizes, 1, records, nil)
		codeGo, resultGo := drawTwin(steps, true, &twin, sizes, 1, recordsGo, nil)
		if code != codeGo || result != resultGo || *state != twin || !slices.Equal(records, recordsGo) {
			t.Fatalf("C %d %+v, Go %d %+v", code, result, codeGo, resultGo)
		}
	})
}
