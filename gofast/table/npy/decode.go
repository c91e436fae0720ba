package npy

import (
	"context"
	"math"

	"github.com/gofast-org/gofast/gofast/internal/errs"
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
	d := &decoding{openFile: t, sel: sel, dst: dst, convert: map[*plan]converter{}}
	for _, p := range plans {
		if len(p.runs) == 0 {
			continue
		}
		if d.convert[p] = converterFor(p.elem, dst.Features.Type); d.convert[p] == nil {
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
	sel     table.Selection
	dst     table.Target
	convert map[*plan]converter
}

// whole says that a row of the array is a row of the matrix.
func (d *decoding) whole(p *plan) bool {
	return len(p.runs) == 1 && p.runs[0].n == p.width && p.width == d.dst.Features.Width
}

func (d *decoding) into(p *plan, row, n int64) []byte {
	if !d.whole(p) || len(p.labels) > 0 || p.elem.stored() != d.dst.Features.Type {
		return nil
	}
	size := int64(d.dst.Features.RowBytes())
	return d.dst.Features.Data[row*size : (row+n)*size]
}

func (d *decoding) block(p *plan, row int64, block []byte, s *scratch) error {
	if len(p.runs) > 0 {
		if err := d.features(p, row, block); err != nil {
			return err
		}
	}
	for _, l := range p.labels {
		if err := d.label(p, l, row, block, s); err != nil {
			return err
		}
	}
	return nil
}

func (d *decoding) features(p *plan, row int64, block []byte) error {
	m := d.dst.Features
	size, rowBytes := int64(p.elem.size), p.rowBytes()
	convert := d.convert[p]
	if d.whole(p) {
		into := m.Data[row*rowBytes/size*int64(m.Type.Size()):][:int64(len(block))/size*int64(m.Type.Size())]
		if &into[0] != &block[0] && !convert(into, block) {
			return p.tooWide(block, row)
		}
		return d.fill(p, p.runs[0], into, row)
	}
	for ; len(block) > 0; row, block = row+1, block[rowBytes:] {
		out := m.Data[row*int64(m.RowBytes()):][:m.RowBytes()]
		for _, r := range p.runs {
			from := block[int64(r.src)*size : int64(r.src+r.n)*size]
			into := out[r.dst*m.Type.Size() : (r.dst+r.n)*m.Type.Size()]
			if !convert(into, from) {
				return p.tooWide(block, row)
			}
			if err := d.fill(p, r, into, row); err != nil {
				return err
			}
		}
	}
	return nil
}

// fill replaces NaN in values, which begin at run r of row.
func (d *decoding) fill(p *plan, r run, values []byte, row int64) error {
	if !p.elem.float() {
		return nil
	}
	t := d.dst.Features.Type
	for from := 0; ; {
		at := firstNaN(values[from:], t)
		if at < 0 {
			return nil
		}
		at += from / t.Size()
		fillAt := d.sel.FillAt(r.dst + at%r.n)
		if fillAt == nil {
			return p.missing(row+int64(at/r.n), r.src+at%r.n)
		}
		fill := *fillAt
		if t == table.Float32 {
			if float64(float32(fill)) != fill && !math.IsNaN(fill) {
				return table.ErrNarrow
			}
			as[float32](values)[at] = float32(fill)
		} else {
			as[float64](values)[at] = fill
		}
		from = (at + 1) * t.Size()
	}
}

func (a *array) missing(row int64, position int) error {
	return a.fail(errs.ErrMissing, "the value is NaN: pass fill_value= or drop the row").AtRow(row, a.columnAt(position))
}

// tooWide is ErrNarrow, or ErrValue where no wider type would help.
func (a *array) tooWide(block []byte, row int64) error {
	if a.elem.kind == 'u' && a.elem.size == 8 {
		for i, v := range as[uint64](block) {
			if v > math.MaxInt64 {
				return a.tooLarge(v, row+int64(i/a.width), i%a.width)
			}
		}
	}
	return table.ErrNarrow
}

func (a *array) tooLarge(v uint64, row int64, position int) error {
	return a.fail(errs.ErrValue, "%d is above 2^63-1, the largest integer that is stored", v).AtRow(row, a.columnAt(position))
}
