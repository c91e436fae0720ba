package csv

import (
	"context"
	"math"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/source"
	"github.com/gofast-org/gofast/gofast/table"
)

// Verify implements table.Verifier: every row must have the table's cells, and every
// cell of a column that begins with numbers must be a number or missing. An integer that
// gofast cannot hold is no damage: all the rest is read, and then the first of them is ErrUnsupported.
func (r *reader) Verify(ctx context.Context) (err error) {
	defer r.locate(ctx, &err)
	nan := math.NaN()
	sel := table.Selection{Fill: &nan}
	for i, c := range r.Columns() {
		if !c.Text {
			sel.Features = append(sel.Features, i)
		}
	}
	rangers, err := r.ranges(ctx, sel, true)
	if err != nil {
		return err
	}
	var first *errs.Error
	for _, g := range rangers {
		if at := g.parser.beyond; at != nil && (first == nil || at.Row < first.Row) {
			first = at
		}
	}
	if first == nil {
		return nil
	}
	return first
}

// Describe implements table.Describer: what the first rows hold.
func (r *reader) Describe() (table.Facts, error) {
	facts := table.Facts{Columns: make([]table.ColumnFacts, len(r.visible))}
	for i, c := range r.Columns() {
		f := table.ColumnFacts{Name: c.Name, Type: "real"}
		switch {
		case r.fields[r.visible[i]].blank:
			f.Type = "unknown"
		case c.Text:
			f.Type = "text"
		case c.Bool:
			f.Type = "boolean"
		case c.Hint == table.Uint8:
			f.Type = "integer"
		}
		if r.compression != source.Plain {
			f.Codec = r.compression.String()
		}
		facts.Columns[i] = f
	}
	return facts, nil
}
