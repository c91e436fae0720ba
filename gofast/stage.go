package gofast

import (
	"github.com/gofast-org/gofast/gofast/engine"
	"github.com/gofast-org/gofast/gofast/image"
	"github.com/gofast-org/gofast/gofast/internal/errs"
)

// UpTo is the same pictures, with work that stops after a stage: its batches hold nothing,
// and the time that they take is that of the stages so far. Close it too: it holds d's files
// and plan. ErrConfig for a dataset of another kind.
func (d *Dataset) UpTo(until image.Stage) (*Dataset, error) {
	if err := d.hold(); err != nil {
		return nil, err
	}
	program, pictures := d.program.(image.Program)
	if !pictures {
		d.release()
		return nil, errs.New(errs.ErrConfig, "stage", "only pictures that were opened from files have stages")
	}
	sample := program.Probe(until)
	view, err := engine.NewView(program.Address(), d.view.Length(), sample)
	if err != nil {
		d.release()
		return nil, err
	}
	return &Dataset{Shape: sample.Shape, DType: sample.Type, OnError: d.OnError, view: view, files: d.files, parent: d}, nil
}
