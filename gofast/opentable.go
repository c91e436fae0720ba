package gofast

import (
	"context"
	"errors"
	"slices"
	"unsafe"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/table"
	"github.com/gofast-org/gofast/gofast/table/gather"
	"golang.org/x/sys/unix"
)

// OpenTable decodes the files into memory and compiles the transform. If t.Label is
// empty, the labels keep their stored kind: int64, or float32 if one of them is a
// float. If t.Shape has two or three dimensions, rows are pictures: gather.ScaleAuto
// divides these by 255, and no other numbers.
func OpenTable(ctx context.Context, paths []string, options TableOptions, t gather.Transform) (*Dataset, error) {
	data, schema, err := mapTable(ctx, paths, options)
	if err != nil {
		return nil, err
	}
	base := uintptr(unsafe.Pointer(unsafe.SliceData(data)))
	stored := gather.Stored{
		Features: base + uintptr(schema.FeaturesOffset),
		Labels:   base + uintptr(schema.LabelsOffset),
		Rows:     schema.Rows, Width: schema.Width, Type: table.TypeNamed(schema.Type), Bool: schema.Bool,
		Shape: schema.Shape, Names: schema.Features,
	}
	for _, kind := range schema.LabelKinds {
		stored.LabelFloat = append(stored.LabelFloat, kind == "float")
	}
	if t.Label == "" && len(schema.LabelKinds) > 0 {
		t.Label = "int64"
		if slices.Contains(schema.LabelKinds, "float") {
			t.Label = "float32"
		}
	}
	d, err := NewRows(stored, t)
	if err != nil {
		_ = unix.Munmap(data) // cannot fail for a mapping of ours
		var e *errs.Error
		if errors.As(err, &e) && e.Row != errs.None {
			placed(ctx, e, paths, options)
		}
		return nil, err
	}
	d.Classes, d.Table, d.maps = schema.Classes, &schema, [][]byte{data}
	return d, nil
}
