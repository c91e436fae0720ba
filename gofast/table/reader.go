// Package table turns files into a matrix. Its folders csv, npy, parquet and arrow hold one
// format each; this package holds what they share: columns, the Reader interface, the
// typed row-major matrix they write into, the sink that says which values it holds
// exactly (numbers.go, range.go), categories and dates (coding.go, dictionary.go).
package table

import (
	"context"
	"errors"
	"fmt"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/internal/limits"
	"github.com/gofast-org/gofast/gofast/numbers"
	"github.com/gofast-org/gofast/gofast/source"
)

// Type is how a matrix stores its values.
type Type = numbers.Type

// The storage types, from the narrowest to the widest.
const (
	Invalid = numbers.Invalid
	Uint8   = numbers.Uint8
	Int16   = numbers.Int16
	Int32   = numbers.Int32
	Int64   = numbers.Int64
	Float32 = numbers.Float32
	Float64 = numbers.Float64
)

// TypeNamed is the storage type with numpy's name; Invalid for anything else.
func TypeNamed(name string) Type {
	if t := numbers.Named(name); t <= Float64 {
		return t
	}
	return Invalid
}

// Column is one column of a file, in file order.
type Column struct {
	Name string
	// Index says that the column is the index of a pandas frame: a feature or label only where it is asked for by name.
	Index bool
	// Shape is the shape of one row's value: nil for a plain cell, (784) for a
	// fixed-length binary, (28, 28) for an array of images.
	Shape []int
	// Text says that the cells are strings: of a label, or a feature with Categories. TextRow and
	// TextCell are the first of them in a text file, "" elsewhere; TextWhy says why
	// one that looks like a number is none, for an error.
	Text     bool
	TextRow  int64
	TextCell string
	TextWhy  string
	// Mixed says that a text file's first rows have numbers too in the column: then its texts are no column of texts.
	Mixed bool
	// Clock says that the cells are times of a day: since midnight, and not since 1970.
	Clock bool
	// Bool says that the cells are booleans, stored as 0 and 1.
	Bool bool
	// Hint is the narrowest type worth trying first: Uint8 for integers,
	// Float32 or Float64 for floats.
	Hint Type
	// Sampled says that the file declares no types: Hint comes from its first rows,
	// and Label from the first.
	Sampled bool
	// Label is how the column is stored as a label, unless the caller says otherwise.
	Label LabelKind
	// Unseen says that the file declares no types and has no rows.
	Unseen bool
}

// Width is the number of values of one row in this column.
func (c Column) Width() int { return Elements(c.Shape) }

// Elements is the number of values of a shape; 1 without dimensions.
func Elements(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}

// Selection says what to decode of every file: positions in Columns().
type Selection struct {
	Features []int    // in output order; at least one
	Labels   []int    // in output order; may be empty; a column with several values a row stands as often, in a row
	Fill     *float64 // replaces empty, null and NaN feature cells, by NaN too; nil: they are ErrMissing
	// Fills, in place of Fill, has one for every value of a row of the matrix; nil: Fill for all.
	Fills []*float64
	// Rounds says that integers which no type holds beside the other values are rounded at last: Range notes them.
	Rounds bool
	// Verbatim says that text labels are meant as text, also where one looks like a number.
	Verbatim bool
	// Codings, by position in Columns(), are of the features that hold no numbers. A
	// column that has one was accepted by Coder.CheckCoding and is no label.
	Codings map[int]Coding
}

// FillAt is what replaces a missing value at a place in a row of the matrix; nil for nothing.
func (s Selection) FillAt(at int) *float64 {
	if s.Fills != nil {
		return s.Fills[at]
	}
	return s.Fill
}

// ErrNarrow is returned by Decode when a value does not fit the target's type.
// The caller then asks for the Range and decodes again; it never leaves gofast.
var ErrNarrow = errors.New("value does not fit the storage type")

// ErrFull is returned by Decode of a file whose Rows are not exact when it has more than the target.
var ErrFull = errors.New("there are more rows than the target holds")

// Matrix is row-major C memory: Rows x Width values of Type, without padding.
type Matrix struct {
	Data  []byte
	Type  Type
	Width int
	// Rounds says that Type, a float, holds each value rounded once, as numpy's astype does.
	Rounds bool
}

// RowBytes is the length of one row.
func (m Matrix) RowBytes() int { return m.Width * m.Type.Size() }

// LabelKind is how one label column is stored: always 8 bytes a value.
type LabelKind uint8

