package gofast

import (
	"fmt"

	"github.com/gofast-org/gofast/gofast/engine"
	"github.com/gofast-org/gofast/gofast/internal/errs"
	"golang.org/x/sys/unix"
)

// Dataset is a list of samples for Go callers: the rows of a table (OpenTable) or the
// pictures of a folder (OpenFolder), with their transform. Engine.Batches iterates
// over it. Close it when no iteration over it is running.
type Dataset struct {
	Classes    []string // the names behind the labels' numbers; nil if the labels are plain numbers
	Shape      []int    // of one sample
	DType      string   // of its values, as numpy names it
	LabelDType string   // of its labels; "" without labels
	Table      *Schema  // of a table's columns; nil for pictures

	view    engine.View
	program interface{ Free() }
	samples samples
	maps    [][]byte // memory of the dataset, unmapped by Close
}

// samples are the methods that differ between tables and pictures.
type samples interface {
	// draw makes the records of a batch; nil if nothing is drawn.
	draw(indices []int64) ([]byte, error)
	// failure is the error of a batch whose slot failed.
	failure(slot engine.Slot, indices []int64) error
}

// Len is the number of samples.
func (d *Dataset) Len() int64 { return d.view.Length() }

// Close releases the dataset's memory. It may be called again.
func (d *Dataset) Close() {
	if d.view != (engine.View{}) {
		d.view.Free()
	}
	if d.program != nil {
		d.program.Free()
	}
	for _, m := range d.maps {
		_ = unix.Munmap(m) // cannot fail for a mapping of ours
	}
	d.view, d.program, d.maps = engine.View{}, nil, nil
}

// SetEpoch changes the random draws from the next batch on. A table has no draws.
func (d *Dataset) SetEpoch(epoch uint64) {
	if p, ok := d.samples.(*pictures); ok {
		p.epoch = epoch
	}
}

// Path is the path of a picture's file; "" for a row of a table.
func (d *Dataset) Path(sample int64) string {
	if p, ok := d.samples.(*pictures); ok {
		return p.path(sample)
	}
	return ""
}

func outOfRange(slot engine.Slot, what string, count int64) error {
	return errs.New(errs.ErrIndex, "batches", fmt.Sprintf("there are %d %s", count, what)).AtIndex(slot.BadIndex())
}
