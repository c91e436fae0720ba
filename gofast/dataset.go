package gofast

import (
	"fmt"

	"github.com/gofast-org/gofast/gofast/engine"
	"github.com/gofast-org/gofast/gofast/internal/errs"
	"golang.org/x/sys/unix"
)

// Dataset is samples and what is made of them, for Go callers: the rows of a table
// (OpenTable) or the pictures of a folder (OpenFolder). Engine.Batches iterates
// over it. Close it when no iteration over it is running.
type Dataset struct {
	Classes    []string // what the labels are numbers of; nil where they are numbers themselves
	Shape      []int    // of one sample
	DType      string   // of its values, as numpy names it
	LabelDType string   // of its labels; "" without
	Table      *Schema  // of a table's columns; nil for pictures

	view    engine.View
	program interface{ Free() }
	samples samples
	maps    [][]byte // memory of the dataset, unmapped by Close
}

// samples is what tables and pictures do differently.
type samples interface {
	// draw makes the records of a batch; nil where nothing is drawn.
	draw(indices []int64) ([]byte, error)
	// failure is the error of a batch whose slot failed.
	failure(slot engine.Slot, indices []int64) error
}

// Len is the number of samples.
func (d *Dataset) Len() int64 { return d.view.Length() }

// Close releases the dataset's memory. Idempotent.
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

// SetEpoch changes what is drawn from the next batch on; nothing is drawn for a table.
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
