package gofast

import (
	"context"
	"runtime"
	"strings"
	"sync"
	"unsafe"

	"github.com/gofast-org/gofast/gofast/engine"
	"github.com/gofast-org/gofast/gofast/image"
	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/source"
	"github.com/gofast-org/gofast/gofast/source/reader"
)

// Decoder makes batches of pictures that are handed over, in memory or as paths: for
// servers, and for whatever gets its pictures elsewhere than from a folder. Goroutines
// may share one.
type Decoder struct {
	engine  *Engine
	plan    image.Plan
	options DecoderOptions
	lock    sync.Mutex
	calls   uint64
	ring    engine.Ring // of the last batches; a larger one takes its place
	closed  bool
}

// DecoderOptions are the options of NewDecoder. The zero value means Pillow 13's
// arithmetic and limit.
type DecoderOptions struct {
	Seed uint64 // of all random draws
	image.Options
}

// DecodedBatch is a batch of a Decoder's, valid until its Release.
type DecodedBatch struct {
	Batch
	slot engine.Slot
}

// Release gives the batch's memory back. It may be called again.
func (b *DecodedBatch) Release() {
	if b.slot != (engine.Slot{}) {
		b.slot.Release()
	}
	*b = DecodedBatch{}
}

// decoderSlots is how many batches lie in one piece of memory: a program that handles one
// while the next is made has two.
const decoderSlots = 2

// NewDecoder is a decoder whose batches the engine makes. The plan must end in a tensor.
func NewDecoder(e *Engine, plan image.Plan, options DecoderOptions) (*Decoder, error) {
	if err := e.check(); err != nil {
		return nil, err
	}
	if err := options.complete(plan); err != nil {
		return nil, err
	}
	d := &Decoder{engine: e, plan: plan, options: options}
	nothing, err := newPictures(plan, image.Files{}, options.Options) // checks the plan
	if err == nil {
		nothing.Close()
	}
	return d, err
}

// complete sets what the zero value stands for.
func (o *DecoderOptions) complete(plan image.Plan) error {
	if plan.Output.Height == 0 {
		return errs.New(errs.ErrConfig, "decoder", "the plan does not end in a tensor")
	}
	folder := FolderOptions{Options: o.Options}
	folder.complete()
	o.Options = folder.Options
	// A missing library is an error only for the files that need it.
	_ = image.LoadFormats(nil)
	return nil
}

// Close releases the decoder's memory; that of a batch is released with it. It may be called again.
func (d *Decoder) Close() {
	if d == nil {
		return
	}
	d.lock.Lock()
	defer d.lock.Unlock()
	d.closed = true
	if d.ring != (engine.Ring{}) {
		d.ring.Drop()
		d.ring = engine.Ring{}
	}
}

// Decode makes a batch of files in memory, which nobody changes meanwhile. An error
// names the place in the batch. Call k of a decoder, from 0 on, draws as epoch k does.
func (d *Decoder) Decode(ctx context.Context, files [][]byte) (b *DecodedBatch, err error) {
	defer leave(&err, "decoder")
	var pins runtime.Pinner
	defer pins.Unpin()
	starts, lengths := make([]uintptr, len(files)), make([]uint64, len(files))
	for i, file := range files {
		if len(file) > 0 {
			pins.Pin(unsafe.SliceData(file))
			starts[i], lengths[i] = uintptr(unsafe.Pointer(unsafe.SliceData(file))), uint64(len(file))
		}
	}
	memory := reader.Memory{Starts: pinned(&pins, starts), Lengths: pinned(&pins, lengths)}
	return d.decode(ctx, &pins, reader.Config{Memory: &memory}, len(files))
}

