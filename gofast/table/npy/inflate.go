package npy

import (
	"bufio"
	"hash/crc32"
	"io"

	"github.com/klauspost/compress/flate"

	"github.com/gofast-org/gofast/gofast/source"
)

// inflater is the unpacked stream of a member, with a running checksum.
type inflater struct {
	stream io.ReadCloser
	sum    uint32
}

// open starts the stream; progress hears of the packed bytes.
func (m *member) open(f *source.File, progress func(int64)) *inflater {
	packed := io.Reader(io.NewSectionReader(f, m.dataOffset, m.packed))
	if progress != nil {
		packed = &counted{packed, progress}
	}
	if m.method == stored {
		return &inflater{stream: io.NopCloser(packed)}
	}
	return &inflater{stream: flate.NewReader(bufio.NewReaderSize(packed, 64<<10))}
}

func (i *inflater) Read(p []byte) (int, error) {
	n, err := i.stream.Read(p)
	i.sum = crc32.Update(i.sum, crc32.IEEETable, p[:n])
	return n, err
}

// Close gives the decoder's memory back.
func (i *inflater) Close() error { return i.stream.Close() }

type counted struct {
	io.Reader
	progress func(int64)
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.progress(int64(n))
	return n, err
}
