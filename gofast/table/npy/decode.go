package npy

import (
	"context"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/internal/pool"
	"github.com/gofast-org/gofast/gofast/table"
)

// Decode writes the selected columns into dst. Where a whole row of the file is
// a row of the matrix, of the same type, it is read there directly.
func (t *openFile) Decode(ctx context.Context, sel table.Selection, dst table.Target) (rows int64, err error) {
	defer t.guard(&err)
	plans, err := t.plans(sel)
	if err != nil {
		return 0, err
	}
	d := &decoding{openFile: t, sel: sel, dst: dst}
	for _, p := range plans {
		if len(p.runs) == 0 {
			continue
		}
		if p.convert = p.elem.numbers().To(dst.Features.Type); dst.Features.Rounds {
			p.convert = p.elem.numbers().Near(dst.Features.Type)
		}
		if p.convert == nil {
			return 0, table.ErrNarrow
		}
	}
	if err := t.visit(ctx, plans, d.into, d.block); err != nil {
		return 0, err
	}
	return t.rows, nil
}

// decoding is one call of Decode.
type decoding struct {
	*openFile
	sel table.Selection
	dst table.Target
}

// whole says that a row of the array is a row of the matrix.
func (d *decoding) whole(p *plan) bool {
	return p.inOrder() && p.width == d.dst.Features.Width
}

func (d *decoding) into(p *plan, row, n int64) []byte {
	if !d.whole(p) || len(p.labels) > 0 || p.elem.numbers().Type != d.dst.Features.Type {
		return nil
	}
	size := int64(d.dst.Features.RowBytes())
	return d.dst.Features.Data[row*size : (row+n)*size]
}

func (d *decoding) block(p *plan, row int64, block []byte, s *scratch) error {
	var first pool.First
	for i, l := range p.labels {
		if err := note(&first, d.label(p, l, row, block, s), row, i); err != nil {
			return err
		}
	}
	if len(p.runs) > 0 {
		if err := note(&first, p.stretches(row, block, d.whole(p), d.stretch), row, len(p.labels)); err != nil {
			return err
		}
	}
	return first.Err()
}

// stretch writes values into the matrix.
func (d *decoding) stretch(v stretch) error {
	m := d.dst.Features
	size := m.Type.Size()
	into := m.Data[v.row*int64(m.RowBytes())+int64(v.dst*size):][:len(v.values)/v.elem.size*size]
	if &into[0] != &v.values[0] && !v.convert(into, v.values) {
		return v.unfit(d.sel.Rounds)
	}
	if !v.elem.float() {
		return nil
	}
	for from := 0; ; from++ { // NaN
		at := firstNaN(into[from*size:], m.Type)
		if at < 0 {
			return nil
		}
		from += at
		fill := d.sel.FillAt(v.dst + from%v.n)
		if fill == nil {
			return v.missing(from)
		}
		if m.Type == table.Float64 {
			table.View[float64](into)[from] = *fill
			continue
		}
		narrow, fits := table.FitReal[float32](*fill)
		if !fits && !m.Rounds {
			return table.ErrNarrow
		}
		table.View[float32](into)[from] = narrow
	}
}

// missing is the error of a value that is NaN.
func (v stretch) missing(at int) error {
	return v.fail(errs.ErrMissing, "the value is NaN: pass fill_value= or drop the row").AtRow(v.row+int64(at/v.n), v.columnAt(v.src+at%v.n))
}

// unfit is ErrNarrow, or ErrValue where no wider type would help, unless values are rounded at last.
func (v stretch) unfit(rounds bool) error {
	at := v.elem.numbers().Beyond(v.values)
	if at < 0 || rounds {
		return table.ErrNarrow
	}
	return v.fail(errs.ErrValue, "%d is above 2^63-1, the largest integer that is stored", table.View[uint64](v.values)[at]).
		AtRow(v.row+int64(at/v.n), v.columnAt(v.src+at%v.n))
}
