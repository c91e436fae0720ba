package steps

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/gofast-org/gofast/gofast/image/pixel"
)

// goldenCase is what torch and torchvision drew; see testdata/make_golden.py.
type goldenCase struct {
	Steps        []Step
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

// The torch generator and the stateless one, in C and in Go.
var engines = []struct {
	name      string
	draw      func(List, bool, Generators, []Size, []int32, []Answer) (Code, Result)
	stateless func(List, uint64, uint64, []Sample, []int32) (Code, Result)
}{{"C", drawC, statelessC}, {"Go", drawTwin, statelessTwin}}

func compile(t testing.TB, plan ...Step) List {
	t.Helper()
	l, _, err := Compile(plan)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Free)
	return l
}

func fingerprint(state *[StateBytes]byte) string {
	sum := sha256.Sum256(state[:])
	return hex.EncodeToString(sum[:8])
}

func TestGolden(t *testing.T) {
	text, err := os.ReadFile("testdata/golden.json")
	if err != nil {
		t.Fatal(err)
	}
	var golden struct{ Fused, Plain []goldenCase }
	if err := json.Unmarshal(text, &golden); err != nil {
		t.Fatal(err)
	}
	if len(golden.Fused) < 30 || len(golden.Plain) < 6 {
		t.Fatal("cases are missing")
	}
	flip := compile(t, Step{Op: "hflip"})
	for i, c := range slices.Concat(golden.Fused, golden.Plain) {
		l := compile(t, c.Steps...)
		if l.Words() != c.Words {
			t.Fatalf("case %d: a record of %d words, want %d", i, l.Words(), c.Words)
		}
		for _, engine := range engines {
			fused := i < len(golden.Fused)
			state := Seed(c.Seed)
			engine.draw(flip, fused, Generators{Torch: state}, slices.Repeat([]Size{{1, 1}}, c.Burn), make([]int32, c.Burn), nil)

			sizes := make([]Size, len(c.Sizes))
			for i, s := range c.Sizes {
				sizes[i] = Size{s[0], s[1]}
			}
			records := make([]int32, len(sizes)*c.Words)
			from := Generators{Torch: state}
			if c.Python != nil {
				from.Python = new([PythonWords]uint32(c.Python))
			}
			code, result := engine.draw(l, fused, from, sizes, records, nil)
			want := OK
			if c.Error != "" {
				want = Raises
			}
			name := fmt.Sprintf("%s, case %d", engine.name, i)
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
}

// A box of 1.5 pixels hangs on torch's exp: the call stops where it was before the
// sample, and goes on with the answer.
func TestAsk(t *testing.T) {
	flip := Step{Op: "hflip", P: 0.5}
	crop := Step{Op: "random_resized_crop", Filter: "box", Size: []int{8, 8}, Scale: []float64{0.25, 0.25}, Ratio: []float64{1, 1}, LogRatio: []float32{0, 0}}
	first, steps := compile(t, flip), compile(t, flip, crop)
	sizes := []Size{{4, 4}, {3, 3}, {8, 8}}
	for _, engine := range engines {
		start := Seed(1)
		// So that the asking sample lies across the end of a block of words.
		engine.draw(first, true, Generators{Torch: start}, slices.Repeat([]Size{{1, 1}}, 617), make([]int32, 617), nil)
		state, behindFirst := *start, *start
		code, result := engine.draw(steps, true, Generators{Torch: &state}, sizes, make([]int32, 15), nil)
		if code != Ask || result.Done != 1 || result.Ask != 0 || result.Step != 1 {
			t.Fatalf("%s: code %d, %+v", engine.name, code, result)
		}
		engine.draw(steps, true, Generators{Torch: &behindFirst}, sizes[:1], make([]int32, 5), nil)
		if state != behindFirst {
			t.Fatalf("%s: the state is not the one behind the first sample", engine.name)
		}
		// 1.5 rounds to even, a little less does not.
		for value, side := range map[float32]int32{1: 2, 1 - 0x1p-24: 1} {
			again, rest := state, make([]int32, 10)
			code, result = engine.draw(steps, true, Generators{Torch: &again}, sizes[1:], rest, []Answer{{0.5, 3}, {0, value}})
			if code != OK || result.Done != 2 || rest[4] != side {
				t.Errorf("%s: exp %v: code %d, %+v, record %v", engine.name, value, code, result, rest)
			}
			atOnce, whole := *start, make([]int32, 15)
			engine.draw(steps, true, Generators{Torch: &atOnce}, sizes, whole, []Answer{{0, value}})
			if !slices.Equal(whole[5:], rest) || atOnce != again {
				t.Errorf("%s: answered at once %v, answered later %v", engine.name, whole[5:], rest)
			}
		}
	}
}

// An asking sample gives back what it drew from Python's random too.
func TestAskOfPython(t *testing.T) {
	order := Step{Op: "random_order", Version: "v1", Members: make([][]Step, 20)}
	crop := Step{Op: "random_resized_crop", Filter: "box", Size: []int{8, 8}, Scale: []float64{0.25, 0.25}, Ratio: []float64{1, 1}, LogRatio: []float32{0, 0}}
	steps := compile(t, order, crop)
	for _, engine := range engines {
		python, state := [PythonWords]uint32{1, 2, 3, mtWords: 610}, *Seed(1)
		left, asked := python, state
		code, result := engine.draw(steps, true, Generators{&asked, &left}, []Size{{3, 3}}, make([]int32, 24), nil)
		if code != Ask || left != python || asked != state {
			t.Fatalf("%s: code %d, %+v; drawn from torch: %v, from Python: %v", engine.name, code, result, asked != state, left != python)
		}
		code, result = engine.draw(steps, true, Generators{&asked, &left}, []Size{{3, 3}}, make([]int32, 24), []Answer{{0, 1}})
		if code != OK || left == python {
			t.Errorf("%s: code %d, %+v; drawn from Python: %v", engine.name, code, result, left != python)
		}
		if code, _ := engine.draw(steps, true, Generators{Torch: &asked}, nil, nil, nil); code != Invalid {
			t.Errorf("%s: draws without Python's random", engine.name)
		}
		left[mtWords] = PythonWords
		if code, _ := engine.draw(steps, true, Generators{&asked, &left}, nil, nil, nil); code != Invalid {
			t.Errorf("%s: a broken state of Python's is taken", engine.name)
		}
	}
}

func TestRefused(t *testing.T) {
	crop := Step{Op: "random_resized_crop", Filter: "box", Size: []int{8, 8}, Scale: []float64{0.1, 1}, Ratio: []float64{0.5, 2}, LogRatio: []float32{-1, 1}}
	compile(t, crop)
	with := func(change func(s *Step)) Step {
		s := crop
		change(&s)
		return s
	}
	for text, step := range map[string]Step{
		"shear: no such operation":                                        {Op: "shear"},
		"random_apply: p must be a number from 0 on":                      {Op: "random_apply", P: -1},
		"random_choice: 0 members are not 1 to 64":                        {Op: "random_choice"},
		"random_order: 65 members are not 1 to 64":                        {Op: "random_order", Members: make([][]Step, 65)},
		"random_choice: a chance of NaN":                                  {Op: "random_choice", Members: [][]Step{{}}, Numbers: []float64{math.NaN()}},
		"random_choice: chances [0] of 1 members":                         {Op: "random_choice", Members: [][]Step{{}}, Numbers: []float64{0}},
		"random_choice: chances [1 2] of 1 members":                       {Op: "random_choice", Members: [][]Step{{}}, Numbers: []float64{1, 2}},
		"member: it stands alone":                                         {Op: "random_order", Members: [][]Step{{{Op: "member"}}}},
		"hflip: p must be a number from 0 on":                             {Op: "hflip", P: math.NaN()},
		"pad: padding [0 0 0 -1] is not within 0..32768":                  {Op: "pad", Padding: []int{0, 0, 0, -1}},
		"center_crop: size [1 0] is not within 1..32768":                  {Op: "center_crop", Size: []int{1, 0}},
		"resize: size and max_size do not go together":                    {Op: "resize"},
		"resize: max_size must be greater than the short side":            {Op: "resize", Size: []int{9}, MaxSize: 9},
		"random_resized_crop: scale must be a range from 0 on":            with(func(s *Step) { s.Scale = []float64{2, 1} }),
		"random_resized_crop: ratio must be a range above 0":              with(func(s *Step) { s.Ratio = []float64{0, 2} }),
		"random_resized_crop: log_ratio must be a range within -40..40":   with(func(s *Step) { s.LogRatio = []float32{-1, float32(math.NaN())} }),
		"color_jitter: factors [2 1] must be a range within 1000000":      {Op: "color_jitter", Hue: []float64{2, 1}},
		"random_erasing: value []":                                        {Op: "random_erasing", P: 1},
		"color_jitter: hue [0 1] is not within -0.5..0.5":                 {Op: "color_jitter", Tensor: true, Hue: []float64{0, 1}},
		"random_rotation: a tensor that expands":                          {Op: "random_rotation", Tensor: true, Expand: true},
		"random_affine: seen \"bicubic\"":                                 {Op: "random_affine", Tensor: true, Seen: "bicubic", Degrees: []float64{0, 1}},
		"grayscale: 2 channels":                                           {Op: "grayscale", Channels: 2},
		"random_solarize: threshold 257 is not within 0..256":             {Op: "random_solarize", Threshold: 257},
		"gaussian_blur: kernel [3 4] is not odd and within 1..63":         {Op: "gaussian_blur", Kernel: []int{3, 4}, Sigma: []float64{1, 2}},
		"gaussian_blur: sigma [0 1] must be a range above 0":              {Op: "gaussian_blur", Kernel: []int{3, 3}, Sigma: []float64{0, 1}},
		"random_perspective: distortion NaN is not within 0..1":           {Op: "random_perspective", Distortion: math.NaN()},
		"random_crop: mode \"\", fill []":                                 {Op: "random_crop", Size: []int{1, 1}},
		"random_resized_crop: size [8] has 1 numbers":                     with(func(s *Step) { s.Size = s.Size[:1] }),
		"resize: max_size -1 is not within 0..32768":                      {Op: "resize", MaxSize: -1},
		"resize: filter \"sinc\" is unknown":                              {Op: "resize", Size: []int{1}, Filter: "sinc"},
		"random_resized_crop: scale [0.1 1], ratio [0.5 2], log_ratio []": with(func(s *Step) { s.LogRatio = nil }),
	} {
		if _, _, err := Compile([]Step{step}); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%v, want %q", err, text)
		}
	}
	for _, place := range []int{imageLeft + 1, imageLeft + 3, imageSeeded, imageNext + 2, imageNext + 7} {
		for _, engine := range engines {
			state := Seed(0)
			state[place] ^= 0x80
			if code, _ := engine.draw(compile(t, crop), true, Generators{Torch: state}, nil, nil, nil); code != Invalid {
				t.Errorf("%s: a state with a broken byte %d is taken", engine.name, place)
			}
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
		if got := philox([4]uint32(known[:4]), [2]uint32(known[4:6])); got != [4]uint32(known[6:]) {
			t.Errorf("philox of %x is %x", known[:6], got)
		}
	}
}

// usual is what most training scripts have.
var usual = []Step{
	{Op: "random_resized_crop", Filter: "bilinear", Size: []int{224, 224}, Scale: []float64{0.08, 1}, Ratio: []float64{0.75, 4. / 3},
		LogRatio: []float32{-0.28768207, 0.28768207}},
	{Op: "hflip", P: 0.5},
}

// The stateless records are a promise to everybody who kept a seed: this must not change.
func TestStatelessStays(t *testing.T) {
	steps := compile(t, usual...)
	samples := []Sample{{0, 0, Size{500, 375}}, {0, 1, Size{500, 375}}, {1 << 40, 0, Size{500, 375}}}
	want := [2][]int32{
		{97, 111, 203, 152, 1, 16, 75, 326, 347, 0, 106, 25, 131, 172, 0},
		{14, 157, 288, 237, 0, 4, 30, 345, 459, 1, 62, 80, 311, 319, 1},
	}
	for _, engine := range engines {
		for epoch := range uint64(2) {
			records := make([]int32, 5*len(samples))
			if code, result := engine.stateless(steps, 42, epoch, samples, records); code != OK || result.Done != 3 {
				t.Fatalf("%s: code %d, %+v", engine.name, code, result)
			}
			if !slices.Equal(records, want[epoch]) {
				t.Errorf("%s, epoch %d: %v, want %v", engine.name, epoch, records, want[epoch])
			}
			// A sample's record does not depend on its neighbours.
			engine.stateless(steps, 42, epoch, samples[2:], records[:5])
			if !slices.Equal(records[:5], want[epoch][10:]) {
				t.Errorf("%s: alone %v, with others %v", engine.name, records[:5], want[epoch][10:])
			}
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
		if got := pixel.Fused(x, y, z); got != want {
			t.Fatalf("%v * %v + %v = %v, want %v", x, y, z, got, want)
		}
	}
}

func TestExponential(t *testing.T) {
	for x := -40.0; x <= 40; x += 0.00137 {
		if got, want := exponential(x), math.Exp(x); math.Abs(got/want-1) > 0x1p-50 {
			t.Fatalf("exp(%v) = %v, want %v", x, got, want)
		}
	}
}

func TestIsFused(t *testing.T) {
	for value, want := range map[float32][2]bool{0x1.8dd5b6p-1: {true, true}, 0x1.8dd5b4p-1: {false, true}, 0.5: {false, false}} {
		if fused, known := IsFused(value); fused != want[0] || known != want[1] {
			t.Errorf("%v: %v, %v", value, fused, known)
		}
		s := stream{fused: want[0]}
		m, _ := loadMersenne(Seed(1))
		s.next32 = m.next32
		if got := s.uniform(0.08, 1); want[1] && got != value {
			t.Errorf("seed 1 gives %x, want %x", got, value)
		}
	}
}

func BenchmarkDraw(b *testing.B) {
	steps := compile(b, usual...)
	sizes, records := slices.Repeat([]Size{{500, 375}}, 256), make([]int32, 5*256)
	for _, engine := range engines {
		b.Run(engine.name, func(b *testing.B) {
			state, samples, answers := Seed(0), 0, []Answer(nil)
			for b.Loop() {
				code, result := engine.draw(steps, true, Generators{Torch: state}, sizes, records, answers)
				samples += int(result.Done)
				if code == Ask {
					answers = append(answers, Answer{result.Ask, float32(math.Exp(float64(result.Ask)))})
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(samples), "ns/sample")
		})
	}
}
