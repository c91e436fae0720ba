package parquet

import (
	"context"
	"errors"
	"fmt"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/internal/pool"
	"github.com/gofast-org/gofast/gofast/source"
	"github.com/gofast-org/gofast/gofast/table"
)

// op is the operation that errors of this package name.
const op = "parquet"

// Reader is one open Parquet file. It owns the file and the memory of the
// footer until Close.
type Reader struct {
	file     *source.File
	path     string
	opts     table.Options
	meta     *metadata
	columns  []column
	reserved int64   // of opts.Budget, until Close
	before   int     // row groups before those of a part
	op       string  // of errors
	group    string  // what a row group is called in them
	layout   *Layout // nil for Parquet
}

// Open reads the footer of a Parquet file. The reader owns f when there is no
// error.
func Open(f *source.File, opts table.Options) (reader table.Reader, err error) {
	defer pool.Recover(&err, op, f.Path())
	r := &Reader{file: f, path: f.Path(), opts: opts.WithDefaults(), op: op, group: "row group"}
	defer func() {
		if reader == nil {
			r.release(r.reserved)
		}
	}()
	if r.meta, err = r.readFooter(f); err != nil {
		return nil, err
	}
	return r.ready()
}

// ready makes the columns of the metadata.
func (r *Reader) ready() (table.Reader, error) {
	if err := r.buildColumns(r.meta); err != nil {
		return nil, err
	}
	if err := r.measureLists(); err != nil {
		return nil, err
	}
	usable := false
	for i := range r.columns {
		usable = usable || r.columns[i].why == "" || r.columns[i].tick != 0 || r.columns[i].binary != nil
	}
	if !usable {
		return nil, r.fault(errs.ErrUnsupported, "no column can be used; the first is "+r.columns[0].why).InColumn(r.columns[0].Name)
	}
	r.opts.Threads = r.opts.Fed(r.threadBytes())
	return r, nil
}

// threadBytes is what a thread may take: a decompressor, and bytes, values and dictionary indexes of a chunk and its pages.
// Most files have small pages, which only their headers tell.
func (r *Reader) threadBytes() int64 {
	chunk := int64(0)
	for _, g := range r.meta.groups {
		for _, c := range g.chunks {
			chunk = max(chunk, c.compressed+(8+4)*c.values)
		}
	}
	return min(4<<20+2*chunk, 20<<20)
}

// Columns lists the columns in file order, the index last. One that cannot be used (a struct, a
// date, ...) is listed too, and refused with its reason when it is selected:
// leaving it out would change the table without a word.
func (r *Reader) Columns() []table.Column {
	list := make([]table.Column, len(r.columns))
	for i := range r.columns {
		list[i] = r.columns[i].Column
	}
	return list
}

// Rows is the number of rows that the footer declares; Decode verifies it.
func (r *Reader) Rows() (n int64, exact bool) { return r.meta.rows, true }

// Close closes the file and gives the footer's memory back.
func (r *Reader) Close() error {
	r.release(r.reserved)
	return r.file.Close()
}

// use resolves the positions of a selection and refuses what cannot be used. Codings
// are those of features; nil for labels.
func (r *Reader) use(positions []int, label bool, codings map[int]table.Coding) ([]*column, error) {
	used := make([]*column, len(positions))
	for i, p := range positions {
		if p < 0 || p >= len(r.columns) {
			return nil, r.fault(errs.ErrSchema, fmt.Sprintf("column number %d of %d does not exist", p, len(r.columns)))
		}
		c := &r.columns[p]
		if coding, ok := codings[p]; ok {
			c = c.coded(coding)
		}
		switch {
		case c.tick != 0 && label:
			return nil, r.fault(errs.ErrUnsupported, "a date or time cannot be a label: turn it into numbers before writing").InColumn(c.Name)
		case c.tick != 0 && c.why != "":
			return nil, r.fault(errs.ErrUnsupported, c.why+"; or leave the column out with exclude=").InColumn(c.Name)
		case c.why != "":
			return nil, r.fault(errs.ErrUnsupported, c.why+"; leave the column out with columns=").InColumn(c.Name)
		case c.Text && !label:
			return nil, r.fault(errs.ErrUnsupported, "text cannot be a feature; number it with categories=, leave the column out with columns=, or make it the label").InColumn(c.Name)
		case label && c.kind == pixels:
			return nil, r.fault(errs.ErrUnsupported, "a label must be one value or one list of numbers a row, not a binary").InColumn(c.Name)
		}
		used[i] = c
	}
	return used, nil
}

// finish turns what a run of jobs returned into the catalogue's errors.
func (r *Reader) finish(err error) error {
	var known *errs.Error
	switch {
	case err == nil || errors.Is(err, table.ErrNarrow) || errors.As(err, &known):
		return err
	case errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded):
		return r.fault(errs.ErrCanceled, "decoding was cancelled").Because(err)
	default:
		return r.fault(errs.ErrInternal, "decoding failed").Because(err)
	}
}
