package image_test

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/gofast-org/gofast/gofast/image"
	"github.com/gofast-org/gofast/gofast/image/lazytest"
	"github.com/gofast-org/gofast/gofast/image/steps"
	"github.com/gofast-org/gofast/gofast/image/steps/stepstest"
	"github.com/gofast-org/gofast/gofast/numbers"
)

func compiled(t *testing.T, plan image.Plan) image.Program {
	t.Helper()
	p, err := image.NewProgram(plan, image.Files{}, image.Usual)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Free)
	return p
}

// drawn is the record of a picture from torch's generator of that seed, and the state behind it; false where a step raises.
func drawn(t *testing.T, plan image.Plan, seed uint64, width, height int32) ([]int32, [stepstest.StateBytes]byte, bool) {
	t.Helper()
	l, _, err := steps.Compile(plan.Steps)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Free()
	state, record := stepstest.Seed(seed), make([]int32, l.Words())
	python := [stepstest.PythonWords]uint32{uint32(seed), 5, stepstest.PythonWords - 1: 624}
	code := stepstest.Ask
	var answers []stepstest.Answer
	for code == stepstest.Ask {
		var result stepstest.Result
		code, result = stepstest.Draw(l, true, stepstest.Generators{Torch: state, Python: &python}, []stepstest.Size{{width, height}}, record, answers)
		answers = append(answers, stepstest.Answer{result.Ask, float32(stepstest.Exponential(float64(result.Ask)))})
	}
	return record, *state, code == stepstest.OK
}

// made is a plan's sample of a picture: bytes of a tensor, or a picture.
func made(t *testing.T, plan image.Plan, of lazytest.Picture, record []int32) any {
	t.Helper()
	var sample any
	var err error
	if p := compiled(t, plan); plan.Output.Height == 0 {
		sample, err = lazytest.Make(p, of, record)
	} else {
		bytes := p.Sample().Type.Size()
		for _, side := range p.Sample().Shape {
			bytes *= side
		}
		sample, err = lazytest.Tensor(p, of, record, bytes)
	}
	if err != nil {
		text, _ := json.Marshal(plan)
		t.Fatalf("%v: %s", err, text)
	}
	return sample
}

// same says that a plan makes the same of a file at once and in two parts, and draws the same; false where it refuses the file.
func same(t *testing.T, plan image.Plan, seed uint64, width, height int) bool {
	t.Helper()
	text, _ := json.Marshal(plan)
	file := lazytest.Picture{Data: image.PPM(image.Noise(rand.New(rand.NewPCG(seed, 1)), width, height))}
	record, state, ok := drawn(t, plan, seed, int32(width), int32(height))
	if !ok {
		return false
	}
	certain, rest := plan.Split()
	if words := compiled(t, certain).RecordWords(); words != 0 {
		t.Fatalf("%d words are drawn for what is certain: %s", words, text)
	}
	held := made(t, certain, file, nil).(lazytest.Picture)
	other, behind, _ := drawn(t, rest, seed, held.Width, held.Height)
	if !slices.Equal(other, record) || behind != state {
		t.Fatalf("drawn %v, and of what is held %v: %s", record, other, text)
	}
	if want, got := made(t, plan, file, record), made(t, rest, held, record); !reflect.DeepEqual(got, want) {
		t.Fatalf("another sample of what is held: %s", text)
	}
	return true
}

