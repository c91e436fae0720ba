package gofast

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"unsafe"

	"github.com/gofast-org/gofast/gofast/batch"
	"github.com/gofast-org/gofast/gofast/buffer"
	"github.com/gofast-org/gofast/gofast/decode"
	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/transform"
	"golang.org/x/sys/unix"
)

// Table is a decoded table with its transform, for Go callers. Close it when no
// iteration over it is running.
type Table struct {
	Schema
	data             []byte
	program          transform.Program
	view             batch.View
	features, labels string // types of a batch
}

// OpenTable decodes the files into memory and compiles the transform. Where
// t.Label is empty the labels leave as they are stored: int64, or float32 when
// one of them is a float. t.Shape with two or three dimensions says that rows are
// pictures: transform.ScaleAuto divides those by 255, and no other numbers.
func OpenTable(ctx context.Context, paths []string, options TableOptions, t transform.Table) (*Table, error) {
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
	stored := transform.Stored{
		Features: base + uintptr(schema.FeaturesOffset),
		Labels:   base + uintptr(schema.LabelsOffset),
		Rows:     schema.Rows, Width: schema.Width, Type: decode.TypeNamed(schema.Type), Bool: schema.Bool,
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
	if table.view, err = batch.NewView([]batch.Part{{Program: program, Out: out, Rows: schema.Rows}}, 0, 0, t.Shape); err != nil {
		table.Close()
		return nil, err
	}
	return table, nil
}

// Close releases the table's memory.
func (t *Table) Close() {
	if t.view != (batch.View{}) {
		t.view.Free()
		t.view = batch.View{}
	}
	if t.program != (transform.Program{}) {
		t.program.Free()
		t.program = transform.Program{}
	}
	if t.data != nil {
		_ = unix.Munmap(t.data) // cannot fail for a mapping of ours
		t.data = nil
	}
}

// Source is what Batches walks over: a Table, or a Folder.
type Source interface {
	samples() batch.View
	// types are those of a sample's features and labels, as numpy names them; ""
	// for no labels.
	types() (features, labels string)
	// draw makes the records of a batch; nil where nothing is drawn.
	draw(indices []int64) ([]byte, error)
	// failure is the error of a batch whose slot failed.
	failure(slot buffer.Slot, indices []int64) error
}

func (t *Table) samples() batch.View { return t.view }

func (t *Table) types() (features, labels string) { return t.features, t.labels }

func (t *Table) draw([]int64) ([]byte, error) { return nil, nil }

func (t *Table) failure(slot buffer.Slot, _ []int64) error {
	if i := slot.BadIndex(); -t.Rows <= i && i < t.Rows {
		return errs.New(errs.ErrLabel, "batches", "the label has no place in the one-hot vector").AtIndex(i)
	}
	return outOfRange(slot, "rows", t.Rows)
}

func outOfRange(slot buffer.Slot, what string, count int64) error {
	return errs.New(errs.ErrIndex, "batches", fmt.Sprintf("there are %d %s", count, what)).AtIndex(slot.BadIndex())
}

// lookAhead is the number of batches in flight of Batches.
const lookAhead = 4

// Batches iterates over the samples of order in batches of batchRows, filling a few
// batches ahead. Breaking out of the loop cancels what is in flight.
func (e *Engine) Batches(ctx context.Context, source Source, order []int64, batchRows int) iter.Seq2[Batch, error] {
	return func(yield func(Batch, error) bool) {
		if batchRows < 1 {
			yield(Batch{}, errs.New(errs.ErrConfig, "batches", fmt.Sprintf("%d rows in a batch", batchRows)))
			return
		}
		features, labelType := source.types()
		rowBytes, labelBytes := source.samples().RowBytes(), source.samples().LabelBytes()
		ring, err := buffer.NewRing(rowBytes*int64(batchRows), lookAhead)
		if err != nil {
			yield(Batch{}, err)
			return
		}
		defer ring.Drop()
		// Labels lie in the ring's rhythm too: one block a slot.
		labels, err := buffer.NewRing(max(labelBytes*int64(batchRows), 1), lookAhead)
		if err != nil {
			yield(Batch{}, err)
			return
		}
		defer labels.Drop()

		var flying []flight
		defer func() {
			for _, f := range flying {
				f.ticket.Cancel()
				f.ticket.Release()
				f.slot.Release()
				f.labels.Release()
			}
		}()
		for len(order) > 0 || len(flying) > 0 {
			for len(order) > 0 && len(flying) < lookAhead {
				n := min(batchRows, len(order))
				f, err := e.launch(source, order[:n], ring, labels)
				if err != nil {
					yield(Batch{}, err)
					return
				}
				flying, order = append(flying, f), order[n:]
			}
			f := flying[0]
			if err := f.ticket.Wait(ctx); err != nil {
				yield(Batch{}, err)
				return
			}
			if f.slot.Status() == buffer.Failed {
				yield(Batch{}, source.failure(f.slot, f.indices))
				return
			}
			rows := len(f.indices)
			b := Batch{Rows: rows, Features: f.slot.Bytes(rowBytes * int64(rows)), Labels: f.labels.Bytes(labelBytes * int64(rows)),
				features: features, labels: labelType}
			more := yield(b, nil)
			flying = flying[1:]
			f.ticket.Release()
			f.slot.Release()
			f.labels.Release()
			if !more {
				return
			}
		}
	}
}

// flight is one batch on its way.
type flight struct {
	ticket       *Ticket
	slot, labels buffer.Slot
	indices      []int64
}

func (e *Engine) launch(source Source, indices []int64, ring, labelRing buffer.Ring) (flight, error) {
	records, err := source.draw(indices)
	if err != nil {
		return flight{}, err
	}
	slot, ok := ring.Acquire()
	labels, ok2 := labelRing.Acquire()
	if !ok || !ok2 { // as many slots as flights: cannot happen
		return flight{}, errs.New(errs.ErrInternal, "batches", "no free slot")
	}
	slot.Describe(int64(len(indices)), nil, 0, 0)
	ticket, err := e.Submit(Request{View: source.samples(), Indices: indices, Records: records, BatchRows: len(indices),
		Slots: []buffer.Slot{slot}, Labels: labels.Data()})
	if err != nil {
		slot.Release()
		labels.Release()
		return flight{}, err
	}
	return flight{ticket, slot, labels, indices}, nil
}
