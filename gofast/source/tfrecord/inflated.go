package tfrecord

import (
	"bufio"
	"context"
	"errors"
	"io"

	"github.com/klauspost/compress/zlib"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/source"
)

// content is what a compressed file holds, in memory.
type content struct {
	source.Bytes
	packed source.Stamp // the file's
}

// inflated is the content of a file that is compressed as a whole.
func inflated(ctx context.Context, path, compression string, memory *budget) (*content, error) {
	f, err := source.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	broken := func(err error) error {
		if known := (*errs.Error)(nil); errors.As(err, &known) {
			return known.At(path)
		}
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return fail(errs.ErrDamaged, "not a whole %s file", compression).At(path).Because(err)
	}
	if f.Size() == 0 {
		return &content{source.Bytes{Name: path}, f.Stamp()}, nil
	}
	var from io.Reader
	packed := bufio.NewReaderSize(io.NewSectionReader(f, 0, f.Size()), 256<<10)
	switch compression {
	case "gzip":
		from, err = source.OpenStream(f, source.Gzip, 0)
	case "zlib":
		from, err = zlib.NewReader(packed)
	default:
		return nil, fail(errs.ErrConfig, `the compression is "gzip" or "zlib"`).WithCell(compression)
	}
	if err != nil {
		return nil, broken(err)
	}
	data, err := whole(ctx, from, memory)
	if err != nil {
		return nil, broken(err)
	}
	if compression == "zlib" {
		if _, err := packed.Peek(1); err != io.EOF {
			return nil, fail(errs.ErrDamaged, "something stands behind the compressed content").At(path)
		}
	}
	return &content{source.Bytes{Name: path, Data: data}, f.Stamp()}, f.CheckUnchanged()
}

// whole reads everything.
func whole(ctx context.Context, from io.Reader, memory *budget) ([]byte, error) {
	data := []byte{}
	for {
		if ctx.Err() != nil {
			return nil, errs.Ended(ctx.Err(), op)
		}
		if len(data) == cap(data) {
			more := make([]byte, len(data), max(2*cap(data), blockBytes))
			copy(more, data)
			data = more
		}
		n, err := from.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		if memory.take(int64(n)) != nil {
			return nil, fail(errs.ErrLimit, "the files' content needs more memory than there is for it: write them without compression")
		}
		if err == io.EOF {
			return data, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// Stamp is that of the file, with the size of what it holds.
func (c *content) Stamp() source.Stamp {
	stamp := c.packed
	stamp.Size = int64(len(c.Data))
	return stamp
}
