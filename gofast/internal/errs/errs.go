// Package errs is the error catalogue. Every failure that the core returns is an
// *Error, and its Kind is one of the sentinels below. The Python package has one
// class for each of them, and a test compares the two lists.
package errs

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The catalogue. Match with errors.Is.
var (
	// ErrNotFound: a path, or every path of a pattern, does not exist.
	ErrNotFound = errors.New("not found")
	// ErrRead: the operating system refused to open, read, write or map a file.
	ErrRead = errors.New("read failed")
	// ErrChanged: a file was modified or truncated while it was being read.
	ErrChanged = errors.New("file changed")
	// ErrFormat: the content is not a format that gofast knows.
	ErrFormat = errors.New("unknown format")
	// ErrDamaged: the content claims a format but breaks its rules.
	ErrDamaged = errors.New("damaged file")
	// ErrUnsupported: the content is valid but uses a feature that gofast does not have.
	ErrUnsupported = errors.New("not supported")
	// ErrSchema: columns are missing, duplicated, or differ between files.
	ErrSchema = errors.New("schema mismatch")
	// ErrValue: a cell is not a number, or no storage type holds it exactly.
	ErrValue = errors.New("bad value")
	// ErrMissing: a cell is empty, null or NaN and no fill_value was given.
	ErrMissing = errors.New("missing value")
	// ErrLabel: a label is not one of the given classes.
	ErrLabel = errors.New("unknown label")
	// ErrCategory: a cell is not one of the categories given for its column.
	ErrCategory = errors.New("unknown category")
	// ErrLimit: a size would exceed the memory limit or another configured limit.
	ErrLimit = errors.New("limit exceeded")
	// ErrIndex: a row index lies outside the table.
	ErrIndex = errors.New("index out of range")
	// ErrConfig: an option has a value that makes no sense.
	ErrConfig = errors.New("bad option")
	// ErrDevice: the driver of a GPU is missing, or refused a call.
	ErrDevice = errors.New("device failed")
	// ErrCanceled: the caller cancelled the work.
	ErrCanceled = errors.New("canceled")
	// ErrClosed: the engine, table or ticket was closed before the call.
	ErrClosed = errors.New("closed")
	// ErrInternal: a bug in gofast, such as a recovered panic.
	ErrInternal = errors.New("internal error")
)

// catalogue maps every sentinel to the stable name that crosses the border.
var catalogue = []struct {
	kind error
	name string
}{
	{ErrNotFound, "NotFound"}, {ErrRead, "Read"}, {ErrChanged, "Changed"}, {ErrFormat, "Format"},
	{ErrDamaged, "Damaged"}, {ErrUnsupported, "Unsupported"}, {ErrSchema, "Schema"}, {ErrValue, "Value"},
	{ErrMissing, "Missing"}, {ErrLabel, "Label"}, {ErrCategory, "Category"}, {ErrLimit, "Limit"}, {ErrIndex, "Index"},
	{ErrConfig, "Config"}, {ErrDevice, "Device"}, {ErrCanceled, "Canceled"}, {ErrClosed, "Closed"}, {ErrInternal, "Internal"},
}

// Names lists the names of all sentinels, in catalogue order.
func Names() []string {
	names := make([]string, len(catalogue))
	for i, c := range catalogue {
		names[i] = c.name
	}
	return names
}

// Name returns the catalogue name of err's kind, or "Internal" for an error from elsewhere.
func Name(err error) string {
	for _, c := range catalogue {
		if errors.Is(err, c.kind) {
			return c.name
		}
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return "Canceled"
	}
	return "Internal"
}

// None marks a Row, Line, Index or Offset that does not apply.
const None = -1

// Error is one failure with its place. The zero value is not useful: make an Error
// with New, then call the methods that add to it.
type Error struct {
	Kind   error  // one of the sentinels
	Op     string // what was being done, such as "csv" or "open"
	Path   string // file, empty when there is none
	Row    int64  // 0-based data row, or None
	Line   int64  // 1-based line of a text file, counted as an editor does, or None
	Column string // column name or number, empty when there is none
	Offset int64  // byte offset in the file, or None
	Index  int64  // row index that a caller asked for, or None
	Text   string // what is wrong, in lower case, and what to do next
	Cell   string // offending text, cut at 80 characters
	Err    error  // cause, may be nil
	Debug  string // stack of a recovered panic
}

// New starts an error of a kind. text says what is wrong and what to do next.
func New(kind error, op, text string) *Error {
	return &Error{Kind: kind, Op: op, Row: None, Line: None, Offset: None, Index: None, Text: text}
}

// At sets the path.
func (e *Error) At(path string) *Error { e.Path = path; return e }

// AtRow sets the 0-based data row and the column's name.
func (e *Error) AtRow(row int64, column string) *Error { e.Row, e.Column = row, column; return e }

// AtLine sets the 1-based line of a text file. The text of the error has it instead of the row.
func (e *Error) AtLine(line int64) *Error { e.Line = line; return e }

// AtOffset sets the byte offset in the file.
func (e *Error) AtOffset(offset int64) *Error { e.Offset = offset; return e }

// AtIndex sets the row index that the caller asked for.
func (e *Error) AtIndex(index int64) *Error { e.Index = index; return e }

// InColumn sets the column's name.
func (e *Error) InColumn(column string) *Error { e.Column = column; return e }

// WithCell sets the offending text; it is cut when printed.
func (e *Error) WithCell(cell string) *Error { e.Cell = Cut(cell); return e }

// Because sets the cause.
func (e *Error) Because(err error) *Error { e.Err = err; return e }

const maxCell = 80

// Cut shortens s to 80 characters and makes it printable UTF-8.
func Cut(s string) string {
	s = strings.ToValidUTF8(s[:min(len(s), 4*maxCell)], "\uFFFD")
	if utf8.RuneCountInString(s) <= maxCell {
		return s
	}
	runes := []rune(s)
	return string(runes[:maxCell-3]) + "..."
}

// Error formats "op path: line L (or row R), column "C", offset O: text: "cell": cause".
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Op)
	if e.Path != "" {
		b.WriteString(" " + e.Path)
	}
	var place []string
	switch {
	case e.Line != None:
		place = append(place, "line "+strconv.FormatInt(e.Line, 10))
	case e.Row != None:
		place = append(place, "row "+strconv.FormatInt(e.Row, 10))
	}
	if e.Column != "" {
		place = append(place, "column "+strconv.Quote(Cut(e.Column)))
	}
	if e.Offset != None {
		place = append(place, "offset "+strconv.FormatInt(e.Offset, 10))
	}
	if e.Index != None {
		place = append(place, "index "+strconv.FormatInt(e.Index, 10))
	}
	if len(place) > 0 {
		b.WriteString(": " + strings.Join(place, ", "))
	}
	b.WriteString(": " + e.Text)
	if e.Cell != "" {
		b.WriteString(": " + strconv.Quote(e.Cell))
	}
	if e.Err != nil {
		b.WriteString(": " + e.Err.Error())
	}
	return b.String()
}

// Unwrap gives errors.Is and errors.As both the kind and the cause.
func (e *Error) Unwrap() []error {
	if e.Err == nil {
		return []error{e.Kind}
	}
	return []error{e.Kind, e.Err}
}

// Ended makes an ErrCanceled of the end of a context; other errors stay as they are.
func Ended(err error, op string) error {
	if known := (*Error)(nil); !errors.As(err, &known) && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)) {
		return New(ErrCanceled, op, "canceled").Because(err)
	}
	return err
}
