package parquet

import (
	"context"
	"errors"
	"math"
	"sync"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/table"
)

// Verify implements table.Verifier. One goroutine does one column chunk at a time, so
// memory holds a page and a dictionary for each of them. A value that gofast cannot hold is no
// damage: all the rest is read, and then the first of them is ErrUnsupported.
func (r *Reader) Verify(ctx context.Context) error {
	leaves := make([]*column, r.meta.leaves)
	for i := range r.columns {
		leaves[r.columns[i].leaf] = &r.columns[i]
	}
	var lock sync.Mutex
	var unfit *errs.Error
	first := math.MaxInt
	crew := r.newCrew()
	defer crew.done()
	err := crew.each(ctx, len(leaves)*len(r.meta.groups), func(ctx context.Context, w *worker, i int) error {
		g, leaf := i/len(leaves), i%len(leaves)
		if r.meta.groups[g].rows == 0 {
			return nil
		}
		err := w.verify(ctx, leaves[leaf], g, leaf)
		if value := (*errs.Error)(nil); errors.Is(err, errs.ErrValue) && errors.As(err, &value) {
			lock.Lock()
			if i < first {
				first, unfit = i, value
			}
			lock.Unlock()
			err = w.unpack(ctx, g, leaf)
		}
		if err != nil {
			return err
		}
		if r.opts.Progress != nil {
			r.opts.Progress(r.meta.groups[g].chunks[leaf].compressed)
		}
		return nil
	})
	if err != nil || unfit == nil {
		return err
	}
	whole := *unfit
	whole.Kind = errs.ErrUnsupported
	return &whole
}

// verify reads one chunk: numbers are decoded as those of a feature, the texts of a column as
// those of a label. Of what can be neither, such as the members of a struct, pages are unpacked.
func (w *worker) verify(ctx context.Context, c *column, g, leaf int) error {
	var err error
	switch {
	case c == nil || c.why != "":
		return w.unpack(ctx, g, leaf)
	case c.Text:
		t := &words{w: w}
		err = w.walk(ctx, c, g, nil, func(v *values, _ int64) error { return t.verify(v) })
	default:
		nan := math.NaN()
		_, err = w.scan(ctx, c, &job{group: g}, nil, &nan)
	}
	// A valid encoding that is not known says nothing of the file.
	if errors.Is(err, errs.ErrUnsupported) {
		return w.unpack(ctx, g, leaf)
	}
	return err
}

// verify checks the present texts of a page, and numbers none.
func (t *words) verify(v *values) error {
	switch {
	case v.present == 0:
		return nil
	case !v.encoding.dictionary():
		return v.eachString(v.present, func(int, []byte) error { return nil })
	case v.p.dictValues < 0:
		return damaged("values refer to a dictionary that is not there")
	case !t.ready:
		if err := eachText(v.p.dictionary, v.p.dictValues, func(int, []byte) error { return nil }); err != nil {
			return err
		}
		t.ready = true
	}
	_, err := v.indexes(v.present)
	return err
}

// unpack compares the checksums of a chunk's pages and unpacks them, and looks at no value.
func (w *worker) unpack(ctx context.Context, g, leaf int) error {
	e := w.r.leaf(leaf)
	c := &column{Column: table.Column{Name: e.Name}, leaf: leaf, physical: e.Physical, length: int(e.Length),
		maxRep: 1} // nobody counts the values of a list
	p, err := w.open(c, g, nil)
	for err == nil && p.left > 0 {
		if err = ctx.Err(); err == nil {
			err = p.unpack()
		}
	}
	var known *errs.Error
	if err == nil || errors.As(err, &known) || ctx.Err() != nil {
		return err
	}
	return w.r.place(err, c, g, p.start, nil)
}

func (p *pages) unpack() error {
	if p.w.r.layout != nil {
		return p.laid(new(values))
	}
	h, body, err := p.page()
	if err != nil {
		return err
	}
	if h.kind == dataPage || h.kind == dataPageV2 {
		p.left -= int64(h.values)
	}
	if h.kind == indexPage || h.stored {
		return nil
	}
	levels := int(h.repLen + h.defLen) // of version 2: not compressed
	_, err = p.plain(body[levels:], int(h.uncompressed)-levels)
	return err
}

// leaf is a leaf of the schema; the number of them was counted.
func (r *Reader) leaf(number int) *element {
	for i := range r.meta.schema {
		if e := &r.meta.schema[i]; e.leaf {
			if number == 0 {
				return e
			}
			number--
		}
	}
	return nil
}
