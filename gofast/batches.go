package gofast

import (
	"context"
	"fmt"
	"iter"

	"github.com/gofast-org/gofast/gofast/engine"
	"github.com/gofast-org/gofast/gofast/image"
	"github.com/gofast-org/gofast/gofast/internal/errs"
)

// Engine fills batches on its own threads, and keeps the memory of the last iteration for the
// next one. Close it when no iteration is running.
type Engine struct {
	*engine.Engine
	rings rings
}

// NewEngine starts an engine that keeps the given number of threads busy; 0 means
// as many as there are processors for this process, by affinity and cgroup quota.
func NewEngine(threads int) *Engine { return &Engine{Engine: engine.New(threads)} }

// Close finishes the queued work, stops the threads and gives the memory back. It may be called again.
func (e *Engine) Close() {
	e.Engine.Close()
	e.rings.close()
}

// Stats counts what an engine has done; see [engine.Stats]. [Engine.Stats] returns it.
type Stats = engine.Stats

// Trace is a file in the making that tells what threads do.
type Trace = engine.Trace

// StartTrace begins a trace of all threads and tickets of this process; see [engine.StartTrace]. Of each thread the last
// so many events are kept: 100,000 are 3 MB.
func StartTrace(path string, events int) (*Trace, error) { return engine.StartTrace(path, events) }

// lookAhead is the number of batches that Batches has under way.
const lookAhead = 4

// Batches iterates over the samples of order in batches of batchRows, filling a few
// batches ahead. Breaking out of the loop cancels the batches under way.
func (e *Engine) Batches(ctx context.Context, d *Dataset, order []int64, batchRows int) iter.Seq2[Batch, error] {
	return func(yield func(Batch, error) bool) {
		if batchRows < 1 {
			yield(Batch{}, errs.New(errs.ErrConfig, "batches", fmt.Sprintf("%d rows in a batch", batchRows)))
			return
		}
		ahead := ahead{dataset: d, order: order, rows: batchRows}
		if err := ahead.begin(); err != nil {
			yield(Batch{}, err)
			return
		}
		defer ahead.end()
		rowBytes, labelBytes := d.view.RowBytes(), d.view.LabelBytes()
		ring, err := e.rings.take(rowBytes * int64(batchRows))
		if err != nil {
			yield(Batch{}, err)
			return
		}
		defer e.rings.keep(ring)
		// Labels have a ring too, with one block for each slot.
		labels, err := e.rings.take(max(labelBytes*int64(batchRows), 1))
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
				f.lease.Release()
			}
		}()
		for {
			for failed == nil && len(flying) < lookAhead {
				p, ok, err := ahead.next(ctx, len(flying) == 0)
				if err == nil && !ok {
					break
				}
				var f flight
				if err == nil {
					f, err = e.launch(d, p, ring, labels)
				}
				if failed = err; err != nil {
					p.lease.Release()
					break
				}
				flying = append(flying, f)
			}
			if len(flying) == 0 {
				if failed != nil {
					yield(Batch{}, failed)
				}
				return
			}
			f := flying[0]
			if err := f.ticket.Wait(ctx); err != nil {
				yield(Batch{}, err)
				return
			}
			if f.slot.Status() == engine.Failed {
				if err := d.excuse(f.slot, f.indices); err != nil {
					yield(Batch{}, err)
					return
				}
			}
			f.lease.Release() // for what is fetched next
			rows := len(f.indices)
			b := Batch{Rows: rows, Features: f.slot.Bytes(rowBytes * int64(rows)), Labels: f.labels.Bytes(labelBytes * int64(rows)),
				features: d.DType, labels: d.LabelDType}
			e.HandedOut(int64(rows), int64(len(b.Features)))
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
	pull
}

func (e *Engine) launch(d *Dataset, p pull, ring, labelRing engine.Ring) (flight, error) {
	indices := p.indices
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
	ticket, err := e.Submit(engine.Request{View: d.view, Indices: indices, Records: records, BatchRows: len(indices),
		Slots: []engine.Slot{slot}, Labels: labels.Data()})
	if err != nil {
		slot.Release()
		labels.Release()
		return flight{}, err
	}
	return flight{ticket, slot, labels, p}, nil
}

// draw makes the records of a batch; nil if nothing is drawn.
func (d *Dataset) draw(e *Engine, indices []int64) ([]byte, error) {
	records, err := image.Draw(e.Engine, d.view, indices, d.OnError != nil)
	if bad, ok := err.(*errs.Error); ok && bad.Index != errs.None {
		return nil, d.at(bad.Index, bad)
	}
	return records, err
}
