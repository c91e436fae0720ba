// Package formats is the list of all formats of tables: it tells a file's by its content and opens it.
package formats

import (
	"context"
	"strings"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/internal/foreign"
	"github.com/gofast-org/gofast/gofast/source"
	"github.com/gofast-org/gofast/gofast/table"
	"github.com/gofast-org/gofast/gofast/table/arrow"
	"github.com/gofast-org/gofast/gofast/table/csv"
	"github.com/gofast-org/gofast/gofast/table/npy"
	"github.com/gofast-org/gofast/gofast/table/parquet"
)

// formats are recognised by their first bytes, never by the file's name. A file that
// matches none of them, and none of the formats that package foreign names, is taken
// for CSV text. The CSV reader checks that it is text.
var formats = []struct {
	name  string
	begun func(head []byte) bool
	open  func(*source.File, table.Options) (table.Reader, error)
}{
	{name: "parquet", begun: magic("PAR1"), open: parquet.Open},
	{name: "arrow", begun: magic("ARROW1"), open: arrow.Open},
	{name: "arrow", begun: arrow.IsStream, open: arrow.Open},
	{name: "npy", begun: magic("\x93NUMPY"), open: npy.Open},
	{name: "npz", begun: magic("PK\x03\x04"), open: npy.OpenNPZ},
	{name: "npz", begun: magic("PK\x05\x06"), open: npy.OpenNPZ}, // an empty archive
}

func magic(start string) func([]byte) bool {
	return func(head []byte) bool { return strings.HasPrefix(string(head), start) }
}

// Text is the name of the format of text files.
const Text = "csv"

// Of is the name of the format of a file that begins with head; "" for text, and for all that is no table.
func Of(head []byte) string {
	for _, format := range formats {
		if format.begun(head) {
			return format.name
		}
	}
	return ""
}

// Open opens a file of a table. The reader owns f when there is no error.
func Open(f *source.File, options table.Options) (table.Reader, error) {
	if f.Size() == 0 {
		return nil, errs.New(errs.ErrFormat, "open", "the file is empty").At(f.Path())
	}
	head := make([]byte, min(foreign.Head, f.Size()))
	if err := f.ReadFull(head, 0); err != nil {
		return nil, err
	}
	for _, format := range formats {
		if format.begun(head) {
			return format.open(f, options)
		}
	}
	if advice := foreign.Advice(head); advice != "" {
		return nil, errs.New(errs.ErrFormat, "open", advice).At(f.Path())
	}
	return csv.Open(f, options)
}

// Find visits the values of a column of binaries in a Parquet or Arrow file: table.Finder.
func Find(ctx context.Context, path, column string, visit func(value *source.Extent) error) (features string, err error) {
	f, err := source.Open(path)
	if err != nil {
		return "", err
	}
	head := make([]byte, min(foreign.Head, f.Size()))
	if err := f.ReadFull(head, 0); err != nil {
		_ = f.Close()
		return "", err
	}
	if format := Of(head); format != "parquet" && format != "arrow" {
		_ = f.Close()
		return "", errs.New(errs.ErrFormat, "open", "neither a Parquet nor an Arrow file").At(path)
	}
	r, err := Open(f, table.Options{})
	if err != nil {
		_ = f.Close()
		return "", err
	}
	defer r.Close()
	finder := r.(table.Finder)
	if err := finder.Find(ctx, column, visit); err != nil {
		return "", err
	}
	return finder.Features(), f.CheckUnchanged()
}
