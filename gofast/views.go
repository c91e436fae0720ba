package gofast

import (
	"fmt"
	"unsafe"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/numbers"
)

// Batch is a finished batch. It is valid until the iteration moves on.
type Batch struct {
	Rows     int
	Features []byte // Rows x the output row or picture, in the machine's byte order
	Labels   []byte // Rows x the output label

	features, labels numbers.Type
}

// Float32 views the features of a float32 batch; ErrConfig for any other dtype.
func (b Batch) Float32() ([]float32, error) { return view[float32]("features", b.Features, b.features) }

// Int64Labels views labels that are integers or classes: Rows, or Rows x label
// columns. ErrConfig if they are floats or there are none.
func (b Batch) Int64Labels() ([]int64, error) { return view[int64]("labels", b.Labels, b.labels) }

// Float32Labels views a table's labels if one of them is a float, or one-hot labels:
// Rows x label columns, or Rows x classes. ErrConfig for other labels.
func (b Batch) Float32Labels() ([]float32, error) {
	return view[float32]("labels", b.Labels, b.labels)
}

// Float64Labels views labels that were asked for as gather.LabelFloat64.
func (b Batch) Float64Labels() ([]float64, error) {
	return view[float64]("labels", b.Labels, b.labels)
}

// view refuses to read bytes as another type than theirs.
func view[T any](what string, data []byte, is numbers.Type) ([]T, error) {
	var zero T
	switch want := numbers.Named(fmt.Sprintf("%T", zero)); is {
	case want:
		return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(data))), len(data)/int(unsafe.Sizeof(zero))), nil
	case numbers.Invalid:
		return nil, errs.New(errs.ErrConfig, "batch", "there are no "+what)
	default:
		return nil, errs.New(errs.ErrConfig, "batch", fmt.Sprintf("the %s are %s, not %s", what, is, want))
	}
}
