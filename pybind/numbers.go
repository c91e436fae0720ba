package pybind

import (
	"github.com/gofast-org/gofast/gofast"
	"github.com/gofast-org/gofast/gofast/image"
	"github.com/gofast-org/gofast/gofast/image/steps"
	"github.com/gofast-org/gofast/gofast/numbers"
)

// made is a numbers.Spec whose floats cross as doubles: JSON's digits of a float32
// are not those of a double.
type made struct {
	Scale    numbers.Scale `json:"scale"`
	Mean     []float64     `json:"mean"`
	Std      []float64     `json:"std"`
	Type     numbers.Type  `json:"dtype"`
	Channels int           `json:"channels"`
	Last     bool          `json:"last"`
}

type erasure struct {
	Word  int       `json:"word"`
	Value []float64 `json:"value"`
}

// numbersOf says what is left to do to the raw samples of a plan; nil where a plan has none,
// or more is left than can be said.
func numbersOf(plan image.Plan) (any, error) {
	n, ok, err := plan.Numbers()
	if err != nil || !ok {
		return nil, err
	}
	erasures := make([]erasure, len(n.Erasures))
	for i, e := range n.Erasures {
		erasures[i] = erasure{e.Word, doubles(e.Value[:])}
	}
	return struct {
		made
		Erasures []erasure `json:"erasures"`
	}{made{n.Scale, doubles(n.Mean), doubles(n.Std), n.Type, n.Channels, n.Last}, erasures}, nil
}

// torchWordsOf are the words of a plan's records that only torch can compute.
func torchWordsOf(plan image.Plan) (any, error) {
	words, err := plan.TorchWords()
	return append([]steps.TorchWords{}, words...), err
}

// recordsOf are what operations draw.
func recordsOf(nothing) (any, error) { return steps.Records(), nil }

func doubles(values []float32) []float64 {
	if values == nil {
		return nil
	}
	wide := make([]float64, len(values))
	for i, v := range values {
		wide[i] = float64(v)
	}
	return wide
}

// writeCodes writes what becomes of every byte into the caller's memory, of channels x 256 results.
func writeCodes(c struct {
	numbers.Spec
	Address uintptr `json:"address"`
}) (any, error) {
	fits := func(values []float32) bool { return values == nil || len(values) == c.Channels }
	if c.Type == numbers.Invalid || c.Channels < 1 || !fits(c.Mean) || !fits(c.Std) || (c.Mean == nil) != (c.Std == nil) || c.Address == 0 {
		return nil, gofast.NewError(gofast.ErrConfig, "codes", "the numbers do not fit together")
	}
	c.ResultsAt(c.Address)
	return nil, nil
}
