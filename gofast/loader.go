package gofast

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"

	"github.com/gofast-org/gofast/gofast/device"
	"github.com/gofast-org/gofast/gofast/engine"
	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/internal/limits"
	"github.com/gofast-org/gofast/gofast/numbers"
)

// Loader is a dataset, the size of its batches, and the engine that fills them.
type Loader struct {
	Engine    *Engine
	Dataset   *Dataset
	BatchRows int
}

// Batches is Engine.Batches.
func (l Loader) Batches(ctx context.Context, order []int64) iter.Seq2[Batch, error] {
	return l.Engine.Batches(ctx, l.Dataset, order, l.BatchRows)
}

// hold refuses what makes no batches, and keeps the dataset's memory until its release.
func (l Loader) hold() error {
	if l.BatchRows < 1 {
		return errs.New(errs.ErrConfig, "batches", fmt.Sprintf("%d rows in a batch", l.BatchRows))
	}
	if err := l.Engine.check(); err != nil {
		return err
	}
	return l.Dataset.hold()
}

// DeviceLoader is a Loader whose batches arrive on a device. It has memory on both sides,
// for all epochs. It holds its dataset; close it before its device.
type DeviceLoader struct {
	loader Loader
	device *device.Device
	source *Dataset // what crosses the bus: stored samples, or the loader's finished ones
	making *making  // nil: finished ones

	ring    engine.Ring
	pinned  bool
	slot    layout // of a batch on the host
	there   layout // and on the device
	buffers []*buffer
	next    int         // the buffer of the next batch, which is the one that was used longest ago
	oldest  device.Move // behind which a slot is free for sure

	lock            sync.Mutex
	running, closed bool
}

// layout is where the parts of a batch lie behind its first one: on the host what crosses, on the device the samples.
type layout struct{ raw, labels, boxes, bytes int64 }

// making is what a device makes of stored samples.
type making struct {
	kernel   uintptr
	erasures []int // the words of a record where boxes begin
	tables   *device.Memory
	device.Making
}

// buffer is the memory of a batch on the device. What its marks mark may still use it.
type buffer struct {
	memory  *device.Memory
	move    device.Move // of the batch that is there; 0 without
	streams []device.Stream
	marks   []device.Mark
}

// sentAhead is the number of batches that are on the device, or on their way, beside the
// one that the program has.
const sentAhead = 3

// To is the loader with batches on a device. Samples of pictures and of integers cross the
// bus as they are stored, and a kernel makes their numbers there; others, and those of a
// machine without a compiler for kernels, cross finished.
func (l Loader) To(d *device.Device) (*DeviceLoader, error) {
	if err := l.hold(); err != nil {
		return nil, err
	}
	var refused *errs.Error
	if l.Dataset.raw == nil {
		refused = errs.New(errs.ErrUnsupported, "batches", "a stage makes no samples, so nothing goes to a device")
	} else if d == nil {
		refused = errs.New(errs.ErrConfig, "batches", "there is no device: open one with device.Open")
	}
	if refused != nil {
		l.Dataset.release()
		return nil, refused
	}
	to := &DeviceLoader{loader: l, device: d, source: l.Dataset}
	err := to.findMaking()
	if err == nil {
		err = to.allocate()
	}
	if err != nil {
		to.Close()
		return nil, err
	}
	return to, nil
}

// findMaking decides what crosses the bus.
func (l *DeviceLoader) findMaking() error {
	raw, todo, ok, err := l.loader.Dataset.raw()
	if err != nil || !ok {
		return err
	}
	stored, width := raw.view.Type(), elements(raw.Shape)
	described, tables, ok := device.Of(todo.Spec, stored, width)
	var kernel uintptr
	if ok = ok && len(todo.Erasures) <= device.Erasings; ok {
		kernel, err = l.device.Kernel(stored, todo.Type)
	}
	if err != nil || !ok {
		raw.Close()
		if errors.Is(err, errs.ErrUnsupported) {
			return nil // no compiler
		}
		return err
	}
	m := &making{kernel: kernel, Making: described}
	l.source, l.making = raw, m
	for _, e := range todo.Erasures {
		channels, across := pictureOf(raw.Shape, todo.Spec)
		m.Erase(todo.Type, channels, across, e.Value[:channels])
		m.erasures = append(m.erasures, e.Word)
	}
	// What is sent later comes behind it on gofast's stream.
	if m.tables, _, err = l.device.Upload(tables); err != nil {
		return err
	}
	m.Place(m.tables.Address)
	return nil
}

func elements(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}

// pictureOf is the channels and the width of a picture.
func pictureOf(shape []int, s numbers.Spec) (channels, width int) {
	if s.Last {
		return shape[2], shape[1]
	}
	return shape[0], shape[2]
}

// align keeps every part where a kernel reads 16 bytes at once, and a copy begins on a line of the bus.
func align(n int64) int64 { return (n + 255) &^ 255 }

// allocate makes the slots and the buffers.
func (l *DeviceLoader) allocate() error {
	rows := int64(l.loader.BatchRows)
	finished := l.loader.Dataset.view
	crosses, made, labels, boxes := l.source.view.RowBytes(), finished.RowBytes(), finished.LabelBytes(), int64(0)
	if l.making != nil {
		boxes = 16 * int64(len(l.making.erasures))
	}
	if all, ok := limits.Mul(rows, crosses+made+labels+boxes); !ok || all > 1<<46 {
		return errs.New(errs.ErrLimit, "batches", fmt.Sprintf("a batch of %d rows is too large", rows))
	}
	l.slot.labels = align(rows * crosses)
	l.slot.boxes = l.slot.labels + align(rows*labels)
	l.slot.bytes = l.slot.boxes + align(rows*boxes)
	l.there.labels = align(rows * made)
	l.there.raw = l.there.labels + align(rows*labels)
	l.there.bytes = l.there.raw
	if l.making != nil {
		l.there.boxes = l.there.raw + align(rows*crosses)
		l.there.bytes = l.there.boxes + align(rows*boxes)
	} else {
		l.there.raw = 0
	}
	var err error
	for range sentAhead + 1 {
		b := &buffer{}
		if b.memory, err = l.device.Alloc(l.there.bytes); err != nil {
			return err
		}
		l.buffers = append(l.buffers, b)
	}
	if l.ring, err = engine.NewRing(l.slot.bytes, lookAhead+len(l.buffers)); err != nil {
		return err
	}
	// Batches of memory that cannot be pinned are copied too, by the processor first.
	l.pinned = l.device.Pin(l.ring) == nil
	return nil
}

// Close waits for what is under way, that of the program on the streams that it named too,
// and gives all memory back, at the end of an iteration that is running. It may be called again.
func (l *DeviceLoader) Close() {
	if l == nil {
		return
	}
	l.lock.Lock()
	defer l.lock.Unlock()
	if !l.closed && !l.running && l.device != nil {
		l.free()
	}
	l.closed = true
}

func (l *DeviceLoader) free() {
	for _, b := range l.buffers {
		_ = l.behind(b) // a device that refuses does nothing any more
	}
	_ = l.device.Drain()
	for _, b := range l.buffers {
		_ = b.memory.Free()
		b.move = 0 // its batch is no more
	}
	l.buffers = nil
	if l.ring != (engine.Ring{}) {
		l.ring.Drop()
	}
	if l.making != nil {
		_ = l.making.tables.Free()
		l.source.Close()
	}
	l.loader.Dataset.release()
}
