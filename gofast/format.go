package gofast

import (
	"bytes"
	"sync/atomic"

	"github.com/gofast-org/gofast/gofast/decode"
	"github.com/gofast-org/gofast/gofast/decode/csv"
	"github.com/gofast-org/gofast/gofast/decode/npy"
	"github.com/gofast-org/gofast/gofast/decode/parquet"
	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/source"
)

// formats are told apart by their first bytes, never by the file's name. What
// matches none is text: CSV, which checks that itself.
var formats = []struct {
	magic string
	open  func(*source.File, decode.Options) (decode.Reader, error)
	name  string // of a format that is known, but not read
}{
	{magic: "PAR1", open: parquet.Open},
	{magic: "\x93NUMPY", open: npy.Open},
	{magic: "PK\x03\x04", open: npy.OpenNPZ},
	{magic: "PK\x05\x06", open: npy.OpenNPZ}, // an empty archive
	{magic: "PARE", name: "encrypted Parquet"},
	{magic: "ARROW1", name: "Arrow IPC"},
	{magic: "\x89HDF\r\n", name: "HDF5"},
	{magic: "ORC", name: "ORC"},
	{magic: "SQLite format 3\x00", name: "SQLite"},
	{magic: "\xd0\xcf\x11\xe0", name: "an old Excel sheet"},
	{magic: "\x80\x04\x95", name: "a pickle"},
	{magic: "\xff\xd8\xff", name: "a JPEG picture"},
	{magic: "\x89PNG\r\n", name: "a PNG picture"},
}

func openReader(f *source.File, options decode.Options) (decode.Reader, error) {
	head := make([]byte, min(16, f.Size()))
	if err := f.ReadFull(head, 0); err != nil {
		return nil, err
	}
	for _, format := range formats {
		if !bytes.HasPrefix(head, []byte(format.magic)) {
			continue
		}
		if format.open == nil {
			return nil, errs.New(errs.ErrFormat, "open", "this is "+format.name+
				"; gofast reads CSV, TSV, Parquet, npy and npz: convert it, for example with pandas").At(f.Path())
		}
		return format.open(f, options)
	}
	return csv.Open(f, options)
}

// progress adds up the bytes that were read of all sources.
type progress struct {
	done   atomic.Int64
	total  int64 // set before decoding starts
	report func(done, total int64)
}

func newProgress(report func(done, total int64)) *progress { return &progress{report: report} }

func (p *progress) add(n int64) {
	if done := p.done.Add(n); p.report != nil {
		p.report(done, p.total)
	}
}
