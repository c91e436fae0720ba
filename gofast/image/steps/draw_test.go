package steps_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/gofast-org/gofast/gofast/image/steps"
	"github.com/gofast-org/gofast/gofast/image/steps/stepstest"
	"github.com/gofast-org/gofast/gofast/internal/errs"
)

// goldenCase is what torch 2.15 and torchvision 0.29 drew: a seed's draws never change. Python's tests compare with torchvision itself.
type goldenCase struct {
	Steps        []steps.Step
	Words        int
	Seed         uint64
	Burn         int
	Sizes        [][2]int32
	Records      [][]int32
	Error        string
	State        string
	Python       []uint32 // before and behind, where that is drawn from
	PythonBehind []uint32
}

func compile(t testing.TB, plan ...steps.Step) steps.List {
	t.Helper()
	l, _, err := steps.Compile(plan)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Free)
	return l
}

func fingerprint(state *[stepstest.StateBytes]byte) string {
	sum := sha256.Sum256(state[:])
	return hex.EncodeToString(sum[:8])
}

type goldenCases struct{ Fused, Plain []goldenCase }

func readGolden(t testing.TB) (golden goldenCases) {
	t.Helper()
	text, err := os.ReadFile("testdata/golden.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &golden); err != nil {
		t.Fatal(err)
	}
	return golden
}

func TestGolden(t *testing.T) {
	golden := readGolden(t)
	if len(golden.Fused) < 30 || len(golden.Plain) < 6 {
		t.Fatal("cases are missing")
	}
	flip := compile(t, steps.Step{"op": "hflip", "p": 0})
	for i, c := range slices.Concat(golden.Fused, golden.Plain) {
		l := compile(t, c.Steps...)
		if l.Words() != c.Words {
			t.Fatalf("case %d: a record of %d words, want %d", i, l.Words(), c.Words)
		}
		fused := i < len(golden.Fused)
		state := stepstest.Seed(c.Seed)
		stepstest.Draw(flip, fused, stepstest.Generators{Torch: state}, slices.Repeat([]stepstest.Size{{1, 1}}, c.Burn), make([]int32, c.Burn), nil)

		sizes := make([]stepstest.Size, len(c.Sizes))
		for i, s := range c.Sizes {
			sizes[i] = stepstest.Size{s[0], s[1]}
		}
		records := make([]int32, len(sizes)*c.Words)
		from := stepstest.Generators{Torch: state}
		if c.Python != nil {
			from.Python = new([stepstest.PythonWords]uint32(c.Python))
		}
		code, result := stepstest.Draw(l, fused, from, sizes, records, nil)
		want := stepstest.OK
		if c.Error != "" {
			want = stepstest.Raises
		}
		name := fmt.Sprintf("case %d", i)
		if code != want || result.Text != c.Error || int(result.Done) != len(c.Records) {
			t.Errorf("%s: code %d, %+v; torchvision drew %d samples and said %q", name, code, result, len(c.Records), c.Error)
		}
		for j, record := range c.Records {
			if got := records[j*c.Words : (j+1)*c.Words]; !slices.Equal(got, record) {
				t.Errorf("%s, sample %d: %v, want %v", name, j, got, record)
			}
		}
		if got := fingerprint(state); got != c.State {
			t.Errorf("%s: the state differs from torch's", name)
		}
		if c.Python != nil && !slices.Equal(from.Python[:], c.PythonBehind) {
			t.Errorf("%s: the state differs from Python's", name)
		}
	}
}

// A box of 1.5 pixels depends on torch's exp: the call stops where it was before the
// sample, and goes on with the answer.
func TestAsk(t *testing.T) {
	flip := steps.Step{"op": "hflip", "p": 0.5}
	crop := steps.Step{"op": "random_resized_crop", "filter": "box", "size": []int{8, 8}, "scale": []float64{0.25, 0.25}, "ratio": []float64{1, 1}, "log_ratio": []float32{0, 0}}
	first, steps := compile(t, flip), compile(t, flip, crop)
	sizes := []stepstest.Size{{4, 4}, {3, 3}, {8, 8}}
	start := stepstest.Seed(1)
	// So that the asking sample lies across the end of a block of words.
	stepstest.Draw(first, true, stepstest.Generators{Torch: start}, slices.Repeat([]stepstest.Size{{1, 1}}, 617), make([]int32, 617), nil)
	state, behindFirst := *start, *start
	code, result := stepstest.Draw(steps, true, stepstest.Generators{Torch: &state}, sizes, make([]int32, 15), nil)
	if code != stepstest.Ask || result.Done != 1 || result.Ask != 0 || result.Step != 1 {
		t.Fatalf("code %d, %+v", code, result)
	}
	stepstest.Draw(steps, true, stepstest.Generators{Torch: &behindFirst}, sizes[:1], make([]int32, 5), nil)
	if state != behindFirst {
		t.Fatalf("the state is not the one behind the first sample")
	}
	// 1.5 rounds to even, a little less does not.
	for value, side := range map[float32]int32{1: 2, 1 - 0x1p-24: 1} {
		again, rest := state, make([]int32, 10)
		code, result = stepstest.Draw(steps, true, stepstest.Generators{Torch: &again}, sizes[1:], rest, []stepstest.Answer{{0.5, 3}, {0, value}})
		if code != stepstest.OK || result.Done != 2 || rest[4] != side {
			t.Errorf("exp %v: code %d, %+v, record %v", value, code, result, rest)
		}
		atOnce, whole := *start, make([]int32, 15)
		stepstest.Draw(steps, true, stepstest.Generators{Torch: &atOnce}, sizes, whole, []stepstest.Answer{{0, value}})
		if !slices.Equal(whole[5:], rest) || atOnce != again {
			t.Errorf("answered at once %v, answered later %v", whole[5:], rest)
		}
	}
}

