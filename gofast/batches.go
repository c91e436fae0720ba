package gofast

import (
	"context"
	"iter"

	"github.com/gofast-org/gofast/gofast/engine"
	"github.com/gofast-org/gofast/gofast/image"
	"github.com/gofast-org/gofast/gofast/internal/errs"
)

// Engine fills batches on its own threads, and keeps the memory of the last iteration for the
// next one. Close it at the end: iterations that still run then end with ErrClosed.
type Engine struct {
	engine *engine.Engine
	rings  rings
}

// NewEngine starts an engine that keeps the given number of threads busy; 0 means
// as many as there are processors for this process, by affinity and cgroup quota.
func NewEngine(threads int) *Engine { return &Engine{engine: engine.New(threads)} }

// check refuses an engine that was not made by NewEngine.
func (e *Engine) check() error {
	if e == nil || e.engine == nil {
		return errs.New(errs.ErrConfig, "engine", "there is no engine: make one with NewEngine")
	}
	return nil
}

// Close finishes the queued work, stops the threads and gives the memory back. It may be called again.
func (e *Engine) Close() {
	if e.check() == nil {
		e.engine.Close()
		e.rings.close()
	}
}

// ThreadCount is the number of threads that the engine keeps busy, the waiting caller's included.
func (e *Engine) ThreadCount() int {
	if e.check() != nil {
		return 0
	}
	return e.engine.ThreadCount()
}

// Stats counts what an engine has done; see [engine.Stats].
type Stats = engine.Stats

// Stats returns the counters. An engine that is closed keeps them.
func (e *Engine) Stats() Stats {
	if e.check() != nil {
		return Stats{}
	}
	return e.engine.Stats()
}

// lookAhead is the number of batches that Batches has under way.
const lookAhead = 4

// Batches iterates over the samples of order in batches of batchRows, filling a few
// batches ahead. Breaking out of the loop cancels the batches under way, and so does the end
// of ctx, whose error comes then.
func (e *Engine) Batches(ctx context.Context, d *Dataset, order []int64, batchRows int) iter.Seq2[Batch, error] {
	return func(yield func(Batch, error) bool) {
		if err := (Loader{e, d, batchRows}).hold(); err != nil {
			yield(Batch{}, err)
			return
		}
		defer d.release()
		rows := min(batchRows, len(order))
		rowBytes, labelBytes := d.view.RowBytes(), d.view.LabelBytes()
		ring, err := e.rings.take(rowBytes * int64(rows))
		if err != nil {
			yield(Batch{}, err)
			return
		}
		defer e.rings.keep(ring)
		// Labels have a ring too, with one block for each slot.
		labels, err := e.rings.take(max(labelBytes*int64(rows), 1))
		if err != nil {
			yield(Batch{}, err)
			return
		}
		defer e.rings.keep(labels)

		var flying []flight
		var failed error // of the batch behind those that are flying: it is given in its turn, as torch raises it
		defer func() {
			for _, f := range flying {
				f.ticket.Cancel()
				f.ticket.Release()
				f.slot.Release()
				f.labels.Release()
			}
		}()
		for {
			if err := ctx.Err(); err != nil { // Wait asks only where a batch is not ready
				yield(Batch{}, errs.Ended(err, "batches"))
				return
			}
			for failed == nil && len(flying) < lookAhead && len(order) > 0 {
				indices := order[:min(rows, len(order))]
				f, err := e.launch(d, indices, ring, labels)
				if failed = err; err != nil {
					break
				}
				flying, order = append(flying, f), order[len(indices):]
			}
			if len(flying) == 0 {
				if failed != nil {
					yield(Batch{}, failed)
				}
				return
			}
			f := flying[0]
			if err := f.ticket.Wait(ctx); err != nil {
				yield(Batch{}, errs.Ended(err, "batches"))
				return
			}
			if f.slot.Status() == engine.Failed {
				if err := d.excuse(f.slot, f.indices); err != nil {
					yield(Batch{}, err)
					return
				}
			}
			rows := len(f.indices)
			b := Batch{Rows: rows, Features: f.slot.Bytes(rowBytes * int64(rows)), Labels: f.labels.Bytes(labelBytes * int64(rows)),
				features: d.DType, labels: d.LabelDType}
			e.engine.HandedOut(int64(rows), int64(len(b.Features)))
			more := yield(b, nil)
			flying = flying[1:]
			f.ticket.Release()
			f.slot.Release()
			f.labels.Release()
			if !more {
				return
			}
		}
	}
}

// flight is one batch on its way.
type flight struct {
	ticket       *engine.Ticket
	slot, labels engine.Slot
	indices      []int64
}

func (e *Engine) launch(d *Dataset, indices []int64, ring, labelRing engine.Ring) (flight, error) {
	records, err := d.draw(e, indices)
	if err != nil {
		return flight{}, err
	}
	slot, ok := ring.Acquire()
	labels, ok2 := labelRing.Acquire()
	if !ok || !ok2 { // cannot happen: there are as many slots as flights
		return flight{}, errs.New(errs.ErrInternal, "batches", "no free slot")
	}
	slot.Describe(int64(len(indices)), nil, 0, 0)
	ticket, err := e.engine.Submit(engine.Request{View: d.view, Indices: indices, Records: records, BatchRows: len(indices),
		Slots: []engine.Slot{slot}, Labels: labels.Data()})
	if err != nil {
		slot.Release()
		labels.Release()
		return flight{}, err
	}
	return flight{ticket, slot, labels, indices}, nil
}

// draw makes the records of a batch; nil if nothing is drawn. An index below 0 is refused: the core's views count it from
// the end, as Python does, and Go does not.
func (d *Dataset) draw(e *Engine, indices []int64) ([]byte, error) {
	for _, index := range indices {
		if index < 0 {
			return nil, d.noSample(index)
		}
	}
	records, err := image.Draw(e.engine, d.view, indices, d.OnError != nil)
	if bad, ok := err.(*errs.Error); ok && bad.Index != errs.None {
		return nil, d.at(bad.Index, bad)
	}
	return records, err
}
