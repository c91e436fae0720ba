package tfrecord

import (
	"context"
	"encoding/binary"
	"maps"
	"math/bits"
	"slices"
	"strings"

	"github.com/gofast-org/gofast/gofast/internal/errs"
)

// Pictures that Pillow had in memory ("pil") are stored as width, height and the length of the mode, uint32 each, the mode, and
// the rows without a gap. The reader puts another header before these (reader/pixels.c).
const pixelsWords = 12

// pixelBytes are those of a pixel, by Pillow's mode. Of the other modes, no file of Netpbm has the same rows.
var pixelBytes = map[string]uint64{"L": 1, "P": 1, "RGB": 3, "RGBA": 4, "CMYK": 4}

// pixels says what is wrong with such a picture, at a place in the file.
func (m *mdsFile) pixels(ctx context.Context, at, length int64) *errs.Error {
	head, err := m.w.bytes(ctx, at, min(length, pixelsWords+4))
	if err != nil {
		return err
	}
	mode := uint64(0)
	if length >= pixelsWords {
		mode = uint64(binary.LittleEndian.Uint32(head[8:]))
	}
	if mode == 0 || mode > uint64(length)-pixelsWords {
		return m.fail(errs.ErrDamaged, at, "a picture of %d bytes has no mode", length)
	}
	name := string(head[pixelsWords:min(pixelsWords+mode, uint64(len(head)))])
	width, height := uint64(binary.LittleEndian.Uint32(head)), uint64(binary.LittleEndian.Uint32(head[4:]))
	bytes, known := pixelBytes[name]
	if !known || mode != uint64(len(name)) {
		modes := strings.Join(slices.Sorted(maps.Keys(pixelBytes)), ", ")
		return m.fail(errs.ErrUnsupported, at, "a picture of mode %.20q, as Pillow had it in memory: %s are read; convert it to RGB before it is written", name, modes)
	}
	rows := uint64(length) - pixelsWords - mode
	if over, size := bits.Mul64(width*height, bytes); over != 0 || size != rows || size == 0 {
		return m.fail(errs.ErrDamaged, at, "a picture of %d x %d pixels of mode %s has %d bytes", width, height, name, rows)
	}
	return nil
}