// An asking sample gives back what it drew from Python's random too.
func TestAskOfPython(t *testing.T) {
	order := steps.Step{"op": "random_order", "version": "v1", "members": make([][]steps.Step, 20)}
	crop := steps.Step{"op": "random_resized_crop", "filter": "box", "size": []int{8, 8}, "scale": []float64{0.25, 0.25}, "ratio": []float64{1, 1}, "log_ratio": []float32{0, 0}}
	steps := compile(t, order, crop)
	python, state := [stepstest.PythonWords]uint32{1, 2, 3, stepstest.PythonWords - 1: 610}, *stepstest.Seed(1)
	left, asked := python, state
	code, result := stepstest.Draw(steps, true, stepstest.Generators{Torch: &asked, Python: &left}, []stepstest.Size{{3, 3}}, make([]int32, 24), nil)
	if code != stepstest.Ask || left != python || asked != state {
		t.Fatalf("code %d, %+v; drawn from torch: %v, from Python: %v", code, result, asked != state, left != python)
	}
	code, result = stepstest.Draw(steps, true, stepstest.Generators{Torch: &asked, Python: &left}, []stepstest.Size{{3, 3}}, make([]int32, 24), []stepstest.Answer{{0, 1}})
	if code != stepstest.OK || left == python {
		t.Errorf("code %d, %+v; drawn from Python: %v", code, result, left != python)
	}
	if code, _ := stepstest.Draw(steps, true, stepstest.Generators{Torch: &asked}, nil, nil, nil); code != stepstest.Invalid {
		t.Errorf("draws without Python's random")
	}
	left[stepstest.PythonWords-1] = stepstest.PythonWords
	if code, _ := stepstest.Draw(steps, true, stepstest.Generators{Torch: &asked, Python: &left}, nil, nil, nil); code != stepstest.Invalid {
		t.Errorf("a broken state of Python's is taken")
	}
}

