package gofast

import (
	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/internal/limits"
	"github.com/gofast-org/gofast/gofast/internal/pool"
)

// Limits bounds what the files of one OpenTable or OpenFolder may ask for. All its fields are int64, and 0 means the default:
// Memory (bytes of what is decoded; half of what is available), Columns (65,536), Metadata (bytes of a header or footer; 64 MiB),
// Page (bytes of a decompressed page of Parquet; 256 MiB), Cell (bytes of a cell or line of text; 16 MiB).
type Limits = limits.Limits

// Error is the type of every error that gofast returns. Its fields: Kind (an error of the catalogue), Op (what was being done),
// Path, Column, Text (what is wrong, and what to do), Cell (the offending text), Err (the cause, or nil), Debug (the stack of a
// panic), and the numbers Row (from 0), Line (from 1), Offset (in the file) and Index (that was asked for), which are -1 where
// there are none. Where a context ended, errors.Is finds ErrCanceled and the context's own error.
type Error = errs.Error

// The error catalogue. Match with errors.Is.
var (
	ErrNotFound    = errs.ErrNotFound    // a path, or every path of a pattern, does not exist.
	ErrRead        = errs.ErrRead        // the operating system refused to open, read, write or map a file.
	ErrChanged     = errs.ErrChanged     // a file was modified or truncated while it was being read.
	ErrFormat      = errs.ErrFormat      // the content is not a format that gofast knows.
	ErrDamaged     = errs.ErrDamaged     // the content claims a format but breaks its rules.
	ErrUnsupported = errs.ErrUnsupported // the content is valid but uses a feature that gofast does not have.
	ErrSchema      = errs.ErrSchema      // columns are missing, duplicated, or differ between files.
	ErrValue       = errs.ErrValue       // a cell is not a number, or no storage type holds it exactly.
	ErrMissing     = errs.ErrMissing     // a cell is empty, null or NaN and no fill_value was given.
	ErrLabel       = errs.ErrLabel       // a label is not one of the given classes.
	ErrCategory    = errs.ErrCategory    // a cell is not one of the categories given for its column.
	ErrLimit       = errs.ErrLimit       // a size would exceed the memory limit or another configured limit.
	ErrIndex       = errs.ErrIndex       // a row index lies outside the table.
	ErrConfig      = errs.ErrConfig      // an option has a value that makes no sense.
	ErrDevice      = errs.ErrDevice      // the driver of a GPU is missing, or refused a call.
	ErrCanceled    = errs.ErrCanceled    // the caller cancelled the work.
	ErrClosed      = errs.ErrClosed      // the engine, table or ticket was closed before the call.
	ErrInternal    = errs.ErrInternal    // a bug in gofast, such as a recovered panic.
)

// NewError starts an error of one of the kinds above; text says what is wrong.
func NewError(kind error, op, text string) *Error { return errs.New(kind, op, text) }

// leave is the end of a call: a panic, be it of the caller's own reader, becomes ErrInternal, and a context's error is
// ErrCanceled too.
func leave(err *error, op string) {
	if r := recover(); r != nil {
		*err = pool.PanicError(r, op, "")
	}
	*err = errs.Ended(*err, op)
}
