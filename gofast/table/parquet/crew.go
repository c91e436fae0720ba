package parquet

import (
	"context"
	"sync"

	"github.com/gofast-org/gofast/gofast/internal/pool"
)

// crew is the workers of a Decode or Range, and of those after it where there is a
// table.Scratch.
type crew struct {
	r    *Reader
	mu   sync.Mutex
	idle []*worker
	size int
	tile tileMemory
	met  bool // it has decoded before: its workers have what they need, most probably
}

func (r *Reader) newCrew() *crew {
	c, ok := r.opts.Scratch.Take().(*crew)
	if !ok {
		c = &crew{size: r.opts.Threads}
		for range c.size {
			c.idle = append(c.idle, &worker{})
		}
	}
	c.r, c.tile.r = r, r
	for _, w := range c.idle {
		w.r = r
	}
	return c
}

// widest is how many bytes a tile may have. pyarrow's own row groups have 2^20 rows, of which tileBytes are 4 columns
// of float32: of 20 columns, a stream with memory="420MB" took 2.0 s for 24 million rows, and 1.4 with all in one tile
// (2 cores, 2026-11). Where workers need more than the tileBytes that are left, load decodes again with a new crew.
func (c *crew) widest() int64 {
	if !c.met {
		return tileBytes
	}
	return max(tileBytes, c.r.opts.Budget.Left()+int64(len(c.tile.b))-tileBytes)
}

// done ends a run of jobs.
func (c *crew) done() { c.r.opts.Scratch.Leave(c) }

// Close gives the memory back.
func (c *crew) Close() error {
	for _, w := range c.idle {
		w.close()
	}
	c.tile.free()
	return nil
}

// each calls do for 0..n-1 on the crew's threads, with a worker of its own.
func (c *crew) each(ctx context.Context, n int, do func(ctx context.Context, w *worker, i int) error) error {
	return c.r.finish(pool.Each(ctx, c.size, n, func(ctx context.Context, i int) (err error) {
		c.mu.Lock()
		w := c.idle[len(c.idle)-1]
		c.idle = c.idle[:len(c.idle)-1]
		c.mu.Unlock()
		defer func() {
			c.mu.Lock()
			c.idle = append(c.idle, w)
			c.mu.Unlock()
		}()
		defer pool.Recover(&err, c.r.op, c.r.path)
		return do(ctx, w, i)
	}))
}

// done reports the job's bytes to the caller's progress.
func (j *job) done(r *Reader) {
	if r.opts.Progress == nil {
		return
	}
	total := int64(0)
	for _, o := range j.outputs {
		total += r.meta.groups[j.group].chunks[o.c.leaf].compressed
	}
	r.opts.Progress(total)
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