func TestRefused(t *testing.T) {
	usual := map[string]steps.Step{}
	for _, s := range []steps.Step{
		{"op": "random_resized_crop", "filter": "box", "size": []int{8, 8}, "scale": []float64{0.1, 1}, "ratio": []float64{0.5, 2}, "log_ratio": []float32{-1, 1}},
		{"op": "hflip", "p": 0.5}, {"op": "random_apply", "p": 0.5, "steps": []steps.Step{}}, {"op": "random_order", "members": make([][]steps.Step, 3)},
		{"op": "random_choice", "members": make([][]steps.Step, 2), "numbers": []float64{1, 2}}, {"op": "center_crop", "size": []int{4, 4}},
		{"op": "pad", "padding": []int{1, 1, 1, 1}, "mode": "edge", "fill": []int{0, 0, 0}}, {"op": "resize", "size": []int{9}, "filter": "box"},
		{"op": "color_jitter", "hue": []float64{0, 0.1}}, {"op": "grayscale", "channels": 3}, {"op": "random_solarize", "p": 1, "threshold": 256},
		{"op": "gaussian_blur", "kernel": []int{3, 5}, "sigma": []float64{1, 2}}, {"op": "random_rotation", "degrees": []int{0, 1}, "tensor": true, "seen": "nearest"},
		{"op": "random_perspective", "p": 1, "distortion": 1, "seen": "nearest", "fill": []int{0, 0, 0}}, {"op": "random_resize", "size": []int{3, 9}, "filter": "box"},
		{"op": "random_shortest_size", "sides": []int{3, 9}, "filter": "box"}, {"op": "rand_augment", "tensor": true, "seen": "nearest", "numbers": slices.Repeat([]int{1}, 14)},
		{"op": "auto_augment", "tensor": true, "seen": "nearest", "numbers": []float64{0, 0.5, 0, 10, 1, 8}},
		{"op": "augmix", "tensor": true, "seen": "nearest", "chains": 3, "depth": 0, "alpha": 1, "operations": 9, "numbers": slices.Repeat([]int{1}, 108)},
	} {
		compile(t, s)
		usual[s["op"].(string)] = s
	}
	for text, change := range map[string]steps.Step{ // of the usual step its first words name
		"shear: no such operation":                                        {},
		"member: no such operation":                                       {},
		"hflip: p is missing":                                             {"p": nil},
		"hflip: p -1 is not within 0..1e+09":                              {"p": -1},
		"hflip: p NaN is not within 0..1e+09":                             {"p": math.NaN()},
		"hflip: p [1 2] has 2 numbers instead of 1":                       {"p": []int{1, 2}},
		"hflip: p half is not of numbers":                                 {"p": "half"},
		"hflip: it has no size":                                           {"size": []int{1, 1}},
		"hflip: version v3 is unknown":                                    {"version": "v3"},
		"random_apply: steps hflip is no list of steps":                   {"steps": "hflip"},
		"random_choice: members [] are not 1 to 64 lists of steps":        {"members": [][]steps.Step{}},
		"random_order: it has no numbers":                                 {"numbers": []int{1}},
		"random_choice: numbers are not the members' chances":             {"numbers": []float64{0, 0}},
		"random_choice: numbers [NaN 1] is not within 0..1e+09":           {"numbers": []float64{math.NaN(), 1}},
		"random_choice: numbers: a sum of chances falls":                  {"numbers": []float64{2, 1}},
		"pad: padding [0 0 0 -1] is not within 0..32768":                  {"padding": []int{0, 0, 0, -1}},
		"pad: mode mirror is unknown":                                     {"mode": "mirror"},
		"center_crop: size [1 0] is not within 1..32768":                  {"size": []int{1, 0}},
		"center_crop: size [1.5 1] is not within 1..32768":                {"size": []float64{1.5, 1}},
		"resize: size and max_size do not go together":                    {"size": []int{}},
		"resize: max_size must be greater than the short side":            {"max_size": 9},
		"resize: max_size -1 is not within 0..32768":                      {"max_size": -1},
		"resize: filter sinc is unknown":                                  {"filter": "sinc"},
		"random_resized_crop: scale [2 1] is not a range":                 {"scale": []int{2, 1}},
		"random_resized_crop: ratio [0 2] is not within 1e-09..1e+09":     {"ratio": []int{0, 2}},
		"random_resized_crop: log_ratio [-1 NaN] is not within -40..40":   {"log_ratio": []float64{-1, math.NaN()}},
		"random_resized_crop: log_ratio is missing":                       {"log_ratio": nil},
		"random_resized_crop: size [8] has 1 numbers instead of 2":        {"size": []int{8}},
		"color_jitter: hue [2 1] is not a range":                          {"hue": []int{2, 1}},
		"color_jitter: hue is not within -0.5..0.5":                       {"hue": []int{0, 1}, "tensor": true},
		"random_rotation: expand: a tensor does not":                      {"expand": true},
		"random_rotation: seen: a tensor is not sampled so":               {"seen": "bicubic"},
		"random_rotation: fill is missing":                                {"tensor": false},
		"grayscale: channels are neither 1 nor 3":                         {"channels": 2},
		"random_solarize: threshold 257 is not within 0..256":             {"threshold": 257},
		"gaussian_blur: kernel is not odd":                                {"kernel": []int{3, 4}},
		"gaussian_blur: sigma [0 1] is not within 1e-09..1e+09":           {"sigma": []int{0, 1}},
		"random_perspective: distortion NaN is not within 0..1":           {"distortion": math.NaN()},
		"random_resize: size is not a range":                              {"size": []int{9, 9}},
		"random_shortest_size: sides are none":                            {"sides": []int{}},
		"rand_augment: numbers are not as many of each operation":         {"numbers": slices.Repeat([]int{1}, 28)},
		"rand_augment: numbers: a magnitude is out of range":              {"numbers": slices.Repeat([]int{9}, 14)},
		"auto_augment: numbers are no policies":                           {"numbers": []int{0, 0, 0}},
		"auto_augment: numbers: an operation of a policy is none":         {"numbers": []float64{0, 0.5, 0, 15, 1, 8}},
		"augmix: operations are neither all nor all but those of colours": {"operations": 10},
		"augmix: alpha is not above 0":                                    {"alpha": 0},
		"augmix: numbers are not those of each magnitude":                 {"numbers": []int{1}},
	} {
		op, _, _ := strings.Cut(text, ":")
		step := maps.Clone(usual[op])
		if step == nil {
			step = steps.Step{"op": op}
		}
		maps.Copy(step, change)
		if _, _, err := steps.Compile([]steps.Step{step}); !errors.Is(err, errs.ErrConfig) || !strings.Contains(err.Error(), text) {
			t.Errorf("%v, want %q", err, text)
		}
	}
	const left, seeded, next = 8, 12, 16 // of a state image: draw.h
	for _, place := range []int{left + 1, left + 3, seeded, next + 2, next + 7} {
		state := stepstest.Seed(0)
		state[place] ^= 0x80
		if code, _ := stepstest.Draw(compile(t, usual["hflip"]), true, stepstest.Generators{Torch: state}, nil, nil, nil); code != stepstest.Invalid {
			t.Errorf("a state with a broken byte %d is taken", place)
		}
	}
}

