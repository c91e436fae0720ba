// Package convert writes a decoded table as .npy, .npz or .parquet. The file reads
// back with equal values, here and with numpy and pandas. It gets its name only when
// it is complete.
package convert

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"path/filepath"
	"strings"

	"github.com/gofast-org/gofast/gofast/internal/atomicfile"
	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/internal/limits"
	"github.com/gofast-org/gofast/gofast/internal/pool"
	"github.com/gofast-org/gofast/gofast/table"
)

// Table is a decoded table. The memory is only read, and only during Write.
type Table struct {
	Rows     int64
	Width    int
	Type     table.Type
	Bool     bool     // the features are booleans, stored as 0 and 1
	Shape    []int    // of one row; its product is Width
	Features []byte   // [Rows, Width] of Type
	Names    []string // of the feature columns: Width of them, or fewer if columns hold arrays
	Labels   []Label
	Values   []byte // of the labels: [Rows, len(Labels)], 8 bytes a value
}

// Label is one label column.
type Label struct {
	Name    string
	Kind    table.LabelKind
	Classes []string // of a TextLabel: the value i stands for word i
}

// Options shape how a table is written.
type Options struct {
	// Progress is called with rows done and in all, from any goroutine; may be nil.
	Progress func(done, total int64)
}

const op = "convert"

var writers = map[string]func(context.Context, *job) error{
	"npy": writeNPY, "npz": writeNPZ, "parquet": writeParquet,
}

// job is one Write.
type job struct {
	Table
	Options
	path string
	file *atomicfile.File
	done int64
}

func (j *job) fail(kind error, format string, args ...any) *errs.Error {
	return errs.New(kind, op, fmt.Sprintf(format, args...)).At(j.path)
}

// Write writes the table to path and replaces an existing file.
//
//   - npy: rows of the features, with numeric labels as the first columns, in
//     the smallest type that holds both exactly
//   - npz: an array "features" [rows, *shape] and one array for each label
//     column, with the column's name; texts as text
//   - parquet: the labels, then one column for each feature; if there are fewer
//     names than features: one fixed-length binary column for uint8
func Write(ctx context.Context, t Table, path string, o Options) (err error) {
	defer pool.Recover(&err, op, path)
	j := &job{Table: t, Options: o, path: path}
	if err := j.check(); err != nil {
		return err
	}
	format, err := FormatOf(path)
	if err != nil {
		return err
	}
	if j.file, err = atomicfile.Begin(ctx, op, path); err != nil {
		return err
	}
	defer j.file.Release()
	if err := j.file.Part.Truncate(0); err != nil {
		return j.fail(errs.ErrRead, "cannot write the file").Because(err)
	}
	if err := writers[format](ctx, j); err != nil {
		return j.typed(ctx, err)
	}
	return j.file.Commit()
}

// FormatOf is the format that belongs to a name's ending, or ErrConfig.
func FormatOf(path string) (string, error) {
	format := strings.TrimPrefix(filepath.Ext(path), ".")
	if writers[format] == nil {
		return "", errs.New(errs.ErrConfig, op, fmt.Sprintf("cannot write the format %q: name the file .npy, .npz or .parquet", format)).At(path)
	}
	return format, nil
}

// typed gives a kind to errors of the operating system and of libraries.
func (j *job) typed(ctx context.Context, err error) error {
	var own *errs.Error
	switch {
	case errors.As(err, &own):
		return own
	case ctx.Err() != nil:
		return j.fail(errs.ErrCanceled, "canceled").Because(ctx.Err())
	default:
		return j.fail(errs.ErrRead, "cannot write the file: is the disk full?").Because(err)
	}
}

// check compares the sizes, so that nothing beyond the memory is read.
func (j *job) check() error {
	features, ok := limits.Mul(j.Rows, int64(j.Width), int64(j.Type.Size()))
	labels, ok2 := limits.Mul(j.Rows, int64(len(j.Labels)), 8)
	if !ok || !ok2 || j.Type == table.Invalid || int64(len(j.Features)) < features || int64(len(j.Values)) < labels ||
		table.Elements(j.Shape) != j.Width || j.Width < 1 || len(j.Names) < 1 || j.Width%len(j.Names) != 0 {
		return j.fail(errs.ErrInternal, "a table of %d rows, shape %v and %d names does not fit its memory", j.Rows, j.Shape, len(j.Names))
	}
	j.Features, j.Values = j.Features[:features], j.Values[:labels]
	for i, l := range j.Labels {
		if l.Kind != table.TextLabel {
			continue
		}
		for row, id := range j.label(i) {
			if id < 0 || id >= int64(len(l.Classes)) {
				return j.fail(errs.ErrInternal, "label %d of %d classes", id, len(l.Classes)).AtRow(int64(row), l.Name)
			}
		}
	}
	return nil
}

// blockRows is the number of rows converted at once.
const blockRows = 4096

// blocks calls write for blocks of rows, and Progress after each.
func (j *job) blocks(ctx context.Context, write func(from, to int64) error) error {
	for from := int64(0); from < j.Rows; from += blockRows {
		if err := ctx.Err(); err != nil {
			return err
		}
		to := min(from+blockRows, j.Rows)
		if err := write(from, to); err != nil {
			return err
		}
		j.progress(to - from)
	}
	return nil
}

func (j *job) progress(rows int64) {
	j.done += rows
	if j.Progress != nil {
		j.Progress(j.done, j.Rows)
	}
}

// shape is that of all rows.
func (j *job) shape() []int64 {
	shape := []int64{j.Rows}
	for _, d := range j.Shape {
		shape = append(shape, int64(d))
	}
	return shape
}

// features is the memory of some rows.
func (j *job) features(from, to int64) []byte {
	rowBytes := int64(j.Width * j.Type.Size())
	return j.Features[from*rowBytes : to*rowBytes]
}

// label iterates over a label column. A float is given as its bits.
func (j *job) label(column int) iter.Seq2[int, int64] {
	values := table.View[int64](j.Values)
	return func(yield func(int, int64) bool) {
		for row := range int(j.Rows) {
			if !yield(row, values[row*len(j.Labels)+column]) {
				return
			}
		}
	}
}

// column is a label column's values, contiguous.
func (j *job) column(column int) []int64 {
	values := make([]int64, 0, j.Rows)
	for _, v := range j.label(column) {
		values = append(values, v)
	}
	return values
}

func float(bits int64) float64 { return math.Float64frombits(uint64(bits)) }
