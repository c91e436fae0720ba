package image

import (
	"encoding/json"
	stdimage "image"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"github.com/gofast-org/gofast/gofast/image/steps/stepstest"
	"github.com/gofast-org/gofast/gofast/numbers"
)

var options = Options{PassOrder: "13", MaxPixels: maxPixels, MaxFileBytes: 1 << 30}

func noise(r *rand.Rand, width, height int) *stdimage.RGBA {
	picture := stdimage.NewRGBA(stdimage.Rect(0, 0, width, height))
	for i := range picture.Pix {
		picture.Pix[i] = byte(r.Uint32())
	}
	return picture
}

func sizeOf(picture *stdimage.RGBA) stepstest.Size {
	return stepstest.Size{int32(picture.Rect.Dx()), int32(picture.Rect.Dy())}
}

// TestFusedAgreesWithSteps compares samples of random plans, to the last bit, with what comes of the same steps one
// after the other, each of which makes a whole picture.
func TestFusedAgreesWithSteps(t *testing.T) {
	made := 0
	for seed := range uint64(1500) {
		r := rand.New(rand.NewPCG(seed, 7))
		plan, picture := randomPlan(r), noise(r, 1+r.IntN(70), 1+r.IntN(70))
		text, _ := json.Marshal(plan)
		p := compiled(t, plan)
		if record, ok := drawn(p, seed, picture); ok { // a resize may leave nothing
			got, err := sampleOf(t, plan, picture, record)
			if err != nil {
				t.Fatalf("seed %d: %v: %s", seed, err, text)
			}
			if want := stepByStep(t, plan, picture, record); !slices.Equal(got, want) {
				t.Fatalf("seed %d, %v: another sample than step by step: %s", seed, picture.Rect, text)
			}
			made++
		}
		p.Free()
	}
	if made < 1300 {
		t.Errorf("only %d of 1500 were made", made)
	}
}

// stepByStep is a sample for which each step up to the numbers, and to pictures that are no longer RGB, is a plan of its own.
func stepByStep(t *testing.T, plan Plan, picture *stdimage.RGBA, record []int32) []byte {
	last := func(s Step) bool {
		return slices.Contains([]string{"to_uint8", "to_float", "five_crop", "ten_crop"}, s["op"].(string)) || s["channels"] == 1
	}
	for !last(plan.Steps[0]) {
		first := Plan{Steps: plan.Steps[:1]}
		p := compiled(t, first)
		sample, err := sampleOf(t, first, picture, record[:p.steps().Words()])
		if err != nil {
			t.Fatalf("%+v: %v", first, err)
		}
		made := (*madePicture)(unsafe.Pointer(unsafe.SliceData(sample)))
		size := stdimage.Rect(0, 0, int(made.width), int(made.height))
		picture = &stdimage.RGBA{Pix: unsafe.Slice(made.data, 4*size.Dx()*size.Dy()), Stride: 4 * size.Dx(), Rect: size} // not freed
		plan.Steps, record = plan.Steps[1:], record[p.steps().Words():]
		p.Free()
	}
	sample, err := sampleOf(t, plan, picture, record)
	if err != nil {
		t.Fatalf("%+v: %v", plan, err)
	}
	return sample
}

func TestPictures(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	picture := noise(r, 9, 5)
	sample, err := sampleOf(t, Plan{Steps: []Step{{"op": "hflip", "p": 1}}}, picture, []int32{1})
	if err != nil {
		t.Fatal(err)
	}
	out := (*madePicture)(unsafe.Pointer(unsafe.SliceData(sample)))
	if out.width != 9 || out.height != 5 {
		t.Fatalf("a picture of %d x %d", out.width, out.height)
	}
	for y := range 5 {
		for x := range 9 {
			a, b := picture.RGBAAt(x, y), unsafe.Slice(out.data, 4*45)[4*(y*9+8-x):]
			if a.R != b[0] || a.G != b[1] || a.B != b[2] || b[3] != 255 {
				t.Fatalf("pixel %d, %d is %v instead of %v", x, y, b[:4], a)
			}
		}
	}
}

// madePicture is a gf_made_picture, which tests do not free.
type madePicture struct {
	data          *byte
	width, height int32
}