// The kinds of label columns.
const (
	IntLabel   LabelKind = iota // int64
	FloatLabel                  // float64
	TextLabel                   // int64 ids of the target's Dictionary
)

// Type is how the numbers of a label column are stored.
func (k LabelKind) Type() Type {
	if k == FloatLabel {
		return Float64
	}
	return Int64
}

// Target is the memory a Reader decodes into. Features.Data and Labels hold at
// least Rows() rows; the decoder writes rows 0..n-1 and returns n.
type Target struct {
	Features Matrix
	// Labels is row-major [rows, len(Kinds)], 8 bytes a value in the machine's order.
	Labels []byte
	Kinds  []LabelKind
	// Dict[i] is set where Kinds[i] is TextLabel. Shared by all files of a table.
	Dict []*Dictionary
}

// Options shape how a file is opened.
type Options struct {
	Threads int
	Limits  limits.Limits
	Budget  *limits.Budget
	// Delimiter is the byte between the cells of a text file; 0: as its head shows.
	Delimiter byte
	// Decimal is what stands for the decimal point in a text file, and Thousands between thousands; 0: a point, and nothing.
	Decimal, Thousands byte
	// Encoding has the characters of the bytes from 128 on, of a text file that is not UTF-8; -1 is none. nil: UTF-8.
	Encoding []rune
	// SkipRows is how many lines of a text file stand before the table.
	SkipRows int
	// Header says whether the first line of a text file names the columns; nil: the
	// line itself says so, or it is an error.
	Header *bool
	// Coded says that some column is known to hold text, or dates.
	Coded bool
	// Scratch has memory for decoding; nil: each decode takes its own.
	Scratch *Scratch
	// Progress is called with the bytes of the source that were just finished;
	// from any goroutine; may be nil.
	Progress func(bytes int64)
}

// WithDefaults fills in what is not set: limits, a budget of their memory, one thread.
func (o Options) WithDefaults() Options {
	o.Limits = o.Limits.WithDefaults()
	o.Threads = max(o.Threads, 1)
	if o.Budget == nil {
		o.Budget = limits.NewBudget(o.Limits.Memory)
	}
	return o
}

// Fed is how many threads there is memory for, if each takes so many bytes.
func (o Options) Fed(each int64) int {
	return int(max(1, min(int64(o.Threads), o.Limits.Memory/max(each, 1))))
}

// Reader is one open file of a table. Its methods may use several goroutines
// inside but are called by one at a time. Every error is an *errs.Error with
// the path, and the row and column where they apply; every panic inside is
// recovered into ErrInternal.
type Reader interface {
	// Columns lists the file's columns, those of an index last.
	Columns() []Column
	// Rows is the number of rows, or an upper bound when exact is false.
	Rows() (n int64, exact bool)
	// Range scans the selected features.
	Range(ctx context.Context, sel Selection) (Range, error)
	// Decode writes every row into dst and returns their number. It returns
	// ErrNarrow (and leaves dst undefined) when a value does not fit.
	Decode(ctx context.Context, sel Selection, dst Target) (rows int64, err error)
	// Close releases the file. It may be called after any error.
	Close() error
}

// Liner is a Reader of a text file: Line is the line of a data row as an editor
// counts it. It reads the file from its beginning.
type Liner interface {
	Line(ctx context.Context, row int64) (int64, error)
}

// Counter is a Reader whose Rows may be inexact: Count makes it exact, at the
// price of a pass over the file. For tables whose bound would not fit a limit.
type Counter interface {
	Count(ctx context.Context) error
}

// Finder is a Reader whose values of any length can be read where they lie, one without the others.
type Finder interface {
	// Find visits the values of a column of binaries, or of the part "bytes" of structs, in the rows' order; nil for a null.
	Find(ctx context.Context, column string, visit func(value *source.Extent) error) error
	// Features is what Hugging Face's datasets wrote about the columns; "" without.
	Features() string
}

// NotBinary is the error of Find for a column that is not there, or of other values.
func NotBinary(columns []Column, name string) *errs.Error {
	names := make([]string, len(columns))
	for i, c := range columns {
		if names[i] = c.Name; c.Name == name {
			return errs.New(errs.ErrSchema, "find", "neither binaries nor structs with a part \"bytes\" of binaries").InColumn(name)
		}
	}
	return errs.New(errs.ErrSchema, "find", fmt.Sprintf("there is no such column; the file has %.200q", names)).InColumn(name)
}
