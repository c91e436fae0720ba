package image

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gofast-org/gofast/gofast/numbers"
)

func compiled(t *testing.T, plan Plan) Program {
	t.Helper()
	p, err := NewProgram(plan, Files{}, options)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestNumbers are plans of which something else than bytes, or more than numbers, is left.
func TestNumbers(t *testing.T) {
	float, flip := Step{"op": "to_float", "how": "multiply"}, Step{"op": "hflip", "p": 0.5}
	normal := Step{"op": "normalize", "mean": []float32{0.5}, "std": []float32{0.25}}
	erase := randomBox(rand.New(rand.NewPCG(1, 1)), Step{"op": "random_erasing", "p": 1, "value": []float32{1, 2, 3}})
	maybe := func(s Step) Step { return Step{"op": "random_apply", "version": "v1", "p": 0.5, "steps": []Step{s}} }
	tensor := Output{DType: numbers.Float16, Height: 4, Width: 4, Channels: 3, ChannelsLast: true}
	bytes := tensor
	bytes.DType = numbers.Uint8
	for name, c := range map[string]struct {
		steps []Step
		out   Output
		ok    bool
		words []int
	}{
		"plain":              {[]Step{float, normal}, tensor, true, nil},
		"flips before":       {[]Step{float, flip, maybe(flip), erase, erase}, tensor, true, []int{3, 8}},
		"flip behind":        {[]Step{float, erase, flip}, tensor, false, nil},
		"maybe a flip":       {[]Step{float, erase, maybe(flip)}, tensor, false, nil},
		"maybe erased":       {[]Step{float, maybe(erase)}, tensor, false, nil},
		"maybe nothing":      {[]Step{float, erase, maybe(Step{"op": "random_apply", "version": "v1", "p": 0.5, "steps": []Step{}})}, tensor, true, []int{0}},
		"erased bytes":       {[]Step{{"op": "to_uint8"}, erase}, bytes, false, nil},
		"pictures":           {[]Step{flip}, Output{}, false, nil},
		"bytes":              {[]Step{{"op": "to_uint8"}}, bytes, false, nil},
		"pictures and bytes": {nil, bytes, false, nil},
	} {
		got, ok, err := Plan{Steps: c.steps, Output: c.out}.Numbers()
		if ok != c.ok || err != nil {
			t.Errorf("%s: %v, %v", name, ok, err)
		}
		var words []int
		for _, e := range got.Erasures {
			words = append(words, e.Word)
			if e.Value != [3]float32{1, 2, 3} {
				t.Errorf("%s: erased by %v", name, e.Value)
			}
		}
		if !slices.Equal(words, c.words) {
			t.Errorf("%s: erased by words %v", name, words)
		}
	}
	got, _, _ := Plan{Steps: []Step{float, normal}, Output: tensor}.Numbers()
	if got.Scale != numbers.Multiply || !slices.Equal(got.Std, []float32{0.25, 0.25, 0.25}) || !got.Last || got.Type != numbers.Float16 {
		t.Errorf("%+v", got)
	}
	if _, _, err := (Plan{Steps: []Step{float}}).Numbers(); err == nil {
		t.Error("a tensor without a size has numbers")
	}
}
