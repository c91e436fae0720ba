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
