package csv

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/internal/pool"
	"github.com/gofast-org/gofast/gofast/table"
)

// place sends a wanted column, by its position in parser.wanted, to a feature or
// a label.
type place struct {
	k, to    int
	column   int32
	fillKind kind // of a feature; missingCell without a fill value
	fillBits uint64
}

// plan is a Selection in terms of the file's fields.
type plan struct {
	wanted           []int32
	features, labels []place
	coded            []coded // those of the features that hold no numbers
	anyText          bool    // text labels may look like numbers
	rounds           bool    // integers beyond int64 are values too
}

func (r *reader) plan(sel table.Selection) (*plan, error) {
	p := &plan{anyText: sel.Verbatim, rounds: sel.Rounds}
	for _, c := range slices.Concat(sel.Features, sel.Labels) {
		if c < 0 || c >= len(r.visible) {
			return nil, r.fail(errs.ErrSchema, fmt.Sprintf("there is no column %d, the file has %d", c, len(r.visible)))
		}
		p.wanted = append(p.wanted, r.visible[c])
	}
	slices.Sort(p.wanted)
	p.wanted = slices.Compact(p.wanted)
	places := func(columns []int) (places []place) {
		for to, c := range columns {
			k, _ := slices.BinarySearch(p.wanted, r.visible[c])
			places = append(places, place{k: k, to: to, column: r.visible[c], fillKind: missingCell})
		}
		return places
	}
	p.features, p.labels = places(sel.Features), places(sel.Labels)
	p.coded = r.coded(p.wanted, sel.Codings)
	for i := range p.features {
		if fill := sel.FillAt(i); fill != nil {
			p.features[i].fillKind, p.features[i].fillBits = fillCell(*fill)
		}
	}
	return p, nil
}

// fillCell is the cell that a fill value would have been written as: an integer
// where it is one, so that it does not turn a table of integers into floats.
func fillCell(v float64) (kind, uint64) {
	if v == math.Trunc(v) && math.Abs(v) <= 1<<53 && !(v == 0 && math.Signbit(v)) {
		return intCell, uint64(int64(v))
	}
	return realCell, math.Float64bits(v)
}

// Decode implements table.Reader.
func (r *reader) Decode(ctx context.Context, sel table.Selection, dst table.Target) (rows int64, err error) {
	defer r.locate(ctx, &err)
	defer pool.Recover(&err, op, r.file.Path())
	plan, err := r.plan(sel)
	if err != nil {
		return 0, err
	}
	if len(dst.Kinds) != len(plan.labels) || dst.Features.Width != len(plan.features) || dst.Features.Type.Size() == 0 {
		return 0, r.fail(errs.ErrInternal, "the target does not fit the selection")
	}
	layout := r.layout(plan, dst)
	decode := func() (int64, error) { return r.run(ctx, func() visitor { return newDecoder(r, plan, dst, layout) }) }
	if rows, err = decode(); errors.Is(err, errUnsure) {
		r.learn(ctx, sel, dst.Kinds)
		return decode()
	}
	return rows, err
}

// decoder stores the rows of the chunks of one worker.
type decoder struct {
	*plan
	r      *reader
	parser *parser
	dst    table.Target
	words  []*table.Cache // per label, nil where it is not text
	fast   *fast          // nil where the kernels cannot help
	room   int64          // rows that dst holds
}

func newDecoder(r *reader, plan *plan, dst table.Target, f *fast) *decoder {
	d := &decoder{plan: plan, r: r, dst: dst, words: make([]*table.Cache, len(plan.labels)), fast: f.fresh()}
	d.parser = plan.parser(r)
	for i, l := range plan.labels {
		d.parser.truth[l.k] = r.fields[l.column].first == boolCell
		d.parser.verbatim[l.k] = d.parser.truth[l.k] || dst.Kinds[i] == table.TextLabel
		if dst.Kinds[i] == table.TextLabel {
			d.words[i] = dst.Dict[i].Cache()
		}
	}
	d.room = math.MaxInt64
	if n := dst.Features.RowBytes(); n > 0 {
		d.room = int64(len(dst.Features.Data) / n)
	}
	if n := 8 * len(plan.labels); n > 0 {
		d.room = min(d.room, int64(len(dst.Labels)/n))
	}
	return d
}

func (d *decoder) visit(c chunk) error {
	row, pos := c.base, c.from
	d.fast.begin()
	d.dst.Features.Populate(min(row, d.room), min(row+c.records, d.room))
	for pos < c.to {
		if next, ok := blank(c.buf[:c.to], pos, d.r.delim); ok {
			pos = next
			continue
		}
		if d.fast.worthwhile() && row < d.room {
			n, next := d.fast.parse(d, c.buf, pos, c.to, row)
			row, pos = row+int64(n), next
			if n > 0 {
				continue
			}
		}
		cells, next := d.parser.record(c.buf[:c.to], pos)
		if err := d.r.check(row, cells, next-pos); err != nil {
			return err
		}
		if err := d.store(row); err != nil {
			return err
		}
		row, pos = row+1, next
	}
	if row != c.base+c.records {
		return d.r.fail(errs.ErrInternal, fmt.Sprintf("%d records were counted, %d parsed", c.records, row-c.base))
	}
	return nil
}

// check refuses a record by its shape.
func (r *reader) check(row int64, cells, length int) error {
	if int64(length) > r.opts.Limits.Cell {
		return r.tooLong().AtRow(row, "")
	}
	if cells != len(r.fields) {
		return r.cellCount(row, cells)
	}
	return nil
}

// store writes the parser's record into the target.
func (d *decoder) store(row int64) error {
	if row >= d.room {
		// Where the target holds as many rows as there can be, one before this is short, in an earlier chunk: its
		// error is the one that is returned.
		return table.ErrFull
	}
	for i := range d.labels {
		if err := d.label(row, i); err != nil {
			return err
		}
	}
	if err := d.parser.finish(row); err != nil {
		return err
	}
	n := d.dst.Features.RowBytes()
	return d.plan.put(d.dst.Features.Data[row*int64(n):(row+1)*int64(n)], d.dst.Features, d.parser)
}

// finish reads the coded features of the record, replaces missing ones by the fill
// value and refuses what is not a number. Labels of the same record are done before.
func (p *parser) finish(row int64) error {
	for i := range p.plan.coded {
		if err := p.code(&p.plan.coded[i], row); err != nil {
			return err
		}
	}
	if p.ints {
		return nil
	}
	for _, f := range p.plan.features {
		switch p.kinds[f.k] {
		case missingCell:
			if f.fillKind == missingCell {
				return p.bad(errs.ErrMissing, "the cell is missing: pass fill_value= to replace missing cells", f, row)
			}
			p.kinds[f.k], p.bits[f.k] = f.fillKind, f.fillBits
		case hugeCell:
			if !p.plan.rounds {
				return p.bad(errs.ErrValue, huge, f, row)
			}
		case textCell:
			text := "the cell is not a number: leave the column out with columns=, or correct the cell" + cause(p.texts[f.k])
			if p.truth[f.k] {
				text = "the cell is neither True nor False, as the cells before it are"
			}
			return p.bad(errs.ErrValue, text, f, row)
		}
	}
	return nil
}

const huge = "the integer is beyond int64: no storage type holds it"

// bad is the error of a cell whose text was kept.
func (p *parser) bad(kind error, why string, at place, row int64) *errs.Error {
	return p.r.fail(kind, why).AtRow(row, p.r.fields[at.column].Name).WithCell(string(p.r.utf8(p.texts[at.k])))
}
