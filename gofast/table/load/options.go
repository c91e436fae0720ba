package load

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"math"
	"strconv"

	"github.com/gofast-org/gofast/gofast/internal/limits"
)

// Options say which columns of which files make a table.
type Options struct {
	// Label are the label columns, by name or by position; none: every column is a feature.
	Label []ColumnRef `json:"label"`
	// LabelOptional allows that a single label given by name is in no file.
	LabelOptional bool `json:"label_optional"`
	// LabelType by default is the type in the first file; in a text file, the type in its
	// first row. A label that does not fit is an error.
	LabelType LabelType `json:"label_type"`
	// Classes number the labels of the only label column. Zero: text labels are
	// numbered in sorted order, and numbers stay as they are.
	Classes Classes `json:"classes"`
	// Columns are the features, in this order; nil: all that are not labels.
	Columns []ColumnRef `json:"columns"`
	// Header says whether the first line of a text file names the columns. Nil: a line
	// of texts only is a header, a line with the same number twice is data, and any
	// other line is an error.
	Header *bool `json:"header"`
	// Exclude are columns that are not features, although Columns or its default has them.
	Exclude []ColumnRef `json:"exclude"`
	// FillValue replaces empty, null and NaN features; nil: they are an error. NaN
	// keeps them as NaN; if one is missing, the table is then stored as floats.
	FillValue *Number `json:"fill_value"`
	// FillValues replace FillValue for single feature columns.
	FillValues []ColumnFill `json:"fill_values"`
	// Categories number the texts of feature columns. Without them, texts are an error.
	Categories []ColumnCategories `json:"categories"`
	// Dates count the dates and times of feature columns. Without them, dates are an error.
	Dates []ColumnDate `json:"dates"`
	// Texts are columns whose texts are kept beside the table, for Decode and BeginCache.
	Texts []ColumnText `json:"texts"`
	// Delimiter is the character between the cells of a text file; "": found from its
	// first rows. SkipRows is the number of lines before the table.
	Delimiter string `json:"delimiter"`
	// Decimal is what stands for the decimal point in text files, and Thousands between thousands; "": a point, and nothing.
	Decimal   string `json:"decimal"`
	Thousands string `json:"thousands"`
	// Encoding has the 128 characters of the bytes from 128 on, in text files that are not UTF-8; -1 is none.
	Encoding []rune `json:"encoding"`
	// Rounds is the float type, float32 or float64, that integers are rounded to where no type holds them beside the other
	// values: beyond 2^53 beside floats, and above int64. "": they are an error.
	Rounds   string        `json:"rounds"`
	SkipRows int           `json:"skiprows"`
	Threads  int           `json:"threads"`
	Limits   limits.Limits `json:"limits"`
	// FS has the files; nil: they are the operating system's.
	FS fs.FS `json:"-"`
	// Progress is called with the bytes of the sources read so far, and all their bytes.
	Progress func(done, total int64) `json:"-"`
	// Memory is what a stream may take in all, of which Limits.Memory is a share; 0: more of it would not raise that.
	Memory int64 `json:"memory"`
	// streamed: parts are decoded, one after another.
	streamed bool
}

// hint says which memory= of a stream suffices for decoding that needs so many bytes at one time: it needs more later,
// for pages, and other parts are larger.
func (t Options) hint(needed int64) string {
	if t.Memory == 0 || t.Limits.Memory == 0 {
		return ""
	}
	bytes := (2*float64(needed) + 32<<20) * float64(t.Memory) / float64(t.Limits.Memory)
	return fmt.Sprintf("memory=\"%.0fMB\" suffices, or ", math.Ceil(bytes/1e6))
}

// ColumnRef names a column by name or by position (negative from the end).
type ColumnRef struct {
	Name  string
	Index int
	ByPos bool
}

// ColumnFill is a fill value of one column.
type ColumnFill struct {
	Column ColumnRef `json:"column"`
	Value  Number    `json:"value"`
}

// Number is a float64 whose JSON may be "nan".
type Number float64

// UnmarshalJSON reads a number or "nan".
func (n *Number) UnmarshalJSON(text []byte) error {
	if string(text) == `"nan"` {
		*n = Number(math.NaN())
		return nil
	}
	return json.Unmarshal(text, (*float64)(n))
}

// UnmarshalJSON reads a string or an integer.
func (c *ColumnRef) UnmarshalJSON(text []byte) error {
	if index, err := strconv.Atoi(string(text)); err == nil {
		*c = ColumnRef{Index: index, ByPos: true}
		return nil
	}
	var name string
	if text[0] != '"' || json.Unmarshal(text, &name) != nil {
		return fmt.Errorf("a column is a name or a position, not %s", text)
	}
	*c = ColumnRef{Name: name}
	return nil
}
