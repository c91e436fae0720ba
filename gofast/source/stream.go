package source

import (
	"bufio"
	"bytes"
	"compress/bzip2"
	"encoding/binary"
	"errors"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/gofast-org/gofast/gofast/internal/errs"
)

// Compression is the way in which a whole file is packed.
type Compression uint8

// The compressions that a Stream unpacks.
const (
	Plain Compression = iota
	Gzip
	Zstd
	Bzip2
)

var compressionNames = [...]string{"plain", "gzip", "zstd", "bzip2"}

// String is the compression's usual name.
func (c Compression) String() string { return compressionNames[c] }

// CompressionOf recognises a compression by the first bytes of a file.
func CompressionOf(head []byte) Compression {
	switch {
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		return Gzip
	case bytes.HasPrefix(head, []byte{0x28, 0xb5, 0x2f, 0xfd}),
		len(head) >= 4 && binary.LittleEndian.Uint32(head)&^15 == 0x184d2a50: // a frame to skip, as pzstd begins with
		return Zstd
	case len(head) >= 4 && bytes.HasPrefix(head, []byte("BZh")) && head[3]-'1' < 9: // then the size of its blocks
		return Bzip2
	default:
		return Plain
	}
}

// UnpackedSize guesses how large a file's content is. gzip says it, of one member and below 4 GiB; text is rarely packed to
// less than a 16th.
func UnpackedSize(f *File, c Compression) int64 {
	size := 16 * f.Size()
	if c == Gzip {
		var last [4]byte
		if f.ReadFull(last[:], max(f.Size()-4, 0)) == nil {
			size = max(min(int64(binary.LittleEndian.Uint32(last[:])), mostDeflated*f.Size()), f.Size())
		}
	}
	return size
}

// mostDeflated is what a byte of gzip holds at most.
const mostDeflated = 1032

// maxWindow is the most history that a zstd frame may ask for. By default,
// `zstd --long` writes at most 128 MiB.
const maxWindow = 128 << 20

// Stream is the unpacked content of a file, read from front to back. Its memory is
// bounded, whatever the file's unpacked size. Only one goroutine may use it at a
// time. It does not own the File.
type Stream struct {
	file   *File
	begin  int64 // of what is read, in the file
	packed *countingReader
	r      io.Reader
	close  func()
}

// countingReader counts the packed bytes that were read.
type countingReader struct {
	r io.Reader
	n int64
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

// OpenStream starts reading f from its beginning. memory bounds the history that
// a zstd frame may ask for, in addition to the fixed bound of 128 MiB.
func OpenStream(f *File, c Compression, memory int64) (*Stream, error) {
	return OpenPart(f, 0, f.Size(), c, memory)
}

// OpenPart starts reading n bytes of f as if they were a file.
func OpenPart(f *File, begin, n int64, c Compression, memory int64) (*Stream, error) {
	s := &Stream{file: f, begin: begin, packed: &countingReader{r: io.NewSectionReader(f, begin, n)}, close: func() {}}
	if c == Plain {
		s.r = s.packed
		return s, nil
	}
	// The decoders ask for 4 KiB at a time; each pread brings 256 KiB, or the file.
	buffered := bufio.NewReaderSize(s.packed, int(min(256<<10, n)))
	switch c {
	case Gzip:
		z, err := gzip.NewReader(buffered)
		if err != nil {
			return nil, s.fail(err)
		}
		z.Multistream(false)
		s.r = &members{z, buffered}
	case Zstd:
		window := uint64(max(min(maxWindow, memory), 1<<10))
		// Only the caller's goroutine decodes: a panic in another one could not be recovered.
		z, err := zstd.NewReader(buffered, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(window), zstd.WithDecoderMaxMemory(1<<62))
		if err != nil {
			return nil, s.fail(err)
		}
		s.r, s.close = z, z.Close
	case Bzip2:
		s.r = bzip2.NewReader(buffered) // takes up to 4 MB, whatever the file says
	}
	return s, nil
}

// members are gzip's, one after another. Zeros may stand behind each: tapes, and what copies whole blocks, leave them,
// and Python's gzip takes them so.
type members struct {
	*gzip.Reader
	packed *bufio.Reader
}

func (m *members) Read(p []byte) (int, error) {
	for {
		n, err := m.Reader.Read(p)
		if err != io.EOF {
			return n, err
		}
		next := byte(0)
		for err = nil; next == 0 && err == nil; {
			next, err = m.packed.ReadByte()
		}
		if err != nil {
			return n, err
		}
		if err = m.packed.UnreadByte(); err == nil {
			err = m.Reset(m.packed)
		}
		m.Multistream(false)
		if n > 0 || err != nil {
			return n, err
		}
	}
}

// Read implements io.Reader. Every error but io.EOF is an *errs.Error.
func (s *Stream) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	if err != nil && err != io.EOF {
		err = s.fail(err)
	}
	return n, err
}

// Consumed is the number of packed bytes read so far.
func (s *Stream) Consumed() int64 { return s.packed.n }

// Close frees the decoder's memory.
func (s *Stream) Close() { s.close() }

func (s *Stream) fail(err error) error {
	var known *errs.Error
	if errors.As(err, &known) {
		return known
	}
	if errors.Is(err, zstd.ErrWindowSizeExceeded) {
		return errs.New(errs.ErrLimit, "read", "the zstd frame needs a larger window than 128 MiB or the memory limit: "+
			"compress again without --long, or raise limits={\"memory\": ...}").At(s.file.path)
	}
	return errs.New(errs.ErrDamaged, "read", "the compressed data is damaged or cut").At(s.file.path).
		AtOffset(s.begin + s.packed.n).Because(err)
}