// The known answers of the paper's own library (Random123, kat_vectors).
func TestPhilox(t *testing.T) {
	for _, known := range [][10]uint32{
		{0, 0, 0, 0, 0, 0, 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8},
		{1<<32 - 1, 1<<32 - 1, 1<<32 - 1, 1<<32 - 1, 1<<32 - 1, 1<<32 - 1, 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd},
		{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344, 0xa4093822, 0x299f31d0, 0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1},
	} {
		if got := stepstest.Philox([4]uint32(known[:4]), [2]uint32(known[4:6])); got != [4]uint32(known[6:]) {
			t.Errorf("philox of %x is %x", known[:6], got)
		}
	}
}

// usual is what most training scripts have.
var usual = []steps.Step{
	{"op": "random_resized_crop", "filter": "bilinear", "size": []int{224, 224}, "scale": []float64{0.08, 1}, "ratio": []float64{0.75, 4. / 3},
		"log_ratio": []float32{-0.28768207, 0.28768207}},
	{"op": "hflip", "p": 0.5},
}

// The stateless records are a promise to everybody who kept a seed: this must not change.
func TestStatelessStays(t *testing.T) {
	steps := compile(t, usual...)
	samples := []stepstest.Sample{{Size: stepstest.Size{500, 375}}, {Occurrence: 1, Size: stepstest.Size{500, 375}}, {Index: 1 << 40, Size: stepstest.Size{500, 375}}}
	want := [2][]int32{
		{97, 111, 203, 152, 1, 16, 75, 326, 347, 0, 106, 25, 131, 172, 0},
		{14, 157, 288, 237, 0, 4, 30, 345, 459, 1, 62, 80, 311, 319, 1},
	}
	for epoch := range uint64(2) {
		records := make([]int32, 5*len(samples))
		if code, result := stepstest.Stateless(steps, 42, epoch, samples, records); code != stepstest.OK || result.Done != 3 {
			t.Fatalf("code %d, %+v", code, result)
		}
		if !slices.Equal(records, want[epoch]) {
			t.Errorf("epoch %d: %v, want %v", epoch, records, want[epoch])
		}
		// A sample's record does not depend on its neighbours.
		stepstest.Stateless(steps, 42, epoch, samples[2:], records[:5])
		if !slices.Equal(records[:5], want[epoch][10:]) {
			t.Errorf("alone %v, with others %v", records[:5], want[epoch][10:])
		}
	}
}

func TestFused(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200000 {
		x, y := rng.Float32(), float32(rng.NormFloat64())
		z := float32(rng.NormFloat64() * math.Pow(2, float64(rng.IntN(60)-30)))
		exact := new(big.Float).SetPrec(300).Mul(big.NewFloat(float64(x)), big.NewFloat(float64(y)))
		want, _ := exact.SetPrec(300).Add(exact, big.NewFloat(float64(z))).Float32()
		if got := stepstest.Fused(x, y, z); got != want {
			t.Fatalf("%v * %v + %v = %v, want %v", x, y, z, got, want)
		}
	}
}

func TestExponential(t *testing.T) {
	for x := -40.0; x <= 40; x += 0.00137 {
		if got, want := stepstest.Exponential(x), math.Exp(x); math.Abs(got/want-1) > 0x1p-50 {
			t.Fatalf("exp(%v) = %v, want %v", x, got, want)
		}
	}
}

func TestIsFused(t *testing.T) {
	for value, want := range map[float32][2]bool{0x1.8dd5b6p-1: {true, true}, 0x1.8dd5b4p-1: {false, true}, 0.5: {false, false}} {
		if fused, known := steps.IsFused(value); fused != want[0] || known != want[1] {
			t.Errorf("%v: %v, %v", value, fused, known)
		}
		if got := stepstest.FirstUniform(1, want[0]); want[1] && got != value {
			t.Errorf("seed 1 gives %x, want %x", got, value)
		}
	}
}