// DecodePaths is Decode for files on disk.
func (d *Decoder) DecodePaths(ctx context.Context, paths []string) (b *DecodedBatch, err error) {
	defer leave(&err, "decoder")
	var pins runtime.Pinner
	defer pins.Unpin()
	var names []byte
	offsets := make([]uint64, len(paths))
	for i, path := range paths {
		if strings.IndexByte(path, 0) >= 0 { // C would open what is before it
			return nil, errs.New(errs.ErrConfig, "decoder", "a path has a NUL byte").At(path).AtIndex(int64(i))
		}
		offsets[i] = uint64(len(names))
		names = append(append(names, path...), 0)
	}
	file := reader.File{Paths: pinned(&pins, names), Offsets: pinned(&pins, offsets)}
	return d.decode(ctx, &pins, reader.Config{File: &file}, len(paths))
}

func (d *Decoder) decode(ctx context.Context, pins *runtime.Pinner, config reader.Config, n int) (*DecodedBatch, error) {
	if d == nil {
		return nil, errs.New(errs.ErrConfig, "decoder", "there is no decoder: make one with NewDecoder")
	}
	if err := d.engine.check(); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if n == 0 {
		return nil, errs.New(errs.ErrConfig, "decoder", "there is no picture")
	}
	epoch := make([]uint64, 1)
	d.lock.Lock()
	epoch[0] = d.calls
	d.calls++
	d.lock.Unlock()
	pictures, err := newPictures(d.plan, image.Files{Count: int64(n), Config: config, Seed: d.options.Seed,
		Epoch: pinned(pins, epoch), Facts: pinned(pins, make([]source.Facts, n))}, d.options.Options)
	if err != nil {
		return nil, err
	}
	defer pictures.Close()
	indices := make([]int64, n)
	for i := range indices {
		indices[i] = int64(i)
	}
	slot, err := d.slot(pictures.view.RowBytes() * int64(n))
	if err != nil {
		return nil, err
	}
	if err := d.fill(ctx, pictures, indices, slot); err != nil {
		slot.Release()
		return nil, err
	}
	features := slot.Bytes(pictures.view.RowBytes() * int64(n))
	return &DecodedBatch{Batch{Rows: n, Features: features, features: pictures.DType}, slot}, nil
}

// fill makes the samples. Nobody writes into the slot when it has returned.
func (d *Decoder) fill(ctx context.Context, pictures *Dataset, indices []int64, slot engine.Slot) error {
	records, err := pictures.draw(d.engine, indices)
	if err != nil {
		return err
	}
	slot.Describe(int64(len(indices)), nil, 0, 0)
	ticket, err := d.engine.engine.Submit(engine.Request{View: pictures.view, Indices: indices, Records: records, BatchRows: len(indices),
		Slots: []engine.Slot{slot}})
	if err != nil {
		return err
	}
	defer ticket.Release()
	if err := ticket.Wait(ctx); err != nil {
		ticket.Cancel()
		return err
	}
	if slot.Status() == engine.Failed {
		return pictures.failure(slot, indices)
	}
	return nil
}

// slot is free memory for a batch.
func (d *Decoder) slot(bytes int64) (engine.Slot, error) {
	d.lock.Lock()
	defer d.lock.Unlock()
	if d.closed {
		return engine.Slot{}, errs.New(errs.ErrClosed, "decoder", "it was closed")
	}
	if d.ring != (engine.Ring{}) {
		if bytes <= d.ring.SlotBytes() {
			if slot, ok := d.ring.Acquire(); ok {
				return slot, nil
			}
			bytes = d.ring.SlotBytes()
		}
		d.ring.Drop() // its slots live until they are released
		d.ring = engine.Ring{}
	}
	ring, err := engine.NewRing(bytes, decoderSlots)
	if err != nil {
		return engine.Slot{}, err
	}
	d.ring = ring
	slot, _ := ring.Acquire() // of a new ring, all are free
	return slot, nil
}

// pinned is the address of values, which C reads until they are unpinned; 0 where there are none.
func pinned[T any](pins *runtime.Pinner, values []T) uintptr {
	if len(values) == 0 {
		return 0
	}
	at := unsafe.SliceData(values)
	pins.Pin(at)
	return uintptr(unsafe.Pointer(at))
}