// TestRefusedPlans are plans that Python's compiler never makes.
func TestRefusedPlans(t *testing.T) {
	tensor := Output{DType: numbers.Float32, Height: 4, Width: 4, Channels: 3}
	float, erase := Step{"op": "to_float", "how": "divide"}, Step{"op": "random_erasing", "p": 1, "value": []int{0, 0, 0}}
	erase = randomBox(rand.New(rand.NewPCG(1, 1)), erase)
	normal := Step{"op": "normalize", "mean": []float32{0}, "std": []float32{1}}
	deep := Step{"op": "hflip", "p": 1}
	for range 200 {
		deep = Step{"op": "random_apply", "version": "v1", "p": 1, "steps": []Step{deep}}
	}
	ordered := deep
	for range 200 {
		ordered = Step{"op": "random_order", "version": "v2", "members": [][]Step{{ordered}}}
	}
	for name, plan := range map[string]Plan{
		"unknown":         {Steps: []Step{{"op": "sharpen"}}},
		"no size":         {Steps: []Step{{"op": "center_crop"}}},
		"huge":            {Steps: []Step{{"op": "resize", "size": []int{1 << 20}, "filter": "box"}}},
		"huge longest":    {Steps: []Step{{"op": "resize", "size": []int{9}, "max_size": 1 << 20, "filter": "box"}}},
		"filter":          {Steps: []Step{{"op": "resize", "size": []int{9}, "filter": "sinc"}}},
		"negative":        {Steps: []Step{{"op": "pad", "padding": []int{-1, 0, 0, 0}, "fill": []int{0, 0, 0}, "mode": "edge"}}},
		"factor":          {Steps: []Step{{"op": "color_jitter", "brightness": []float64{0, 1e8}}}},
		"how":             {Steps: []Step{{"op": "to_float", "how": "squeeze"}}, Output: tensor},
		"erase early":     {Steps: []Step{erase, float}, Output: tensor},
		"normalize twice": {Steps: []Step{float, normal, normal}, Output: tensor},
		"normalize some":  {Steps: []Step{float, {"op": "random_apply", "version": "v1", "p": 1, "steps": []Step{normal}}}, Output: tensor},
		"normalize one":   {Steps: []Step{float, {"op": "random_choice", "version": "v2", "numbers": []float64{1}, "members": [][]Step{{normal}}}}, Output: tensor},
		"normalize late":  {Steps: []Step{float, erase, normal}, Output: tensor},
		"nine erasures":   {Steps: append([]Step{float}, slices.Repeat([]Step{erase}, 9)...), Output: tensor},
		"crop a tensor":   {Steps: []Step{float, {"op": "center_crop", "size": []int{4, 4}}}, Output: tensor},
		"too deep":        {Steps: []Step{deep}},
		"nested too deep": {Steps: []Step{ordered}},
		"a member":        {Steps: []Step{{"op": "member", "steps": []Step{{"op": "hflip"}}}}},
		"no output":       {Steps: []Step{float}},
		"wrong output":    {Steps: []Step{float}, Output: Output{DType: numbers.Uint8, Height: 4, Width: 4, Channels: 3}},
		"means":           {Steps: []Step{float, {"op": "normalize", "mean": []float32{0, 0, 0}, "std": []float32{1, 1, 1}}}, Output: Output{DType: numbers.Float32, Height: 4, Width: 4, Channels: 1}},
		"raw bytes":       {Steps: []Step{{"op": "to_uint8"}}, Output: Output{DType: numbers.Uint8, Height: 4, Width: 4, Channels: 3, Raw: true}},
		"raw picture":     {Output: Output{Raw: true}},
	} {
		if p, err := NewProgram(plan, Files{}, options); err == nil {
			p.Free()
			t.Errorf("%s: no error", name)
		}
	}
}

// hostile runs a plan with a record that nobody drew: an error, or a sample,
// but nothing outside of its memory (make test-asan looks).
func hostile(t *testing.T, plan Plan, picture *stdimage.RGBA, words []byte) {
	p, err := NewProgram(plan, Files{}, options)
	if err != nil {
		return
	}
	defer p.Free()
	record := make([]int32, p.steps().Words())
	copy(unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(record))), 4*len(record)), words)
	_, _ = sampleOf(t, plan, picture, record) // either will do
}

func FuzzRecord(f *testing.F) {
	f.Add(uint64(1), uint8(9), uint8(5), []byte{1, 0, 0, 0, 255, 255, 255, 127, 4})
	f.Add(uint64(12), uint8(60), uint8(1), []byte{0, 0, 0, 128, 0, 0, 192, 127, 255, 255, 255, 255})
	f.Fuzz(func(t *testing.T, seed uint64, width, height uint8, words []byte) {
		r := rand.New(rand.NewPCG(seed, 3))
		hostile(t, randomPlan(r), noise(r, 1+int(width%80), 1+int(height%80)), words)
	})
}

func TestHostileRecords(t *testing.T) {
	turns := 3000
	if testing.Short() {
		turns = 500
	}
	edges := []uint32{0, 1, 2, 40, 0x7fffffff, 0x80000000, 0xffffffff, 0x7fc00000, 0x7f800000, 0x3f800000}
	for seed := range uint64(turns) {
		r := rand.New(rand.NewPCG(seed, 5))
		var words []byte
		for range 60 {
			word := edges[r.IntN(len(edges))]
			words = append(words, byte(word), byte(word>>8), byte(word>>16), byte(word>>24))
		}
		hostile(t, randomPlan(r), noise(r, 1+r.IntN(70), 1+r.IntN(70)), words)
	}
}

func FuzzPlan(f *testing.F) {
	for seed := range uint64(8) {
		text, _ := json.Marshal(randomPlan(rand.New(rand.NewPCG(seed, 9))))
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var plan Plan
		if json.Unmarshal(text, &plan) != nil || plan.Output.Height*plan.Output.Width > 1<<16 {
			return
		}
		p, err := NewProgram(plan, Files{}, options)
		if err != nil {
			return
		}
		defer p.Free()
		picture := noise(rand.New(rand.NewPCG(1, 1)), 20, 15)
		if records, ok := drawn(p, 1, picture); ok && pixelsOf(plan.Steps) < 2000 && plan.Output.Height > 0 {
			_, _ = sampleOf(t, plan, picture, records)
		}
	})
}

// pixels bounds what steps can make of a small picture, roughly.
func pixels(value any) (sum float64) {
	switch v := value.(type) {
	case float64:
		return math.Abs(v)
	case []any:
		for _, each := range v {
			sum += pixels(each)
		}
	case map[string]any:
		for _, name := range []string{"padding", "size", "max_size", "scale", "sides", "steps", "members"} {
			sum += pixels(v[name])
		}
	}
	return sum
}

func pixelsOf(steps []Step) (sum float64) {
	for _, s := range steps {
		sum += pixels(map[string]any(s))
	}
	return sum
}
