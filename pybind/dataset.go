package pybind

import (
	"sync"

	"github.com/gofast-org/gofast/gofast"
	"github.com/gofast-org/gofast/gofast/engine"
	"github.com/gofast-org/gofast/gofast/image"
	"github.com/gofast-org/gofast/gofast/table/gather"
	"github.com/gofast-org/gofast/gofast/table/tokens"
)

// driven are the datasets that Python drives: what releases each, by the address of its view.
// Package capsule fills batches of a view without entering Go, in forked workers too.
var driven sync.Map // of func()

// dataset is where a view lies, and what Python asks of it.
type dataset struct {
	Address     uintptr `json:"address"`
	Length      int64   `json:"length"`       // samples
	RecordWords int64   `json:"record_words"` // int32s that are drawn for a sample
	Shape       []int64 `json:"shape"`        // of a sample
	Type        string  `json:"type"`         // of its values
}

func keep(view engine.View, free func()) (any, error) {
	driven.Store(view.Address(), free)
	return dataset{view.Address(), view.Length(), view.RecordBytes() / 4, view.Shape(), view.Type().String()}, nil
}

// keepProgram makes a dataset of a program, which it owns.
func keepProgram(program interface {
	Address() uintptr
	Free()
}, count int64, sample engine.Sample) (any, error) {
	view, err := engine.NewView(program.Address(), count, sample)
	if err != nil {
		program.Free()
		return nil, err
	}
	return keep(view, func() {
		view.Free()
		program.Free()
	})
}

// newRows makes a dataset of a table in the caller's memory.
func newRows(c struct {
	gather.Stored
	Transform gather.Transform `json:"transform"`
}) (any, error) {
	program, sample, err := c.Transform.Compile(c.Stored)
	if err != nil {
		return nil, err
	}
	return keepProgram(program, c.Rows, sample)
}

// newTokens makes a dataset of windows of an array in the caller's memory.
func newTokens(w tokens.Windows) (any, error) {
	program, sample, err := tokens.NewProgram(w)
	if err != nil {
		return nil, err
	}
	return keepProgram(program, w.Count(), sample)
}

// newPictures makes a dataset of files whose list is in the caller's memory.
func newPictures(c struct {
	Plan  image.Plan  `json:"plan"`
	Files image.Files `json:"files"`
	image.Options
}) (any, error) {
	program, err := image.NewProgram(c.Plan, c.Files, c.Options)
	if err != nil {
		return nil, err
	}
	return keepProgram(program, c.Files.Count, program.Sample())
}

// join lays datasets end to end, seen through a map.
func join(c struct {
	Datasets []uintptr `json:"datasets"`
	Map      uintptr   `json:"map"`
	Length   int64     `json:"length"`
}) (any, error) {
	views := make([]engine.View, len(c.Datasets))
	for i, address := range c.Datasets {
		views[i] = engine.ViewAt(address) // a forked child's may be its parent's
	}
	joined, err := engine.Join(views, c.Map, c.Length)
	if err != nil {
		return nil, err
	}
	return keep(joined, joined.Free)
}

// free releases a dataset, and first cancels tickets that use it: Python's garbage
// collector may find a dataset and its stream in one cycle, and then tells the
// dataset first.
func free(c struct {
	Address uintptr `json:"address"`
}) (any, error) {
	release, known := driven.LoadAndDelete(c.Address)
	if !known {
		return nil, gofast.NewError(gofast.ErrConfig, "free", "no such dataset")
	}
	if e, err := running(); err == nil {
		e.Forget(engine.ViewAt(c.Address))
	}
	release.(func())()
	return nil, nil
}
