package parquet

import (
	"encoding/binary"
	"errors"
	"math/bits"

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
		return unlz4Frame(src, dst)
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
	lz4BlockSums   = 1 << 4 // a checksum stands behind each block
	lz4Size        = 1 << 3 // the content's size stands in the header
	lz4Sum         = 1 << 2 // a checksum of the content stands at the end
	lz4Dictionary  = 1 << 0 // the number of a dictionary stands in the header
	lz4Stored      = 1 << 31
	lz4Reach       = 64 << 10 // of a block's copies
)

var errLZ4Sum = errors.New("a checksum of LZ4 is wrong")

// unlz4Frame fills dst from a frame of the lz4 tools. Blocks go where they belong at once: the library's reader makes
// buffers and copies, and expects a block's checksum of its content, where the format has that of its packed bytes.
func unlz4Frame(src, dst []byte) (int, error) {
	const start, end = 4, 6 // of what every header has: flags, and how large blocks are
	if len(src) < end || binary.LittleEndian.Uint32(src) != lz4Magic {
		return 0, lz4.ErrInvalidFrame
	}
	flags, header := src[start], end
	if flags&lz4Size != 0 {
		header += 8
	}
	if flags&lz4Dictionary != 0 {
		header += 4
	}
	const known = lz4Independent | lz4BlockSums | lz4Size | lz4Sum | lz4Dictionary
	switch {
	case flags&^known != lz4Version || header >= len(src):
		return 0, lz4.ErrInvalidFrame
	case byte(xxh32(src[start:header])>>8) != src[header]:
		return 0, errLZ4Sum
	}
	sum := func(of []byte, flag byte, behind []byte) (rest []byte, err error) {
		switch {
		case flags&flag == 0:
			return behind, nil
		case len(behind) < 4:
			return nil, lz4.ErrInvalidFrame
		case binary.LittleEndian.Uint32(behind) != xxh32(of):
			return nil, errLZ4Sum
		}
		return behind[4:], nil
	}
	blocks := src[header+1:]
	for n := 0; len(blocks) >= 4; {
		size := binary.LittleEndian.Uint32(blocks)
		if blocks = blocks[4:]; size == 0 {
			rest, err := sum(dst[:n], lz4Sum, blocks)
			return n + len(rest), err // what is behind the end counts: the caller compares
		}
		packed := size&lz4Stored == 0
		if size &^= lz4Stored; uint64(size) > uint64(len(blocks)) {
			break
		}
		block, made := blocks[:size], int(size)
		rest, err := sum(block, lz4BlockSums, blocks[size:])
		switch {
		case err != nil:
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
		n, blocks = n+made, rest
	}
	return 0, lz4.ErrInvalidFrame
}

// xxh32 is xxHash of 32 bits with seed 0, the frames' checksum.
func xxh32(b []byte) uint32 {
	const p1, p2, p3, p4, p5 uint32 = 2654435761, 2246822519, 3266489917, 668265263, 374761393
	word := binary.LittleEndian.Uint32
	sum, n := p5, uint32(len(b))
	if len(b) >= 16 {
		one, two := p1, p2 // variables: what does not fit is cut off
		a, c, d, e := one+two, two, uint32(0), -one
		for ; len(b) >= 16; b = b[16:] {
			a = bits.RotateLeft32(a+word(b)*p2, 13) * p1
			c = bits.RotateLeft32(c+word(b[4:])*p2, 13) * p1
			d = bits.RotateLeft32(d+word(b[8:])*p2, 13) * p1
			e = bits.RotateLeft32(e+word(b[12:])*p2, 13) * p1
		}
		sum = bits.RotateLeft32(a, 1) + bits.RotateLeft32(c, 7) + bits.RotateLeft32(d, 12) + bits.RotateLeft32(e, 18)
	}
	sum += n
	for ; len(b) >= 4; b = b[4:] {
		sum = bits.RotateLeft32(sum+word(b)*p3, 17) * p4
	}
	for _, c := range b {
		sum = bits.RotateLeft32(sum+uint32(c)*p5, 11) * p1
	}
	sum = (sum ^ sum>>15) * p2
	sum = (sum ^ sum>>13) * p3
	return sum ^ sum>>16
}
