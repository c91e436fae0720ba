package parquet

import (
	"context"
	"errors"
	"math"
	"sync"

	"github.com/gofast-org/gofast/gofast/table"
)

// Range implements table.Reader: the same walk as Decode's, into the widest
// type of the column, page by page.
func (r *Reader) Range(ctx context.Context, sel table.Selection) (features table.Range, err error) {
	featureColumns, err := r.use(sel.Features, false, sel.Codings)
	if err != nil {
		return features, err
	}
	// What the schema says holds for a column without rows, too.
	for _, c := range featureColumns {
		features.Float = features.Float || c.kind.isFloat()
	}
	var mu sync.Mutex
	tiles, jobs := r.plan(featureColumns, nil, 1, tileBytes)
	for _, t := range tiles {
		jobs = append(jobs, t.jobs...)
	}
	crew := r.newCrew()
	defer crew.done()
	first := faults{r: r}
	err = first.each(ctx, crew, jobs, func(ctx context.Context, w *worker, j *job) error {
		return w.columns(j, &first, func(o output, window []byte) error {
			seen, err := w.scan(ctx, o.c, j, window, sel, o.at)
			mu.Lock()
			defer mu.Unlock()
			features.Merge(seen)
			return err
		})
	})
	return features, first.or(err)
}

// scan looks at one chunk.
func (w *worker) scan(ctx context.Context, c *column, j *job, window []byte, sel table.Selection, at int) (table.Range, error) {
	if c.kind.isFloat() {
		return scanAs[float64](ctx, w, c, j, window, sel, at)
	}
	return scanAs[int64](ctx, w, c, j, window, sel, at)
}

func scanAs[T int64 | float64](ctx context.Context, w *worker, c *column, j *job, window []byte, sel table.Selection, at int) (table.Range, error) {
	fill := sel.FillAt(at)
	d, err := newNumbers[T](w, c, fill, false)
	if err != nil {
		return table.Range{}, err
	}
	d.of(sel, table.Matrix{})
	// Whether the fill value fits is asked of the type that is chosen later.
	d.missing.fits = true
	if table.IsReal[T]() {
		d.missing.value = T(math.NaN()) // stays NaN, which extent ignores
	}
	seen := &extent[T]{}
	if c.Shape != nil {
		err = walkVector(ctx, w, d, j.group, window, seen)
	} else {
		err = w.walk(ctx, c, j.group, window, func(v *values, first int64) error {
			cells, err := cellsOf[T](w, &w.cells, v.present)
			if err != nil {
				return err
			}
			if err := d.present(v, cells); err != nil {
				return d.orNull(v, err)
			}
			seen.put(first, cells)
			if v.defs != nil {
				return d.missing.note(firstNull(v), "null")
			}
			return nil
		})
	}
	if errors.Is(err, table.ErrNarrow) { // nothing else is wider than what is scanned into
		return table.Range{Beyond: true}, nil
	}
	if d.missing.used && fill != nil {
		// It becomes part of the table.
		if v, fits := table.FitReal[int64](*fill); fits {
			seen.Int(v)
		} else {
			seen.Real(*fill)
		}
	}
	return seen.Range, err
}

// extent is the sink that keeps the smallest and largest value.
type extent[T int64 | float64] struct {
	table.Range
}

func (e *extent[T]) put(_ int64, cells []T) {
	numbers := table.CellsOf(table.TypeOf[T]())
	for at := 0; at >= 0; cells = cells[at+1:] { // without NaN
		at = numbers.Note(table.Bytes(cells), &e.Range)
	}
}

func (e *extent[T]) blank(int64, int) {}
