package parquet

import (
	"bytes"
	"encoding/binary"
	"errors"

	"github.com/pierrec/lz4/v4"
)

// The format's first LZ4, number 5, never said what stands around the blocks.
// Spark and Hadoop write frames of their own, early pyarrow wrote lz4's frames or
// a bare block. Each is recognised by its sizes, which must come out exactly:
// arrow-rs tries the same three.

// lz4Magic begins a frame of the lz4 tools.
const lz4Magic = 0x184D2204

var errHadoopFrame = errors.New("the sizes of the Hadoop frames contradict the page")

// unlz4 fills dst from whichever kind of LZ4 src is.
func unlz4(src, dst []byte) (int, error) {
	if err := unlz4Hadoop(src, dst); err == nil {
		return len(dst), nil
	}
	if len(src) >= 4 && binary.LittleEndian.Uint32(src) == lz4Magic {
		return exactly(lz4.NewReader(bytes.NewReader(src)), dst)
	}
	return lz4.UncompressBlock(src, dst)
}

// unlz4Hadoop reads frames: the size of the content, then blocks that give it, each
// with its own size before it. All sizes are big-endian.
func unlz4Hadoop(src, dst []byte) error {
	size := func() (int, bool) {
		if len(src) < 4 {
			return 0, false
		}
		n := binary.BigEndian.Uint32(src)
		src = src[4:]
		return int(n), true
	}
	for len(src) > 0 {
		content, ok := size()
		if !ok || content > len(dst) {
			return errHadoopFrame
		}
		for content > 0 {
			packed, ok := size()
			if !ok || packed == 0 || packed > len(src) {
				return errHadoopFrame
			}
			n, err := lz4.UncompressBlock(src[:packed], dst[:content:content])
			if err != nil || n == 0 {
				return errHadoopFrame
			}
			src, dst, content = src[packed:], dst[n:], content-n
		}
	}
	if len(dst) > 0 {
		return errHadoopFrame
	}
	return nil
}

// What a frame's flags say: its version, and what stands in it beside the blocks.
const (
	lz4Version     = 1 << 6
	lz4Independent = 1 << 5 // a block needs no byte of those before it
	lz4Size        = 1 << 3 // the content's size stands in the header
	lz4Stored      = 1 << 31
	lz4Reach       = 64 << 10 // of a block's copies
)

// unlz4Frame fills dst from a frame of the lz4 tools. Blocks go where they belong at once: the library's reader makes
// buffers and copies. It reads what has checksums or a dictionary.
func unlz4Frame(src, dst []byte) (int, error) {
	const header = 7
	if len(src) < header || binary.LittleEndian.Uint32(src) != lz4Magic {
		return 0, lz4.ErrInvalidFrame
	}
	flags, blocks := src[4], src[header:]
	switch {
	case flags&^(lz4Independent|lz4Size) != lz4Version:
		return exactly(lz4.NewReader(bytes.NewReader(src)), dst)
	case flags&lz4Size != 0:
		blocks = blocks[min(8, len(blocks)):]
	}
	for n := 0; len(blocks) >= 4; {
		size := binary.LittleEndian.Uint32(blocks)
		if blocks = blocks[4:]; size == 0 {
			return n + len(blocks), nil // what is behind the end counts: the caller compares
		}
		packed := size&lz4Stored == 0
		if size &^= lz4Stored; uint64(size) > uint64(len(blocks)) {
			break
		}
		block, err, made := blocks[:size], error(nil), int(size)
		switch {
		case packed && flags&lz4Independent != 0:
			made, err = lz4.UncompressBlock(block, dst[n:])
		case packed:
			made, err = lz4.UncompressBlockWithDict(block, dst[n:], dst[max(0, n-lz4Reach):n])
		case made > len(dst)-n:
			err = lz4.ErrInvalidSourceShortBuffer
		default:
			copy(dst[n:], block)
		}
		if err != nil {
			return n, err
		}
		n, blocks = n+made, blocks[size:]
	}
	return 0, lz4.ErrInvalidFrame
}
