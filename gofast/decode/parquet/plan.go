package parquet

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/gofast-org/gofast/gofast/decode"
	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/internal/pool"
)

// A tile is decoded column by column and then written as rows. 64 columns of
// bytes are a cache line of every row; large row groups take fewer, so that a
// worker's tile stays near tileBytes, but at least leastLine bytes of a row.
const (
	tileColumns = 64
	tileBytes   = 4 << 20
	leastLine   = 16
)

// output is a column and its place in the matrix.
type output struct {
	c  *column
	at int // first column of the matrix, or the number of the label
}

// job is what one goroutine does at a time: some columns of one row group. A
// column with several values a row, and a label, is a job of its own.
type job struct {
	group   int
	label   bool
	outputs []output
}

// jobs cuts the work. size is the bytes of one cell.
func (r *Reader) jobs(features, labels []*column, size int) []job {
	var list []job
	for g := range r.meta.groups {
		rows := r.meta.groups[g].rows
		if rows == 0 {
			continue
		}
		most := tileColumns
		for most*size > leastLine && rows*int64(most*size) > tileBytes {
			most /= 2
		}
		at := 0
		var tile []output
		cut := func() {
			if len(tile) > 0 {
				list = append(list, job{group: g, outputs: tile})
			}
			tile = nil
		}
		for _, c := range features {
			if c.Shape != nil || len(tile) == most {
				cut()
			}
			tile = append(tile, output{c, at})
			at += c.width()
			if c.Shape != nil {
				cut()
			}
		}
		cut()
		for i, c := range labels {
			list = append(list, job{group: g, label: true, outputs: []output{{c, i}}})
		}
	}
	return list
}

// each runs the jobs on the reader's threads; do gets a worker of its own.
func (r *Reader) each(ctx context.Context, list []job, do func(ctx context.Context, w *worker, j *job) error) error {
	threads := max(min(r.opts.Threads, len(list)), 1)
	var mu sync.Mutex
	idle := make([]*worker, 0, threads)
	for range threads {
		idle = append(idle, &worker{r: r})
	}
	defer func() {
		for _, w := range idle {
			w.close()
		}
	}()
	err := pool.Each(ctx, threads, len(list), func(ctx context.Context, i int) (err error) {
		mu.Lock()
		w := idle[len(idle)-1]
		idle = idle[:len(idle)-1]
		mu.Unlock()
		defer func() {
			mu.Lock()
			idle = append(idle, w)
			mu.Unlock()
		}()
		defer pool.Recover(&err, op, r.path)
		if err := do(ctx, w, &list[i]); err != nil {
			return err
		}
		if r.opts.Progress != nil {
			r.opts.Progress(list[i].bytes(r))
		}
		return nil
	})
	return r.finish(err)
}

// bytes is what the job reads of the file.
func (j *job) bytes(r *Reader) int64 {
	total := int64(0)
	for _, o := range j.outputs {
		total += r.meta.groups[j.group].chunks[o.c.leaf].compressed
	}
	return total
}

// Neighbours are read together when little lies between them.
const (
	readTogether = 16 << 20
	readBetween  = 64 << 10
)

// windows reads the chunks of a job with one pread where they lie close
// together; nil where they are better read page by page.
func (w *worker) windows(j *job) ([][]byte, error) {
	r := w.r
	chunks := r.meta.groups[j.group].chunks
	start, end, sum := int64(-1), int64(0), int64(0)
	for _, o := range j.outputs {
		k := &chunks[o.c.leaf]
		if k.foreign {
			return nil, nil // refused by open
		}
		if start < 0 || k.offset < start {
			start = k.offset
		}
		end = max(end, k.offset+k.compressed)
		sum += k.compressed
	}
	if end-start > readTogether || end-start > sum+readBetween {
		return nil, nil
	}
	all, err := grow(w, &w.window, int(end-start))
	if err != nil {
		return nil, err
	}
	if err := r.file.ReadFull(all, start); err != nil {
		return nil, err
	}
	list := make([][]byte, len(j.outputs))
	for i, o := range j.outputs {
		k := &chunks[o.c.leaf]
		list[i] = all[k.offset-start:][:k.compressed]
	}
	return list, nil
}

// walk visits every data page of one column chunk. first is the number of the
// page's first value within the chunk.
func (w *worker) walk(ctx context.Context, c *column, g int, window []byte, visit func(v *values, first int64) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	p, err := w.open(c, g, window)
	if err != nil {
		return err
	}
	var v values
	first, rowsBefore := int64(0), w.r.meta.groups[g].first
	row := func(value int) int64 {
		if v.reps == nil {
			return rowsBefore + first + int64(value)
		}
		return rowsBefore + v.rowsUntil(value)
	}
	for {
		more, err := p.next(&v)
		if err == nil && more {
			err = visit(&v, first)
		}
		if err != nil {
			return w.r.place(err, c, g, p.start, row)
		}
		if !more {
			return nil
		}
		first += int64(v.count)
		if v.reps != nil {
			rowsBefore += v.rowsUntil(v.count-1) + 1
		}
	}
}

// checkTarget holds the memory that Decode was given against the selection.
func (r *Reader) checkTarget(features, labels []*column, dst decode.Target) error {
	width := 0
	for _, c := range features {
		width += c.width()
	}
	rows := r.meta.rows
	bad := func(what string) error {
		return r.fault(errs.ErrInternal, "the target does not fit the selection: "+what)
	}
	switch {
	case dst.Features.Type == decode.Invalid || dst.Features.Type > decode.Float64 || dst.Features.Width != width:
		return bad(fmt.Sprintf("%d values of %v a row, %d expected", dst.Features.Width, dst.Features.Type, width))
	case rows > 0 && int64(len(dst.Features.Data))/rows < int64(dst.Features.RowBytes()):
		return bad(fmt.Sprintf("%d bytes for %d rows", len(dst.Features.Data), rows))
	case len(dst.Kinds) != len(labels) || len(labels) > 0 && rows > 0 && int64(len(dst.Labels))/rows < int64(8*len(labels)):
		return bad("labels")
	}
	for i, c := range labels {
		text := dst.Kinds[i] == decode.TextLabel
		switch {
		case text && !c.Text:
			return r.fault(errs.ErrSchema, "the label holds numbers here and text in another file").InColumn(c.Name)
		case text && (i >= len(dst.Dict) || dst.Dict[i] == nil):
			return bad("no dictionary for a text label")
		case !text && c.Text:
			return decode.ErrNarrow
		case dst.Kinds[i] == decode.IntLabel && c.kind.isFloat():
			return decode.ErrNarrow
		}
	}
	if dst.Features.Type < decode.Float32 && slices.ContainsFunc(features, func(c *column) bool { return c.kind.isFloat() }) {
		return decode.ErrNarrow
	}
	return nil
}
