package gofast

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/gofast-org/gofast/gofast/engine"
	"github.com/gofast-org/gofast/gofast/image"
	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/internal/fault"
	"github.com/gofast-org/gofast/gofast/numbers"
	"github.com/gofast-org/gofast/gofast/source/reader"
	"github.com/gofast-org/gofast/gofast/table/gather"
)

// Dataset is a list of samples: the rows of a table (OpenTable) or the pictures of a
// folder (OpenFolder), with their transform. Engine.Batches iterates over it. Close it once
// it is not needed any more: iterations that run keep its memory until they end.
type Dataset struct {
	Classes    []string     // the names behind the labels' numbers; nil if the labels are plain numbers
	Shape      []int        // of one sample
	DType      numbers.Type // of its values
	LabelDType numbers.Type // of its labels; Invalid without labels
	Table      *Schema      // of a table's columns; nil for pictures
	Unreadable []string     // folders below the one that was opened that could not be listed, 100 of them at most
	// OnError is asked about every picture that cannot be made, by the goroutine that takes
	// the batches of Engine.Batches: nil leaves zeroes in its place, and an error ends the
	// iteration. Without it, the first such picture does.
	OnError func(err error) error

	view    engine.View
	program program
	files   *reader.File // where pictures are; nil for others
	epoch   *uint64      // of the random draws, in memory of the dataset; nil if it is the caller's
	unmap   func()       // gives back memory of the dataset
	// raw opens the dataset's samples as they are stored, and says what makes finished ones
	// of them; false where that is not known, or they would not be shorter.
	raw func() (*Dataset, image.Numbers, bool, error)

	lock   sync.Mutex
	users  int // iterations, loaders and stages that hold the memory
	closed bool
	parent *Dataset // of a stage, which holds it
}

// program is in C memory: a table or a list of files, and what is made of each.
type program interface {
	Address() uintptr
	Free()
}

// newRows is a dataset of a table in the caller's memory, which outlives it.
func newRows(stored gather.Stored, t gather.Transform) (*Dataset, error) {
	program, sample, err := t.Compile(stored)
	if err != nil {
		return nil, err
	}
	d, err := newDataset(program, stored.Rows, sample, t.Label.Type())
	if err == nil {
		d.raw = func() (*Dataset, image.Numbers, bool, error) {
			plain, todo, ok, err := t.Raw(stored)
			if err != nil || !ok {
				return nil, image.Numbers{}, false, err
			}
			raw, err := newRows(stored, plain)
			return raw, image.Numbers{Spec: todo}, err == nil, err
		}
	}
	return d, err
}

// newPictures is a dataset of picture files, whose list is in the caller's memory and
// outlives it. Without an output size in the plan, samples are pictures of any size.
func newPictures(plan image.Plan, files image.Files, options image.Options) (*Dataset, error) {
	program, err := image.NewProgram(plan, files, options)
	if err != nil {
		return nil, err
	}
	labels := numbers.Invalid
	if files.Targets != 0 {
		labels = numbers.Int64
	}
	d, err := newDataset(program, files.Count, program.Sample(), labels)
	if err == nil {
		d.files = files.File
		d.raw = func() (*Dataset, image.Numbers, bool, error) {
			todo, ok, err := plan.Numbers()
			if err != nil || !ok {
				return nil, image.Numbers{}, false, err
			}
			plain := plan
			plain.Output.Raw = true
			raw, err := newPictures(plain, files, options)
			return raw, todo, err == nil, err
		}
	}
	return d, err
}

func newDataset(p program, count int64, sample engine.Sample, labels numbers.Type) (*Dataset, error) {
	view, err := engine.NewView(p.Address(), count, sample)
	if err != nil {
		p.Free()
		return nil, err
	}
	return &Dataset{Shape: sample.Shape, DType: sample.Type, LabelDType: labels, view: view, program: p}, nil
}

