package gofast

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"slices"
	"unsafe"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/table/gather"
	"github.com/gofast-org/gofast/gofast/table/load"
)

// What OpenTable takes: package load has the fields, with what each means.
type (
	TableOptions     = load.Options
	ColumnRef        = load.ColumnRef
	ColumnFill       = load.ColumnFill
	ColumnCategories = load.ColumnCategories
	ColumnDate       = load.ColumnDate
	Number           = load.Number
	Classes          = load.Classes
	Schema           = load.Schema
)

// OpenTable decodes the files into memory and compiles the transform. If t.Label is
// LabelNone, the labels keep their stored kind: int64, or float32 if one of them is a
// float. If t.Shape has two or three dimensions, rows are pictures: gather.ScaleAuto
// divides these by 255, and no other numbers.
func OpenTable(ctx context.Context, paths []string, options TableOptions, t gather.Transform) (d *Dataset, err error) {
	defer leave(&err, "open")
	region, schema, err := load.Map(ctx, paths, options)
	if err != nil {
		return nil, err
	}
	base := uintptr(unsafe.Pointer(unsafe.SliceData(region.Bytes())))
	stored := gather.Stored{
		Features: base + uintptr(schema.FeaturesOffset),
		Labels:   base + uintptr(schema.LabelsOffset),
		Rows:     schema.Rows, Width: schema.Width, Type: schema.Type, Bool: schema.Bool,
		Shape: schema.Shape, Names: schema.Features,
	}
	for _, kind := range schema.LabelKinds {
		stored.LabelFloat = append(stored.LabelFloat, kind == load.LabelFloat)
	}
	if t.Label == gather.LabelNone && len(schema.LabelKinds) > 0 {
		t.Label = gather.LabelInt64
		if slices.Contains(schema.LabelKinds, load.LabelFloat) {
			t.Label = gather.LabelFloat32
		}
	}
	d, err = newRows(stored, t)
	if err != nil {
		region.Close()
		var e *errs.Error
		_, once := options.FS.(readerFS) // there is nothing left of it to find a line in
		if errors.As(err, &e) && e.Row != errs.None && !once {
			load.Placed(ctx, e, paths, options)
		}
		return nil, err
	}
	d.Classes, d.Table, d.unmap = schema.Classes, &schema.Schema, region.Close
	return d, nil
}

// ReadTable is OpenTable for what a reader gives until its end, which is one file of any format. The context is asked before
// each Read: one that blocks is the reader's to end, as the body of a response ends with its request's context.
func ReadTable(ctx context.Context, r io.Reader, options TableOptions, t gather.Transform) (*Dataset, error) {
	if r == nil {
		return nil, errs.New(errs.ErrConfig, "open", "there is no reader")
	}
	options.FS = readerFS{r}
	return OpenTable(ctx, []string{"reader"}, options, t)
}

// readerFS has one file, which can be read once.
type readerFS struct{ io.Reader }

// Open implements fs.FS.
func (f readerFS) Open(string) (fs.File, error) { return f, nil }

// Stat implements fs.File.
func (f readerFS) Stat() (fs.FileInfo, error) { return nil, fs.ErrInvalid }

// Close implements fs.File; the reader is the caller's.
func (f readerFS) Close() error { return nil }

// ConvertTable decodes the files and writes the table to path, as npy, npz or parquet by the name's ending. Progress counts
// reading and writing as halves.
func ConvertTable(ctx context.Context, paths []string, options TableOptions, path string) (err error) {
	defer leave(&err, "convert")
	return load.Convert(ctx, paths, options, path)
}
