package parquet

import (
	"context"
	"errors"
	"math"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/internal/pool"
	"github.com/gofast-org/gofast/gofast/table"
)

// faults are what is wrong with cells of one Decode or Range, whose jobs are in the order of columns: the first row's
// is the answer.
type faults struct {
	pool.First
	r *Reader
}

// note keeps a fault of a column of a job. Its rows are not all that can be wrong: any other error ends the work at once.
func (f *faults) note(err error, j *job, o output) error {
	if err == nil || errors.Is(err, table.ErrNarrow) || errors.Is(err, errs.ErrLimit) || errors.Is(err, context.Canceled) ||
		errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	column := o.at
	if j.label { // of one row, labels come before features, as in a text file
		column -= math.MaxInt32
	}
	f.Note(pool.PlaceOf(err, f.r.meta.groups[j.group].first, column), err)
	return nil
}

// or is an error that ended the work, or the fault that stands first.
func (f *faults) or(err error) error {
	if err == nil {
		err = f.r.finish(f.Err())
	}
	return err
}

// each does the jobs that may hold the first fault. A fault that do returns is of the job's first column.
func (f *faults) each(ctx context.Context, c *crew, jobs []job, do func(ctx context.Context, w *worker, j *job) error) error {
	return c.each(ctx, len(jobs), func(ctx context.Context, w *worker, i int) error {
		j := &jobs[i]
		if f.Before(f.r.meta.groups[j.group].first) {
			return nil
		}
		return f.note(do(ctx, w, j), j, j.outputs[0])
	})
}

// columns does one column of a job after the other: behind a fault too, as the next one's may be in an earlier row.
func (w *worker) columns(j *job, f *faults, do func(o output, window []byte) error) error {
	windows, err := w.windows(j)
	if err != nil {
		return err
	}
	for i, o := range j.outputs {
		var window []byte
		if windows != nil {
			window = windows[i]
		}
		if err := f.note(do(o, window), j, o); err != nil {
			return err
		}
	}
	return nil
}