// Len is the number of samples; 0 of a dataset that was closed.
func (d *Dataset) Len() int64 {
	if d.hold() != nil {
		return 0
	}
	defer d.release()
	return d.view.Length()
}

// hold keeps the dataset's memory until release, though it be closed meanwhile.
func (d *Dataset) hold() error {
	if d != nil {
		d.lock.Lock()
		defer d.lock.Unlock()
		if !d.closed && d.view != (engine.View{}) {
			d.users++
			return nil
		}
	}
	return errs.New(errs.ErrClosed, "dataset", "it was closed, or never opened")
}

func (d *Dataset) release() {
	d.lock.Lock()
	defer d.lock.Unlock()
	if d.users--; d.users == 0 && d.closed {
		d.free()
	}
}

// Close releases the dataset's memory, with the end of the last iteration over it. It may be called again.
func (d *Dataset) Close() {
	if d == nil {
		return
	}
	d.lock.Lock()
	defer d.lock.Unlock()
	if !d.closed && d.users == 0 {
		d.free()
	}
	d.closed = true
}

func (d *Dataset) free() {
	if d.view != (engine.View{}) {
		d.view.Free()
	}
	if d.parent != nil { // whose program this is
		d.parent.release()
	}
	if d.program != nil {
		d.program.Free()
	}
	if d.unmap != nil {
		d.unmap()
	}
	d.view, d.program, d.epoch, d.unmap = engine.View{}, nil, nil, nil
}

// SetEpoch changes the random draws from the next batch on. A table has no draws.
func (d *Dataset) SetEpoch(epoch uint64) {
	if d.hold() != nil {
		return
	}
	defer d.release()
	if d.epoch != nil {
		atomic.StoreUint64(d.epoch, epoch)
	}
}

// Path is the path of a picture's file; "" for a row of a table, and for an index of no sample.
func (d *Dataset) Path(index int64) string {
	if index < 0 || d.hold() != nil {
		return ""
	}
	defer d.release()
	return d.path(index)
}

func (d *Dataset) path(index int64) string {
	_, sample, ok := d.view.Find(index)
	if !ok || d.files == nil {
		return ""
	}
	return d.files.Path(sample)
}

// excuse asks OnError about every picture of a failed batch that could not be made, and
// zeroes those that it lets pass.
func (d *Dataset) excuse(slot engine.Slot, indices []int64) error {
	faults := slot.Faults()
	if d.OnError == nil || len(faults) == 0 {
		return d.failure(slot, indices)
	}
	size := d.view.RowBytes()
	batch := slot.Bytes(size * int64(len(indices)))
	for _, f := range faults {
		if err := d.OnError(d.fault(f, indices)); err != nil {
			return err
		}
		clear(batch[size*int64(f.Position):][:size])
	}
	return nil
}

// failure is the error of a batch whose slot failed.
func (d *Dataset) failure(slot engine.Slot, indices []int64) error {
	if faults := slot.Faults(); len(faults) > 0 {
		return d.fault(faults[0], indices)
	}
	bad := slot.BadIndex()
	if _, _, ok := d.view.Find(bad); ok {
		return errs.New(errs.ErrLabel, "batches", "the label has no place in the one-hot vector").AtIndex(bad)
	}
	return d.noSample(bad)
}

func (d *Dataset) noSample(index int64) error {
	text := fmt.Sprintf("there are %d samples", d.view.Length())
	if index < 0 {
		text = fmt.Sprintf("%d is below 0, and %s", index, text)
	}
	return errs.New(errs.ErrIndex, "batches", text).AtIndex(index)
}

// fault is the error of a picture that could not be made.
func (d *Dataset) fault(f engine.Fault, indices []int64) error {
	index := d.view.FromStart(indices[f.Position])
	return d.at(index, fault.Error(f.Code, "image", f.Offset, f.Text))
}

// at adds a picture's path to what is wrong with it.
func (d *Dataset) at(index int64, wrong *errs.Error) error {
	return wrong.At(d.path(index)).AtIndex(index)
}
