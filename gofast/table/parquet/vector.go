package parquet

import (
	"bytes"
	"context"
	"fmt"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/table"
)

// sink takes the values of a column with several values a row, in order: value
// number first and the following, the rows' values one behind the other.
type sink[T table.Cell] interface {
	put(first int64, cells []T)
	// blank stands for n values that are missing and to be filled.
	blank(first int64, n int)
}

// rows is the sink that writes into the matrix.
type rows[T table.Cell] struct {
	data     []byte // from the first row's first value on
	rowBytes int
	width    int
	fill     []T // one value
}

func (r *rows[T]) put(first int64, cells []T) {
	row, at := int(first/int64(r.width)), int(first%int64(r.width))
	size := len(table.Bytes(cells[:1]))
	for len(cells) > 0 {
		n := min(r.width-at, len(cells))
		copy(r.data[row*r.rowBytes+at*size:], table.Bytes(cells[:n]))
		cells, row, at = cells[n:], row+1, 0
	}
}

func (r *rows[T]) blank(first int64, n int) {
	for i := range n {
		r.put(first+int64(i), r.fill)
	}
}

// decodeVector decodes one chunk of such a column into the matrix.
func decodeVector[T table.Cell](ctx context.Context, w *worker, j *job, sel table.Selection, m table.Matrix) error {
	o := j.outputs[0]
	d, err := newNumbers[T](w, o.c, sel.FillAt(o.at), false)
	if err != nil {
		return err
	}
	first := int(w.r.meta.groups[j.group].first)
	return walkVector(ctx, w, d.of(sel, m), j.group, nil, &rows[T]{data: m.Data[first*m.RowBytes()+o.at*m.Type.Size():],
		rowBytes: m.RowBytes(), width: o.c.width(), fill: []T{d.missing.value}})
}

func walkVector[T table.Cell](ctx context.Context, w *worker, d *numbers[T], g int, window []byte, to sink[T]) error {
	if d.c.kind == pixels {
		return w.walk(ctx, d.c, g, window, func(v *values, first int64) error {
			return walkPixels(d, v, first, to)
		})
	}
	l := &lists[T]{d: d, to: to, width: int64(d.c.width()), rows: w.r.meta.groups[g].rows}
	if err := w.walk(ctx, d.c, g, window, l.page); err != nil {
		return err
	}
	if rest := l.seen % l.width; rest != 0 {
		return w.r.fault(errs.ErrSchema, fmt.Sprintf("a list of %d values, where the first row has %d: all rows must have the same", rest, l.width)).
			AtRow(w.r.meta.groups[g].first+l.seen/l.width, d.c.Name)
	}
	if l.seen != l.rows*l.width {
		return w.r.fault(errs.ErrDamaged, fmt.Sprintf("%s %d: %d list values for %d rows of %d", w.r.group, g, l.seen, l.rows, l.width)).InColumn(d.c.Name)
	}
	return nil
}

// walkPixels puts a page of fixed-length binaries.
func walkPixels[T table.Cell](d *numbers[T], v *values, first int64, to sink[T]) error {
	width := d.c.width()
	all, err := v.binaries()
	if err != nil {
		return err
	}
	if images, ok := any(all).([]T); ok && v.defs == nil {
		if len(images) > 0 {
			to.put(first*int64(width), images)
		}
		return nil
	}
	row, err := cellsOf[T](d.w, &d.w.cells, width)
	if err != nil {
		return err
	}
	for i := range v.count {
		first := (first + int64(i)) * int64(width)
		if v.defs != nil && v.defs[i] != d.c.maxDef {
			if err := d.missing.note(i, "null"); err != nil {
				return err
			}
			to.blank(first, width)
			continue
		}
		for k, b := range all[:width] {
			row[k] = T(b)
		}
		to.put(first, row)
		all = all[width:]
	}
	return nil
}

// lists puts the pages of a list column, every row of which must have the same
// number of values. A row may go on from one page to the next.
type lists[T table.Cell] struct {
	d     *numbers[T]
	to    sink[T]
	width int64
	rows  int64
	seen  int64 // values so far, those of null lists counted
}

