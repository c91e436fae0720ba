package parquet

import (
	"bytes"
	"fmt"
	"io"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"

	"github.com/gofast-org/gofast/gofast/internal/errs"
)

// codec is a compression, by the format's numbers.
type codec int32

const (
	codecNone codec = iota
	codecSnappy
	codecGzip
	codecLZO
	codecBrotli
	codecLZ4Hadoop
	codecZstd
	codecLZ4
	codecLZ4Frame // of a Layout
)

var codecNames = [...]string{"uncompressed", "snappy", "gzip", "LZO", "brotli", "LZ4", "zstd", "LZ4_RAW", "LZ4"}

// codecStore is a worker's decompressors; each is made at first use.
type codecStore struct {
	gzip   *gzip.Reader
	brotli *brotli.Reader
	zstd   *zstd.Decoder
}

func (s *codecStore) close() {
	if s.zstd != nil {
		s.zstd.Close()
	}
}

func tooLarge(size, limit int64) error {
	return fault{kind: errs.ErrLimit, text: fmt.Sprintf(
		"a page of %s, the limit is %s: write smaller pages, or raise limits={\"page\": ...}", errs.Bytes(int64(size)), errs.Bytes(int64(limit)))}
}

// decompress fills dst exactly with the content of src. No codec writes or
// allocates beyond the length of dst, whatever src says.
func (w *worker) decompress(c codec, src, dst []byte) (err error) {
	// A panic of a library on hostile bytes is the file's fault.
	defer func() {
		if r := recover(); r != nil {
			err = damaged("the page cannot be decompressed: %v", r)
		}
	}()
	if len(dst) == 0 {
		return nil // some writers store nothing, others an empty frame
	}
	n, cause := len(dst), error(nil)
	switch c {
	case codecNone:
		n = len(src)
		copy(dst, src)
	case codecSnappy:
		// klauspost's assembly: a C decoder of ours, with and without branches,
		// took 29 to 31 ms of one core for train.parquet where this takes 25.
		if n, cause = s2.DecodedLen(src); cause == nil && n == len(dst) {
			_, cause = s2.Decode(dst, src)
		}
	case codecZstd:
		n, cause = w.codecs.unzstd(src, dst)
	case codecLZ4:
		n, cause = lz4.UncompressBlock(src, dst)
	case codecGzip:
		n, cause = w.codecs.gunzip(src, dst)
	case codecBrotli:
		if w.codecs.brotli == nil {
			w.codecs.brotli = brotli.NewReader(nil)
		}
		if cause = w.codecs.brotli.Reset(bytes.NewReader(src)); cause == nil {
			n, cause = exactly(w.codecs.brotli, dst)
		}
	case codecLZ4Hadoop:
		n, cause = unlz4(src, dst)
	case codecLZ4Frame:
		n, cause = unlz4Frame(src, dst)
	case codecLZO:
		return unsupported("compression %s: write the file again with snappy or zstd", codecNames[c])
	default:
		return unsupported("compression number %d", c)
	}
	if cause != nil {
		return damaged("the page cannot be decompressed (%s): %v", codecNames[c], cause)
	}
	if n != len(dst) {
		return damaged("a page of %d bytes decompresses to %d", len(dst), n)
	}
	return nil
}

func (s *codecStore) unzstd(src, dst []byte) (int, error) {
	if s.zstd == nil {
		var err error
		// The cap limit makes DecodeAll stop at the capacity of dst.
		if s.zstd, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecodeAllCapLimit(true)); err != nil {
			return 0, err
		}
	}
	out, err := s.zstd.DecodeAll(src, dst[:0:len(dst)])
	return len(out), err
}

func (s *codecStore) gunzip(src, dst []byte) (int, error) {
	var err error
	if s.gzip == nil {
		s.gzip, err = gzip.NewReader(bytes.NewReader(src))
	} else {
		err = s.gzip.Reset(bytes.NewReader(src))
	}
	if err != nil {
		return 0, err
	}
	return exactly(s.gzip, dst)
}

// exactly fills dst and wants the end of the stream behind it.
func exactly(stream io.Reader, dst []byte) (int, error) {
	n, err := io.ReadFull(stream, dst)
	if err != nil {
		return n, err
	}
	var more [1]byte
	switch k, err := io.ReadFull(stream, more[:]); {
	case k > 0:
		return n + k, nil // one too many: the caller compares
	case err == io.EOF:
		return n, nil
	default:
		return n, err
	}
}
