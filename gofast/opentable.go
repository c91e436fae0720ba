package gofast

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"unsafe"

	"github.com/gofast-org/gofast/gofast/engine"
	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/table"
	"github.com/gofast-org/gofast/gofast/table/gather"
	"golang.org/x/sys/unix"
)

// Table is a decoded table with its transform, for Go callers. Close it when no
// iteration over it is running.
type Table struct {
	Schema
	data             []byte
	program          gather.Program
	view             engine.View
	features, labels string // types of a batch
}

// OpenTable decodes the files into memory and compiles the transform. Where
// t.Label is empty the labels leave as they are stored: int64, or float32 when
// one of them is a float. t.Shape with two or three dimensions says that rows are
// pictures: gather.ScaleAuto divides those by 255, and no other numbers.
func OpenTable(ctx context.Context, paths []string, options TableOptions, t gather.Transform) (*Table, error) {
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
	table := &Table{Schema: schema, data: data, features: cmp.Or(t.DType, "float32"), labels: labelTypes[t.Label]}
	program, out, err := t.Compile(stored)
	if err != nil {
		table.Close()
		var e *errs.Error
		if errors.As(err, &e) && e.Row != errs.None {
			placed(ctx, e, paths, options)
		}
		return nil, err
	}
	table.program = program
	if t.Shape == nil {
		t.Shape = schema.Shape
	}
	if table.view, err = gather.NewView([]gather.Part{{Program: program, Rows: schema.Rows}}, 0, 0, out, t.Shape); err != nil {
		table.Close()
		return nil, err
	}
	return table, nil
}

// Close releases the table's memory.
func (t *Table) Close() {
	if t.view != (engine.View{}) {
		t.view.Free()
		t.view = engine.View{}
	}
	if t.program != (gather.Program{}) {
		t.program.Free()
		t.program = gather.Program{}
	}
	if t.data != nil {
		_ = unix.Munmap(t.data) // cannot fail for a mapping of ours
		t.data = nil
	}
}

func (t *Table) samples() engine.View { return t.view }

func (t *Table) types() (features, labels string) { return t.features, t.labels }

func (t *Table) draw([]int64) ([]byte, error) { return nil, nil }

func (t *Table) failure(slot engine.Slot, _ []int64) error {
	if i := slot.BadIndex(); -t.Rows <= i && i < t.Rows {
		return errs.New(errs.ErrLabel, "batches", "the label has no place in the one-hot vector").AtIndex(i)
	}
	return outOfRange(slot, "rows", t.Rows)
}

func outOfRange(slot engine.Slot, what string, count int64) error {
	return errs.New(errs.ErrIndex, "batches", fmt.Sprintf("there are %d %s", count, what)).AtIndex(slot.BadIndex())
}