func (l *lists[T]) page(v *values, _ int64) error {
	cells, err := cellsOf[T](l.d.w, &l.d.w.cells, v.present)
	if err != nil {
		return err
	}
	if err := l.d.present(v, cells); err != nil {
		return l.d.orNull(v, err)
	}
	if v.defs != nil {
		return l.walk(v, cells)
	}
	// All present: the rows must start every width values. 2 billion a second.
	before := l.seen
	for at := 0; at < v.count; {
		n := int(min(l.width-l.seen%l.width, int64(v.count-at)))
		run := v.reps[at : at+n]
		if l.seen%l.width == 0 {
			if run[0] != 0 {
				return l.wrong(at, "more than")
			}
			run = run[1:]
		}
		if short := bytes.IndexByte(run, 0); short >= 0 {
			return l.wrong(at, "less than")
		}
		at, l.seen = at+n, l.seen+int64(n)
	}
	if l.seen > l.rows*l.width {
		return damaged("more rows than the %d declared", l.rows)
	}
	if len(cells) > 0 {
		l.to.put(before, cells)
	}
	return nil
}

// walk goes through a page with null lists, null values or empty lists.
func (l *lists[T]) walk(v *values, cells []T) error {
	for i, rep := range v.reps {
		def := v.defs[i]
		switch {
		case rep == 0 && l.seen%l.width != 0:
			return l.wrong(i-1, "less than")
		case rep != 0 && l.seen%l.width == 0:
			return l.wrong(i, "more than")
		case l.seen >= l.rows*l.width:
			return damaged("more rows than the %d declared", l.rows)
		case def == l.d.c.maxDef:
			l.to.put(l.seen, cells[:1])
			cells = cells[1:]
			l.seen++
			continue
		case def == l.d.c.listDef:
			return l.wrong(i, "less than")
		}
		if err := l.d.missing.note(i, "null"); err != nil {
			return err
		}
		n := int64(1)
		if def < l.d.c.listDef {
			n = l.width
		}
		l.to.blank(l.seen, int(n))
		l.seen += n
	}
	return nil
}

func (l *lists[T]) wrong(at int, than string) error {
	return fault{kind: errs.ErrSchema, here: true, value: max(at, 0),
		text: fmt.Sprintf("a list of %s %d values, which the first row has: all rows must have the same", than, l.width)}
}

// rowsUntil is the number of rows that start in the page up to and with a value,
// less one: the number of that value's row, counted from the page's first.
func (v *values) rowsUntil(value int) int64 {
	return int64(bytes.Count(v.reps[:value+1], []byte{0})) - 1
}

// measureLists finds the width of every list column in its first row.
func (r *Reader) measureLists() error {
	w := &worker{r: r}
	defer w.close()
	for i := range r.columns {
		c := &r.columns[i]
		if !c.list || c.why != "" {
			continue
		}
		width, err := w.measure(c)
		switch {
		case errsUnsupported(err):
			c.why = err.Error()
		case err != nil:
			return err
		case width == 0:
			c.why = "a list column whose lists are all empty or null"
		}
		c.Shape = []int{max(width, 1)}
	}
	return nil
}

// measure counts the values of the first list that is not null.
func (w *worker) measure(c *column) (width int, err error) {
	found, done := false, false
	for g := range w.r.meta.groups {
		err := w.walk(context.Background(), c, g, nil, func(v *values, _ int64) error {
			for i, rep := range v.reps {
				def := c.maxDef
				if v.defs != nil {
					def = v.defs[i]
				}
				switch {
				case rep == 0 && found:
					done = true
					return errMeasured
				case rep == 0 && def < c.listDef:
					continue
				case rep == 0:
					found = true
				}
				if def > c.listDef {
					width++
				}
			}
			return nil
		})
		if found && (err == nil || done) {
			return width, nil
		}
		if err != nil {
			return 0, err
		}
	}
	return width, nil
}

var errMeasured = fault{kind: errs.ErrInternal, text: "measured"}

func errsUnsupported(err error) bool { return err != nil && errs.Name(err) == "Unsupported" }

var _ table.Reader = (*Reader)(nil)
