package parquet

import (
	"context"

	"github.com/gofast-org/gofast/gofast/table"
	"github.com/gofast-org/gofast/gofast/table/parquet/page"
)

// decodeLabel decodes one chunk of a label column: 8 bytes a row.
func (w *worker) decodeLabel(ctx context.Context, j *job, dst table.Target) error {
	i, c := j.outputs[0].at, j.outputs[0].c
	group := &w.r.meta.groups[j.group]
	n, columns := int(group.rows), len(dst.Kinds)
	out := dst.Labels[8*(int(group.first)*columns+i):]
	var cells []byte
	var err error
	switch kind := dst.Kinds[i]; {
	case c.Shape != nil && kind == table.FloatLabel:
		return labelLists[float64](ctx, w, c, j.group, out, 8*columns)
	case c.Shape != nil:
		return labelLists[int64](ctx, w, c, j.group, out, 8*columns)
	case kind == table.FloatLabel:
		cells, err = labelCells[float64](ctx, w, c, j.group, n)
	case kind == table.IntLabel:
		cells, err = labelCells[int64](ctx, w, c, j.group, n)
	default:
		cells, err = w.labelWords(ctx, c, j.group, n, dst.Dict[i])
	}
	if err != nil {
		return err
	}
	page.Best.Rows(page.Tile{Data: cells, ColumnBytes: 8 * n, Rows: n, Cols: 1, Size: 8}, out, 8*columns)
	return nil
}

func labelNumbers[T int64 | float64](w *worker, c *column) (*numbers[T], error) {
	d, err := newNumbers[T](w, c, nil, true)
	if err == nil {
		d.rounds = table.IsReal[T]()
	}
	return d, err
}

// labelLists decodes a chunk of lists, each value of which is a label, to their places in the rows.
func labelLists[T int64 | float64](ctx context.Context, w *worker, c *column, g int, out []byte, rowBytes int) error {
	d, err := labelNumbers[T](w, c)
	if err != nil {
		return err
	}
	return walkVector(ctx, w, d, g, nil, &rows[T]{data: out, rowBytes: rowBytes, width: c.width()})
}

func labelCells[T int64 | float64](ctx context.Context, w *worker, c *column, g, n int) ([]byte, error) {
	cells, err := cellsOf[T](w, &w.cells, n)
	if err != nil {
		return nil, err
	}
	d, err := labelNumbers[T](w, c)
	if err != nil {
		return nil, err
	}
	return table.Bytes(cells), w.walk(ctx, c, g, nil, func(v *values, first int64) error {
		return d.cells(v, cells[first:][:v.count])
	})
}

func (w *worker) labelWords(ctx context.Context, c *column, g, n int, dict *table.Dictionary) ([]byte, error) {
	ids, err := cellsOf[int64](w, &w.cells, n)
	if err != nil {
		return nil, err
	}
	t := &words{w: w, dict: dict, cache: dict.Cache()}
	return table.Bytes(ids), w.walk(ctx, c, g, nil, func(v *values, first int64) error {
		return t.labels(v, ids[first:][:v.count])
	})
}
