// Package csv reads comma, tab, semicolon and bar separated tables, plain or
// packed with gzip, zstd or bzip2, with the meaning that pandas' read_csv gives them.
//
// Open looks at the first lines (sniff.go, header.go). Decode and Range run over
// the file once, in chunks and in parallel (chunk.go); rows of small integers go
// through the kernels of csvrow (fast.go), all others through record.go; cells of
// categories and dates then become numbers in coding.go.
package csv

import (
	"context"
	"errors"
	"fmt"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/internal/pool"
	"github.com/gofast-org/gofast/gofast/source"
	"github.com/gofast-org/gofast/gofast/table"
)

const op = "csv"

// field is one cell position of a record.
type field struct {
	table.Column
	small bool // the sample has only integers 0..255 here
	blank bool // the sample has only empty cells here
	first kind // of the cell in the first row: what a label in this column is
	known bool // whether some cell of the file is a float; then real says so
	real  bool
}

// reader implements table.Reader. It owns the file.
type reader struct {
	notation
	file        *source.File
	opts        table.Options
	compression source.Compression
	delim       byte
	start       int64 // offset of the first data row in the unpacked content
	end         int64 // of a plain file's rows; of a packed one's it is a guess
	fields      []field
	visible     []int32 // what Columns lists, as positions in fields
	rows        int64
	exact       bool

	// These are a part's: see sequence.
	open   bool    // end may lie inside of a record, which is left
	tail   int64   // the bytes of that, once the others were read
	packed bool    // file is unpacked content: nobody looks for lines there
	marks  *marks  // where records begin; nil where nobody asks
	whole  *reader // of all of the file

	chunk   int  // chunk size, 0 for the default; tests make it tiny
	general bool // never use the kernels; for tests
}

// Open reads the first lines of f and decides what the table looks like. It owns
// f from then on, also when it fails. A compressed file is unpacked once from
// front to back to count its rows: that costs about as much as decoding it, and
// spares the caller a matrix of unknown height.
func Open(f *source.File, opts table.Options) (_ table.Reader, err error) {
	r, err := open(f, opts)
	if err != nil {
		f.Close()
		return nil, err
	}
	return r, nil
}

func open(f *source.File, opts table.Options) (r *reader, err error) {
	defer pool.Recover(&err, op, f.Path())
	r = &reader{notation: notation{opts.Decimal, opts.Thousands}, file: f, opts: opts.WithDefaults()}
	s, err := r.sample()
	if err != nil {
		return nil, err
	}
	if err := r.recognise(s); err != nil {
		r.locate(context.Background(), &err)
		return nil, err
	}
	if r.end = f.Size(); r.compression != source.Plain {
		r.end = r.start + source.UnpackedSize(f, r.compression)
	}
	r.rows = r.bound()
	whole := *r
	whole.opts.Progress = nil
	r.whole = &whole
	return r, nil
}

// bound is the most rows that can lie between start and end. Every cell but the last needs its delimiter and every
// line its newline; the line of a single column needs a byte more, or it would be blank.
func (r *reader) bound() int64 { return (r.end-r.start)/int64(max(len(r.fields), 2)) + 1 }

// Columns implements table.Reader.
func (r *reader) Columns() []table.Column {
	columns := make([]table.Column, len(r.visible))
	for i, at := range r.visible {
		columns[i] = r.fields[at].Column
	}
	return columns
}

// Rows implements table.Reader. It is the bound that follows from the file's size, or from what the content's may be:
// counting would mean reading the file twice.
func (r *reader) Rows() (n int64, exact bool) { return r.rows, r.exact }

// Count implements table.Counter.
func (r *reader) Count(ctx context.Context) (err error) {
	if r.exact {
		return nil
	}
	defer r.locate(ctx, &err)
	defer pool.Recover(&err, op, r.file.Path())
	quiet := *r
	quiet.opts.Progress = nil
	r.rows, err = quiet.run(ctx, func() visitor { return nil })
	r.exact = err == nil
	return err
}

// Close implements table.Reader.
func (r *reader) Close() error { return r.file.Close() }

func (r *reader) fail(kind error, text string) *errs.Error {
	return errs.New(kind, op, text).At(r.file.Path())
}

func (r *reader) tooLong() *errs.Error {
	return r.fail(errs.ErrLimit, fmt.Sprintf("a line or quoted cell is longer than %s: raise limits={\"cell\": ...} "+
		"if it is meant to be", errs.Bytes(r.opts.Limits.Cell)))
}

// cellCount says that a row has the wrong number of cells.
func (r *reader) cellCount(row int64, cells int) *errs.Error {
	return r.fail(errs.ErrDamaged, fmt.Sprintf("the row has %s, the table has %d: correct the row, or check the delimiter %q",
		plural(cells, "cell"), len(r.fields), r.delim)).AtRow(row, "")
}

func plural(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

func (r *reader) reserve(n int64) error {
	err := r.opts.Budget.Reserve(n, "reading the CSV file")
	var e *errs.Error
	if errors.As(err, &e) {
		return e.At(r.file.Path())
	}
	return err
}
