package pybind

import (
	"sync"

	"github.com/gofast-org/gofast/gofast"
	"github.com/gofast-org/gofast/gofast/image"
	"github.com/gofast-org/gofast/gofast/table/gather"
)

// datasets are those that Python drives, by the address of their views. Package
// capsule fills batches of a view without entering Go, in forked workers too.
var datasets sync.Map // of *gofast.Dataset

// dataset is where a view lies, and how many int32 are drawn for a sample.
type dataset struct {
	Address     uintptr `json:"address"`
	RecordWords int64   `json:"record_words"`
}

func keep(d *gofast.Dataset, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	view := d.View()
	datasets.Store(view.Address(), d)
	return dataset{view.Address(), view.RecordBytes() / 4}, nil
}

// newRows makes a dataset of a table in the caller's memory.
func newRows(c struct {
	gather.Stored
	Transform gather.Transform `json:"transform"`
}) (any, error) {
	return keep(gofast.NewRows(c.Stored, c.Transform))
}

// newPictures makes a dataset of files whose list is in the caller's memory.
func newPictures(c struct {
	Plan  image.Plan  `json:"plan"`
	Files image.Files `json:"files"`
	image.Options
}) (any, error) {
	return keep(gofast.NewPictures(c.Plan, c.Files, c.Options))
}

// join lays datasets end to end, seen through a map.
func join(c struct {
	Datasets []uintptr `json:"datasets"`
	Map      uintptr   `json:"map"`
	Length   int64     `json:"length"`
}) (any, error) {
	parts := make([]*gofast.Dataset, len(c.Datasets))
	for i, address := range c.Datasets {
		d, known := datasets.Load(address)
		if !known {
			return nil, gofast.NewError(gofast.ErrConfig, "join", "no such dataset")
		}
		parts[i] = d.(*gofast.Dataset)
	}
	return keep(gofast.Join(parts, c.Map, c.Length))
}

// free releases a dataset, and first cancels tickets that use it: Python's garbage
// collector may find a dataset and its stream in one cycle, and then tells the
// dataset first.
func free(c struct {
	Address uintptr `json:"address"`
}) (any, error) {
	d, known := datasets.LoadAndDelete(c.Address)
	if !known {
		return nil, gofast.NewError(gofast.ErrConfig, "free", "no such dataset")
	}
	if e, err := running(); err == nil {
		e.Forget(d.(*gofast.Dataset).View())
	}
	d.(*gofast.Dataset).Close()
	return nil, nil
}
