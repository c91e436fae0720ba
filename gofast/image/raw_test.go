package image

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gofast-org/gofast/gofast/numbers"
)

// finish makes a finished sample of a raw one, as whoever gets it would: each byte is
// looked up, then boxes are erased.
func (n Numbers) finish(raw []byte, o Output, record []int32) []byte {
	size, plane := n.Type.Size(), o.Height*o.Width
	results, out := make([]byte, n.Channels*256*size), make([]byte, len(raw)*size)
	n.Results(results)
	at := func(c, y, x int) int {
		if n.Last {
			return (y*o.Width+x)*n.Channels + c
		}
		return c*plane + y*o.Width + x
	}
	for c := range n.Channels {
		for i := range plane {
			to := at(c, 0, i)
			copy(out[to*size:], results[(c*256+int(raw[to]))*size:][:size])
		}
		for _, e := range n.Erasures {
			words := record[e.Word:][:5]
			if words[0] == 0 {
				continue
			}
			for y := words[1]; y < words[1]+words[3]; y++ {
				for x := words[2]; x < words[2]+words[4]; x++ {
					numbers.Single(e.Value[c]).Put(n.Type, out, at(c, int(y), int(x)))
				}
			}
		}
	}
	return out
}

// TestRawSamplesFinish compares, of random plans, what is made of raw samples with
// finished ones, for which the same was drawn.
func TestRawSamplesFinish(t *testing.T) {
	made, erased := 0, 0
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 9))
		plan, picture := randomPlan(r), noise(r, 1+r.IntN(70), 1+r.IntN(70))
		if plan.Output.DType != numbers.Uint8 {
			plan.Output.DType = []numbers.Type{numbers.Float32, numbers.Float16, numbers.Bfloat16}[r.IntN(3)]
		}
		text, _ := json.Marshal(plan)
		todo, ok, err := plan.Numbers()
		if err != nil {
			t.Fatalf("seed %d: %v: %s", seed, err, text)
		}
		if !ok {
			continue
		}
		raw := plan
		raw.Output.Raw = true
		whole, rest := compiled(t, plan), compiled(t, raw)
		record, ok := drawn(whole, seed, picture)
		other, _ := drawn(rest, seed, picture)
		if !slices.Equal(record, other) {
			t.Fatalf("seed %d: drawn %v, and for the raw sample %v: %s", seed, record, other, text)
		}
		if sample := rest.Sample(); sample.Type != numbers.Uint8 || !slices.Equal(sample.Shape, whole.Sample().Shape) {
			t.Fatalf("seed %d: a raw sample is %+v: %s", seed, sample, text)
		}
		whole.Free()
		rest.Free()
		if !ok {
			continue
		}
		want, err := sampleOf(t, plan, picture, record)
		if err != nil {
			t.Fatalf("seed %d: %v: %s", seed, err, text)
		}
		bytes, err := sampleOf(t, raw, picture, record)
		if err != nil {
			t.Fatalf("seed %d: %v: %s", seed, err, text)
		}
		if got := todo.finish(bytes, plan.Output, record); !slices.Equal(got, want) {
			t.Fatalf("seed %d, %v: another sample of a raw one: %s", seed, picture.Rect, text)
		}
		for _, e := range todo.Erasures {
			record[e.Word] = 0
		}
		if plain, err := sampleOf(t, raw, picture, record); err != nil || !slices.Equal(plain, bytes) {
			t.Fatalf("seed %d: %v: a raw sample depends on what is erased: %s", seed, err, text)
		}
		made++
		erased += len(todo.Erasures)
	}
	if made < 400 || erased < 150 {
		t.Errorf("only %d of 2000 were made, with %d erasures", made, erased)
	}
}

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
		got, ok, err := Plan{c.steps, c.out}.Numbers()
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
	got, _, _ := Plan{[]Step{float, normal}, tensor}.Numbers()
	if got.Scale != numbers.Multiply || !slices.Equal(got.Std, []float32{0.25, 0.25, 0.25}) || !got.Last || got.Type != numbers.Float16 {
		t.Errorf("%+v", got)
	}
	if _, _, err := (Plan{[]Step{float}, Output{}}).Numbers(); err == nil {
		t.Error("a tensor without a size has numbers")
	}
}
