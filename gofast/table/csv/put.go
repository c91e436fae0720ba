package csv

import (
	"context"
	"errors"
	"math"
	"slices"

	"github.com/gofast-org/gofast/gofast/table"
)

// errUnsure says that a cell's value depends on whether its column has floats, and that nobody knows yet.
var errUnsure = errors.New("the column may be of integers or of floats")

// learn finds out which columns have floats. As in pandas, a single one makes a column of floats of all the file: then
// "-0" is -0.0 in it, and an integer beyond 2^53 is a float64 before it is anything else.
func (r *reader) learn(ctx context.Context, sel table.Selection, kinds []table.LabelKind) {
	nan := math.NaN()
	sel.Fill, sel.Fills, sel.Rounds = &nan, nil, true
	for i, kind := range kinds {
		if kind != table.TextLabel {
			sel.Features = append(slices.Clip(sel.Features), sel.Labels[i])
		}
	}
	// An error is one of a later row, whose own decoding fails.
	rangers, _ := r.whole.ranges(ctx, sel)
	r.whole.note(rangers)
}

// note keeps what a run over all of the file has seen.
func (r *reader) note(rangers []*ranger) {
	for _, g := range rangers {
		for k, real := range g.parser.real {
			f := &r.fields[g.parser.wanted[k]]
			f.known, f.real = true, f.real || real
		}
	}
}

// ofFloats says whether a column has floats.
func (r *reader) ofFloats(column int32) (real bool, err error) {
	f := &r.whole.fields[column]
	if !f.known {
		err = errUnsure
	}
	return f.real, err
}

// put writes the features of the parser's record into one row of the matrix. The error is ErrNarrow or errUnsure.
func (pl *plan) put(row []byte, m table.Matrix, p *parser) error {
	return puts[m.Type](row, m.Rounds, p)
}

var puts = [...]func(row []byte, rounds bool, p *parser) error{table.Uint8: put[uint8], table.Int16: put[int16], table.Int32: put[int32],
	table.Int64: put[int64], table.Float32: put[float32], table.Float64: put[float64]}

func put[T table.Cell](row []byte, rounds bool, p *parser) error {
	out, real := table.View[T](row), table.IsReal[T]()
	for _, f := range p.plan.features {
		bits, kind := p.bits[f.k], p.kinds[f.k]
		if kind == intCell {
			v := T(int64(bits))
			if int64(v) == int64(bits) && (!real || float64(v) < 1<<63) {
				out[f.to] = v
				continue
			}
		}
		if kind == realCell {
			wide := math.Float64frombits(bits)
			v := T(wide)
			if !real || !rounds && float64(v) != wide && wide == wide { // a fill value may be NaN
				return table.ErrNarrow
			}
			out[f.to] = v
			continue
		}
		if kind == minusZero && !real {
			out[f.to] = 0
			continue
		}
		if kind != minusZero && !rounds {
			return table.ErrNarrow
		}
		floats, err := p.r.ofFloats(f.column)
		if err != nil {
			return err
		}
		out[f.to] = nearest[T](kind, bits, floats)
	}
	return nil
}

// nearest is the float that stands for an integer, in a column of floats or of integers.
func nearest[T table.Cell](k kind, bits uint64, ofFloats bool) T {
	wide := float64(int64(bits))
	switch k {
	case minusZero:
		wide = math.Copysign(0, -1)
	case hugeCell:
		wide = float64(bits)
	}
	switch {
	case ofFloats:
		return T(wide)
	case k == minusZero:
		return 0
	case k == hugeCell:
		return T(bits)
	default:
		return T(int64(bits))
	}
}
