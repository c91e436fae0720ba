package gofast

import (
	"bytes"
	"sync/atomic"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/internal/foreign"
	"github.com/gofast-org/gofast/gofast/source"
	"github.com/gofast-org/gofast/gofast/table"
	"github.com/gofast-org/gofast/gofast/table/csv"
	"github.com/gofast-org/gofast/gofast/table/npy"
	"github.com/gofast-org/gofast/gofast/table/parquet"
)

// formats are recognised by their first bytes, never by the file's name. A file that
// matches none of them, and none of the formats that package foreign names, is taken
// for CSV text. The CSV reader checks that it is text.
var formats = []struct {
	magic string
	open  func(*source.File, table.Options) (table.Reader, error)
}{
	{magic: "PAR1", open: parquet.Open},
	{magic: "\x93NUMPY", open: npy.Open},
	{magic: "PK\x03\x04", open: npy.OpenNPZ},
	{magic: "PK\x05\x06", open: npy.OpenNPZ}, // an empty archive
}

func openReader(f *source.File, options table.Options) (table.Reader, error) {
	head := make([]byte, min(foreign.Head, f.Size()))
	if err := f.ReadFull(head, 0); err != nil {
		return nil, err
	}
	for _, format := range formats {
		if bytes.HasPrefix(head, []byte(format.magic)) {
			return format.open(f, options)
		}
	}
	if advice := foreign.Advice(head); advice != "" {
		return nil, errs.New(errs.ErrFormat, "open", advice).At(f.Path())
	}
	return csv.Open(f, options)
}

// progress adds up the bytes read from all sources.
type progress struct {
	done   atomic.Int64
	total  int64 // must be set before decoding starts
	report func(done, total int64)
}

func newProgress(report func(done, total int64)) *progress { return &progress{report: report} }

func (p *progress) add(n int64) {
	if done := p.done.Add(n); p.report != nil {
		p.report(done, p.total)
	}
}
