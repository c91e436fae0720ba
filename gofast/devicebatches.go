package gofast

import (
	"context"
	"errors"
	"iter"
	"slices"
	"unsafe"

	"github.com/gofast-org/gofast/gofast/device"
	"github.com/gofast-org/gofast/gofast/engine"
	"github.com/gofast-org/gofast/gofast/internal/errs"
)

// DeviceBatch is a batch that is on a device, or on its way there: see Ready and Wait. It
// is valid until the iteration moves on. What the program has put on the streams of Ready
// by then is done before the batch's memory is used again; other work of the program on
// it must be over.
type DeviceBatch struct {
	Rows     int
	Features uint64 // the address on the device of Rows x the output row or picture
	Labels   uint64 // of Rows x the output label; 0 without labels

	loader *DeviceLoader
	buffer *buffer
	move   device.Move
}

// Ready lets what the program puts on a stream from now on wait for the batch. No thread
// waits for anything.
func (b DeviceBatch) Ready(stream device.Stream) error {
	if err := b.valid(); err != nil {
		return err
	}
	if err := b.loader.device.Receive(b.move, stream); err != nil {
		return err
	}
	if !slices.Contains(b.buffer.streams, stream) {
		b.buffer.streams = append(b.buffer.streams, stream)
	}
	return nil
}

// Wait returns when the batch has arrived, or ctx ends: for programs without a stream.
func (b DeviceBatch) Wait(ctx context.Context) error {
	if err := b.valid(); err != nil {
		return err
	}
	return b.loader.device.Wait(ctx, b.move)
}

// CopyOut waits for the batch and copies it to the host, into memory of Go's: for tests and
// small programs.
func (b DeviceBatch) CopyOut(ctx context.Context) (Batch, error) {
	if err := b.Wait(ctx); err != nil {
		return Batch{}, err
	}
	d := b.loader.loader.Dataset
	made := Batch{Rows: b.Rows, Features: words(d.view.RowBytes() * int64(b.Rows)), Labels: words(d.view.LabelBytes() * int64(b.Rows)),
		features: d.DType, labels: d.LabelDType}
	return made, errors.Join(b.loader.device.CopyOut(made.Features, b.Features), b.loader.device.CopyOut(made.Labels, b.Labels))
}

// words is memory that numbers of 8 bytes may lie in.
func words(bytes int64) []byte {
	all := make([]uint64, (bytes+7)/8)
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(all))), bytes)
}

func (b DeviceBatch) valid() error {
	if b.buffer == nil || b.buffer.move != b.move {
		return errs.New(errs.ErrClosed, "batches", "the iteration has moved on: this batch's memory is another's")
	}
	return nil
}

// Batches iterates over the samples of order. A few batches are being filled and a few
// are on their way to the device ahead of the program's. Breaking out of the loop drops
// what is being filled. One iteration at a time may run.
func (l *DeviceLoader) Batches(ctx context.Context, order []int64) iter.Seq2[DeviceBatch, error] {
	return func(yield func(DeviceBatch, error) bool) {
		if err := l.begin(); err != nil {
			yield(DeviceBatch{}, err)
			return
		}
		e := deviceEpoch{DeviceLoader: l, order: order}
		defer e.stop()
		for {
			b, err := e.batch(ctx)
			if err != nil {
				yield(DeviceBatch{}, errs.Ended(err, "batches"))
				return
			}
			if b.Rows == 0 {
				return
			}
			more := yield(b, nil)
			b.buffer.move = 0
			if err := l.mark(b.buffer); err != nil && more {
				yield(DeviceBatch{}, err)
				return
			}
			if !more {
				return
			}
		}
	}
}

func (l *DeviceLoader) begin() error {
	closed := errs.New(errs.ErrClosed, "batches", "the loader was closed, or never opened")
	if l == nil {
		return closed
	}
	l.lock.Lock()
	defer l.lock.Unlock()
	if l.closed || l.device == nil {
		return closed
	}
	if l.running {
		return errs.New(errs.ErrConfig, "batches", "another iteration of this loader is running, and its memory is for one at a time")
	}
	l.running = true
	return nil
}

// deviceEpoch is an iteration.
type deviceEpoch struct {
	*DeviceLoader
	order  []int64
	flying []filling     // in their order
	sent   []DeviceBatch // those before them
	failed error         // of the batch behind them, which is given in its turn
}

// filling is a batch that is being filled.
type filling struct {
	ticket  *engine.Ticket
	slot    engine.Slot
	indices []int64
	records []byte
}

func (e *deviceEpoch) stop() {
	for _, f := range e.flying {
		f.ticket.Cancel()
		f.ticket.Release()
		f.slot.Release()
	}
	for _, b := range e.sent {
		b.buffer.move = 0 // nobody has it; what is sent later comes behind its move
	}
	e.lock.Lock()
	defer e.lock.Unlock()
	if e.running = false; e.closed {
		e.free()
	}
}

// batch is the next one, without rows at the end.
func (e *deviceEpoch) batch(ctx context.Context) (DeviceBatch, error) {
	for {
		if err := ctx.Err(); err != nil {
			return DeviceBatch{}, err
		}
		if e.failed == nil {
			e.failed = e.fill()
		}
		for len(e.flying) > 0 && len(e.sent) <= sentAhead && e.flying[0].slot.Status() == engine.Ready {
			if err := e.send(); err != nil {
				return DeviceBatch{}, err
			}
		}
		switch {
		case len(e.sent) > 0:
			b := e.sent[0]
			e.sent = e.sent[1:]
			return b, nil
		case len(e.flying) > 0:
			f := e.flying[0]
			if err := f.ticket.Wait(ctx); err != nil {
				return DeviceBatch{}, err
			}
			if f.slot.Status() == engine.Failed {
				return DeviceBatch{}, e.source.failure(f.slot, f.indices)
			}
		case e.failed != nil:
			return DeviceBatch{}, e.failed
		case len(e.order) > 0:
			// All slots are being copied: the program is that far ahead of the device.
			if err := e.device.Wait(ctx, e.oldest); err != nil {
				return DeviceBatch{}, err
			}
		default:
			return DeviceBatch{}, nil
		}
	}
}

// fill starts to fill batches, while there are slots.
func (e *deviceEpoch) fill() error {
	for len(e.order) > 0 && len(e.flying) < lookAhead {
		slot, ok := e.ring.Acquire()
		if !ok {
			return nil
		}
		indices := e.order[:min(e.loader.BatchRows, len(e.order))]
		records, err := e.source.draw(e.loader.Engine, indices)
		if err != nil {
			slot.Release()
			return err
		}
		slot.Describe(int64(len(indices)), nil, 0, 0)
		ticket, err := e.loader.Engine.engine.Submit(engine.Request{View: e.source.view, Indices: indices, Records: records, BatchRows: len(indices),
			Slots: []engine.Slot{slot}, Labels: slot.Data() + uintptr(e.slot.labels)})
		if err != nil {
			slot.Release()
			return err
		}
		e.flying, e.order = append(e.flying, filling{ticket, slot, indices, records}), e.order[len(indices):]
	}
	return nil
}
