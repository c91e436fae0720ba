package parquet

import (
	"context"
	"unsafe"

	"github.com/gofast-org/gofast/gofast/decode"
	"github.com/gofast-org/gofast/gofast/internal/kernel/page"
)

// Decode implements decode.Reader.
func (r *Reader) Decode(ctx context.Context, sel decode.Selection, dst decode.Target) (rows int64, err error) {
	features, err := r.use(sel.Features, false)
	if err != nil {
		return 0, err
	}
	labels, err := r.use(sel.Labels, true)
	if err != nil {
		return 0, err
	}
	if err := r.checkTarget(features, labels, dst); err != nil {
		return 0, err
	}
	do := decodeFeatures[uint8]
	switch dst.Features.Type {
	case decode.Int16:
		do = decodeFeatures[int16]
	case decode.Int32:
		do = decodeFeatures[int32]
	case decode.Int64:
		do = decodeFeatures[int64]
	case decode.Float32:
		do = decodeFeatures[float32]
	case decode.Float64:
		do = decodeFeatures[float64]
	}
	err = r.each(ctx, r.jobs(features, labels, dst.Features.Type.Size()), func(ctx context.Context, w *worker, j *job) error {
		if j.label {
			return w.decodeLabel(ctx, j, dst)
		}
		return do(ctx, w, j, sel.Fill, dst.Features)
	})
	return r.meta.rows, err
}

// decodeFeatures does one job: a tile, or a column with several values a row.
func decodeFeatures[T cell](ctx context.Context, w *worker, j *job, fill *float64, m decode.Matrix) error {
	windows, err := w.windows(j)
	if err != nil {
		return err
	}
	group := &w.r.meta.groups[j.group]
	out := m.Data[int(group.first)*m.RowBytes()+j.outputs[0].at*m.Type.Size():]
	if j.outputs[0].c.Shape != nil {
		to := &rows[T]{data: out, rowBytes: m.RowBytes(), width: j.outputs[0].c.width()}
		return decodeVector(ctx, w, j, windows, fill, to)
	}
	n := int(group.rows)
	cells, err := cellsOf[T](w, &w.cells, n*len(j.outputs))
	if err != nil {
		return err
	}
	for i, o := range j.outputs {
		if err := decodeColumn(ctx, w, o.c, j.group, window(windows, i), fill, cells[i*n:(i+1)*n]); err != nil {
			return err
		}
	}
	size := m.Type.Size()
	page.Best.Rows(page.Tile{Data: bytesOf(cells), ColumnBytes: n * size, Rows: n, Cols: len(j.outputs), Size: size}, out, m.RowBytes())
	return nil
}

// decodeColumn decodes one chunk of a column with one value a row.
func decodeColumn[T cell](ctx context.Context, w *worker, c *column, g int, window []byte, fill *float64, dst []T) error {
	d, err := newNumbers[T](w, c, fill, false)
	if err != nil {
		return err
	}
	// open checked that the chunk declares as many values as there are rows, and
	// the walk that its pages hold exactly those.
	return w.walk(ctx, c, g, window, func(v *values, first int64) error {
		return d.cells(v, dst[first:][:v.count])
	})
}

func window(windows [][]byte, i int) []byte {
	if windows == nil {
		return nil
	}
	return windows[i]
}

// bytesOf views cells as bytes.
func bytesOf[T cell](cells []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(cells))), len(cells)*int(unsafe.Sizeof(*new(T))))
}
