package gofast

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"unsafe"

	"github.com/gofast-org/gofast/gofast/engine"
	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/table"
	"github.com/gofast-org/gofast/gofast/table/gather"
	"golang.org/x/sys/unix"
)

// OpenTable decodes the files into memory and compiles the transform. Where
// t.Label is empty the labels leave as they are stored: int64, or float32 when
// one of them is a float. t.Shape with two or three dimensions says that rows are
// pictures: gather.ScaleAuto divides those by 255, and no other numbers.
func OpenTable(ctx context.Context, paths []string, options TableOptions, t gather.Transform) (*Dataset, error) {
	fd, schema, err := DecodeTable(ctx, paths, options)
	if err != nil {
		return nil, err
	}
	data, err := unix.Mmap(fd, 0, int(schema.Size), unix.PROT_READ, unix.MAP_SHARED)
	unix.Close(fd)
	if err != nil {
		return nil, errs.New(errs.ErrRead, "open", "cannot map the decoded table").Because(err)
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
	d := &Dataset{Classes: schema.Classes, Shape: t.Shape, DType: cmp.Or(t.DType, "float32"), LabelDType: labelTypes[t.Label],
		Table: &schema, samples: rows(schema.Rows), maps: [][]byte{data}}
	program, out, err := t.Compile(stored)
	if err != nil {
		d.Close()
		var e *errs.Error
		if errors.As(err, &e) && e.Row != errs.None {
			placed(ctx, e, paths, options)
		}
		return nil, err
	}
	d.program = program
	if t.Shape == nil { // a file's own shape says nothing of pictures: Compile must not see it
		d.Shape = schema.Shape
	}
	if d.view, err = gather.NewView([]gather.Part{{Program: program, Rows: schema.Rows}}, 0, 0, out, d.Shape); err != nil {
		d.Close()
		return nil, err
	}
	return d, nil
}

// rows is how many rows a table has.
type rows int64

func (rows) draw([]int64) ([]byte, error) { return nil, nil }

func (n rows) failure(slot engine.Slot, _ []int64) error {
	if i := slot.BadIndex(); -int64(n) <= i && i < int64(n) {
		return errs.New(errs.ErrLabel, "batches", "the label has no place in the one-hot vector").AtIndex(i)
	}
	return outOfRange(slot, "rows", int64(n))
}