func TestSplit(t *testing.T) {
	resize, center := image.Step{"op": "resize", "size": []int{40}, "filter": "bilinear"}, image.Step{"op": "center_crop", "size": []int{32, 24}}
	square, flip := image.Step{"op": "resize", "size": []int{32, 24}, "filter": "bicubic"}, image.Step{"op": "hflip", "p": 0.5}
	crop := image.Step{"op": "random_crop", "size": []int{32, 24}, "mode": "constant", "fill": []int{0, 0, 0}}
	box := image.Step{"op": "random_resized_crop", "size": []int{32, 24}, "filter": "bilinear", "scale": []float64{0.08, 1}, "ratio": []float64{0.75, 1.25},
		"log_ratio": []float32{-0.28768207, 0.22314355}}
	pad := image.Step{"op": "pad", "padding": []int{1, 2, 3, 4}, "mode": "reflect", "fill": []int{0, 0, 0}}
	bytes, float := image.Step{"op": "to_uint8"}, image.Step{"op": "to_float", "how": "divide"}
	normal := image.Step{"op": "normalize", "mean": []float64{0.5}, "std": []float64{0.25}}
	tensor := image.Step{"op": "resize", "size": []int{32, 24}, "filter": "torch_bilinear"}
	grey := image.Step{"op": "grayscale", "channels": 1}
	greyTensor := image.Step{"op": "grayscale", "channels": 1, "tensor": true}
	five := image.Step{"op": "five_crop", "size": []int{32, 24}}
	apply := image.Step{"op": "random_apply", "p": 0.5, "steps": []image.Step{square}}
	floats := func(channels int) image.Output {
		return image.Output{DType: numbers.Float32, Height: 32, Width: 24, Channels: channels}
	}
	whole, crops := image.Output{DType: numbers.Uint8, Height: 32, Width: 24, Channels: 3}, image.Output{DType: numbers.Float32, Height: 32, Width: 24, Channels: 3, Crops: 5}
	for name, c := range map[string]struct {
		steps   []image.Step
		out     image.Output
		certain int // steps
	}{
		"a random box":           {[]image.Step{box, flip, float, normal}, floats(3), 0},
		"a random crop":          {[]image.Step{resize, crop, flip, float}, floats(3), 1},
		"all":                    {[]image.Step{resize, center, float}, floats(3), 2},
		"all, normalized":        {[]image.Step{resize, center, float, normal}, floats(3), 2},
		"padded":                 {[]image.Step{resize, pad, box, float}, floats(3), 2},
		"two resizes":            {[]image.Step{resize, square, flip, float}, floats(3), 2},
		"a box of what is made":  {[]image.Step{resize, box, float}, floats(3), 1},
		"a tensor of bytes":      {[]image.Step{bytes, tensor, flip}, whole, 1},
		"resized as a tensor":    {[]image.Step{resize, bytes, tensor, crop}, whole, 2},
		"numbers before a flip":  {[]image.Step{square, float, flip, normal}, floats(3), 1},
		"grey":                   {[]image.Step{grey, square, flip, float, normal}, floats(1), 2},
		"grey by torch":          {[]image.Step{square, bytes, greyTensor, flip}, image.Output{DType: numbers.Uint8, Height: 32, Width: 24, Channels: 1}, 1},
		"five crops":             {[]image.Step{resize, five, float}, crops, 1},
		"perhaps a resize":       {[]image.Step{resize, apply, square, float}, floats(3), 1},
		"pictures":               {[]image.Step{resize, pad, flip, grey}, image.Output{}, 2},
		"hues of grey":           {[]image.Step{grey, {"op": "color_jitter", "hue": []float64{-0.1, 0.1}}}, image.Output{}, 1},
		"pictures, nothing left": {[]image.Step{pad}, image.Output{}, 1},
		"nothing":                {nil, image.Output{}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			plan := image.Plan{Steps: c.steps, Output: c.out}
			if certain, _ := plan.Split(); len(certain.Steps) != c.certain {
				t.Errorf("certain is %v", certain.Steps)
			}
			for seed := range uint64(6) {
				if !same(t, plan, seed, 50+int(seed), 60-3*int(seed)) {
					t.Error("nothing is made")
				}
			}
		})
	}
}

// TestSplitOfAnyPlan splits random plans.
func TestSplitOfAnyPlan(t *testing.T) {
	made := 0
	for seed := range uint64(600) {
		r := rand.New(rand.NewPCG(seed, 11))
		plan := image.RandomPlan(r)
		plan.Steps = append([]image.Step{image.RandomStep(r, 0)}, plan.Steps...)
		if same(t, plan, seed, 1+r.IntN(70), 1+r.IntN(70)) {
			made++
		}
	}
	if made < 450 {
		t.Errorf("only %d of 600 were made", made)
	}
}
