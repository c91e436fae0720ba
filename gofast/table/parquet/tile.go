package parquet

import (
	"context"
	"fmt"
	"slices"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/table"
	"github.com/gofast-org/gofast/gofast/table/parquet/page"
)

// Decode implements table.Reader.
func (r *Reader) Decode(ctx context.Context, sel table.Selection, dst table.Target) (rows int64, err error) {
	features, err := r.use(sel.Features, false, sel.Codings)
	if err != nil {
		return 0, err
	}
	labels, err := r.use(sel.Labels, true, nil)
	if err != nil {
		return 0, err
	}
	if err := r.checkTarget(features, labels, dst); err != nil {
		return 0, err
	}
	return r.meta.rows, decoders[dst.Features.Type](ctx, r, features, labels, sel, dst)
}

var decoders = [...]func(ctx context.Context, r *Reader, features, labels []*column, sel table.Selection, dst table.Target) error{
	table.Uint8: decodeAs[uint8], table.Int16: decodeAs[int16], table.Int32: decodeAs[int32],
	table.Int64: decodeAs[int64], table.Float32: decodeAs[float32], table.Float64: decodeAs[float64]}

// decodeAs decodes tile after tile. The memory of a tile is the crew's, and used
// again for the next.
func decodeAs[T table.Cell](ctx context.Context, r *Reader, features, labels []*column, sel table.Selection, dst table.Target) error {
	crew := r.newCrew()
	defer crew.done()
	m := dst.Features
	tiles, jobs := r.plan(features, labels, m.Type.Size(), crew.widest())
	first := faults{r: r}
	for _, t := range append(tiles, nil) {
		if t != nil && first.Before(t.first) {
			continue
		}
		var cells []T
		if t != nil {
			b, err := crew.tile.bytes(int(t.rows) * len(t.outputs) * m.Type.Size())
			if err != nil {
				return err
			}
			cells = table.View[T](b)
			// What needs no tile is done beside the first.
			jobs = append(jobs, t.jobs...)
		}
		if err := first.each(ctx, crew, jobs, func(ctx context.Context, w *worker, j *job) error {
			defer j.done(r)
			switch {
			case j.label:
				return w.decodeLabel(ctx, j, dst)
			case j.tile == nil:
				return decodeVector[T](ctx, w, j, sel, m)
			default:
				return w.columns(j, &first, func(o output, window []byte) error {
					return decodeColumn(ctx, w, j, o, window, sel, m, cells)
				})
			}
		}); err != nil {
			return err
		}
		jobs = nil
		if t == nil || first.Err() != nil {
			continue
		}
		if err := writeRows(ctx, crew, t, table.Bytes(cells), m); err != nil {
			return err
		}
	}
	if err := first.or(nil); err != nil {
		return err
	}
	crew.met = true
	return nil
}

// rowsAtOnce is how many rows of a tile one goroutine writes: a few pages of the
// matrix, so that no two fault on the same one for long.
const rowsAtOnce = 2048

// writeRows turns the columns of a tile into rows of the matrix.
func writeRows(ctx context.Context, crew *crew, t *tile, cells []byte, m table.Matrix) error {
	size, rows := m.Type.Size(), int(t.rows)
	parts := (rows + rowsAtOnce - 1) / rowsAtOnce
	return crew.each(ctx, parts, func(_ context.Context, _ *worker, i int) error {
		first := i * rowsAtOnce
		out := m.Data[(int(t.first)+first)*m.RowBytes()+t.outputs[0].at*size:]
		page.Best.Rows(page.Tile{Data: cells[first*size:], ColumnBytes: rows * size, Rows: min(rowsAtOnce, rows-first),
			Cols: len(t.outputs), Size: size}, out, m.RowBytes())
		return nil
	})
}

// decodeColumn decodes a column of a job into its tile.
func decodeColumn[T table.Cell](ctx context.Context, w *worker, j *job, o output, window []byte, sel table.Selection, m table.Matrix, cells []T) error {
	t, group := j.tile, &w.r.meta.groups[j.group]
	d, err := newNumbers[T](w, o.c, sel.FillAt(o.at), false)
	if err != nil {
		return err
	}
	d.of(sel, m)
	column := int64(o.at-t.outputs[0].at)*t.rows + group.first - t.first
	dst := cells[column:][:group.rows]
	// open checked that the chunk declares as many values as there are rows,
	// and the walk that its pages hold exactly those.
	return w.walk(ctx, o.c, j.group, window, func(v *values, first int64) error {
		return d.cells(v, dst[first:][:v.count])
	})
}

// checkTarget holds the memory that Decode was given against the selection.
func (r *Reader) checkTarget(features, labels []*column, dst table.Target) error {
	width := 0
	for _, c := range features {
		width += c.width()
	}
	rows := r.meta.rows
	bad := func(what string) error {
		return r.fault(errs.ErrInternal, "the target does not fit the selection: "+what)
	}
	switch {
	case dst.Features.Type == table.Invalid || dst.Features.Type > table.Float64 || dst.Features.Width != width:
		return bad(fmt.Sprintf("%d values of %v a row, %d expected", dst.Features.Width, dst.Features.Type, width))
	case rows > 0 && int64(len(dst.Features.Data))/rows < int64(dst.Features.RowBytes()):
		return bad(fmt.Sprintf("%d bytes for %d rows", len(dst.Features.Data), rows))
	case len(dst.Kinds) != len(labels) || len(labels) > 0 && rows > 0 && int64(len(dst.Labels))/rows < int64(8*len(labels)):
		return bad("labels")
	}
	for i := 0; i < len(labels); i += labels[i].width() {
		for k := range labels[i].width() {
			if i+k >= len(labels) || labels[i+k] != labels[i] {
				return bad("a list of labels")
			}
		}
	}
	for i, c := range labels {
		text := dst.Kinds[i] == table.TextLabel
		switch {
		case text && !c.Text:
			return r.fault(errs.ErrSchema, "the label holds numbers here and text in another file").InColumn(c.Name)
		case text && (i >= len(dst.Dict) || dst.Dict[i] == nil):
			return bad("no dictionary for a text label")
		case !text && c.Text:
			return table.ErrNarrow
		case dst.Kinds[i] == table.IntLabel && c.kind.isFloat():
			return table.ErrNarrow
		}
	}
	if dst.Features.Type < table.Float32 && slices.ContainsFunc(features, func(c *column) bool { return c.kind.isFloat() }) {
		return table.ErrNarrow
	}
	return nil
}
