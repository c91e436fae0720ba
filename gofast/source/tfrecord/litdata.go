package tfrecord

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"math"

	"github.com/klauspost/compress/zstd"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/source"
)

// How litData packs the samples of a chunk, beside whole files: some of them in a frame of zstd, or each in one of its own.
const (
	Batches = "batch"
	Samples = "sample"
)

// tables is what is held of a table of samples, at most, beside each of its bytes: of 4, an end of 8 and a frame of 24.
const tables = 9

const (
	framesMagic = "LDFZ01\x00\x00"
	rowsMagic   = "LDARW01\x00" // the end of a chunk with an Arrow file, before which its length stands
	rowsTail    = 12
	framesHead  = 24 // the magic, a version, flags, samples, samples of a frame, frames
	frameEntry  = 24 // the first sample, samples, the frame's offset, its length, that of its content
)

// frame is a frame of zstd in a chunk, and how many bytes are packed in it.
type frame struct{ offset, length, plain int64 }

// frames is a chunk whose samples are packed, as the plain chunk that it was made of: it is read from front to back.
type frames struct {
	file   *source.File
	memory int64         // for tables, and the history that a frame may ask for
	head   *bytes.Reader // the number of samples and their offsets, as in a plain chunk
	rest   []frame
	open   *source.Stream // of the first of the rest, which has so many bytes left; nil: it is not open
	left   int64
}

// newFrames reads where the frames are. All that the chunk says of them is checked against its size.
func newFrames(ctx context.Context, f *source.File, level string, memory int64) (*frames, error) {
	m := &frames{file: f, memory: memory}
	find := m.batches
	if level == Samples {
		find = m.samples
	}
	if err := find(ctx, &window{file: f, path: f.Path(), size: f.Size()}); err != nil {
		err.Op = LitData
		return nil, err
	}
	return m, nil
}

// batches reads the table of frames. Offsets of samples are those of the plain chunk's bytes behind its head.
func (m *frames) batches(ctx context.Context, w *window) *errs.Error {
	head, err := w.bytes(ctx, 0, min(framesHead, w.size))
	if err != nil {
		return err
	}
	if len(head) < framesHead || string(head[:8]) != framesMagic {
		return fail(errs.ErrDamaged, "no frames of zstd, and index.json says that there are some").At(w.path).AtOffset(0)
	}
	word := func(at int) int64 { return int64(binary.LittleEndian.Uint32(head[at:])) }
	if version := binary.LittleEndian.Uint16(head[8:]); version != 1 {
		return fail(errs.ErrUnsupported, "version %d of compressed frames; 1 is read", version).At(w.path).AtOffset(8)
	}
	count, each, n := word(12), word(16), word(20)
	table := framesHead + 4*(count+1)
	end := table + frameEntry*n
	if count == 0 || each == 0 || n != (count+each-1)/each || end > w.size {
		return fail(errs.ErrDamaged, "%d samples in %d frames of %d do not fit into %d bytes", count, n, each, w.size).At(w.path).AtOffset(12)
	}
	if end > m.memory/tables {
		return tooLarge().At(w.path)
	}
	all, err := w.bytes(ctx, 0, end)
	if err != nil {
		return err
	}
	offset := func(i int64) int64 { return int64(binary.LittleEndian.Uint32(all[framesHead+4*i:])) }
	for i := range n {
		at := table + frameEntry*i
		entry := all[at:]
		first, samples := int64(binary.LittleEndian.Uint32(entry)), int64(binary.LittleEndian.Uint32(entry[4:]))
		begin := binary.LittleEndian.Uint64(entry[8:])
		one := frame{int64(begin), int64(binary.LittleEndian.Uint32(entry[16:])), int64(binary.LittleEndian.Uint32(entry[20:]))}
		switch {
		case first != i*each || samples != min(each, count-first):
			return fail(errs.ErrDamaged, "frame %d has %d samples from %d on, of %d in frames of %d", i, samples, first, count, each).At(w.path).AtOffset(at)
		case begin < uint64(end) || begin > uint64(w.size) || one.length > w.size-one.offset:
			return fail(errs.ErrDamaged, "frame %d has %d bytes at %d, and the file %d", i, one.length, begin, w.size).At(w.path).AtOffset(at)
		case one.plain != offset(first+samples)-offset(first):
			return fail(errs.ErrDamaged, "frame %d holds %d bytes, and its samples end after %d", i, one.plain, offset(first+samples)-offset(first)).At(w.path).AtOffset(at)
		}
		m.rest = append(m.rest, one)
	}
	return m.begin(count, offset)
}

// samples reads the head of a chunk whose samples are a frame each, which says how much it holds.
func (m *frames) samples(ctx context.Context, w *window) *errs.Error {
	head, err := w.bytes(ctx, 0, min(8, w.size))
	if err != nil {
		return err
	}
	count := int64(0)
	if len(head) == 8 {
		count = int64(binary.LittleEndian.Uint32(head))
	}
	end := 4 + 4*(count+1)
	if count == 0 || end > w.size {
		return fail(errs.ErrDamaged, "%d samples in a file of %d bytes", count, w.size).At(w.path).AtOffset(0)
	}
	if end > m.memory/tables {
		return tooLarge().At(w.path)
	}
	table := window{file: w.file, path: w.path, size: w.size} // while the other one is among samples
	all, err := table.bytes(ctx, 0, end)
	if err != nil {
		return err
	}
	stored := func(i int64) int64 { return int64(binary.LittleEndian.Uint32(all[4+4*i:])) }
	ends := make([]int64, 1, count+1)
	for i := range count {
		begin, behind := stored(i), stored(i+1)
		if begin < end || behind < begin || behind > w.size || i == 0 && begin != end {
			return fail(errs.ErrDamaged, "sample %d lies from byte %d to %d of %d", i, begin, behind, w.size).At(w.path).AtOffset(4 + 4*i)
		}
		start, err := w.bytes(ctx, begin, min(behind-begin, zstd.HeaderMaxSize))
		if err != nil {
			return err
		}
		var h zstd.Header
		if wrong := h.Decode(start); wrong != nil || h.Skippable || !h.HasFCS || h.FrameContentSize > math.MaxUint32 {
			return fail(errs.ErrDamaged, "sample %d is no frame of zstd that says how much it holds", i).At(w.path).AtOffset(begin).Because(wrong)
		}
		m.rest = append(m.rest, frame{begin, behind - begin, int64(h.FrameContentSize)})
		ends = append(ends, ends[i]+int64(h.FrameContentSize))
	}
	return m.begin(count, func(i int64) int64 { return ends[i] })
}

// begin makes the head of the plain chunk, whose samples end there.
func (m *frames) begin(count int64, ends func(int64) int64) *errs.Error {
	head := binary.LittleEndian.AppendUint32(nil, uint32(count))
	for i := range count + 1 {
		if end := 4 + 4*(count+1) + ends(i); end <= math.MaxUint32 {
			head = binary.LittleEndian.AppendUint32(head, uint32(end))
			continue
		}
		return fail(errs.ErrUnsupported, "the chunk holds more than 4 GiB").At(m.file.Path()).AtOffset(0)
	}
	m.head = bytes.NewReader(head)
	return nil
}

// Read implements io.Reader.
func (m *frames) Read(p []byte) (n int, err error) {
	if m.head.Len() > 0 {
		return m.head.Read(p)
	}
	if len(m.rest) == 0 {
		return 0, io.EOF
	}
	one := m.rest[0]
	if m.open == nil {
		if m.open, err = source.OpenPart(m.file, one.offset, one.length, source.Zstd, m.memory); err != nil {
			return 0, err
		}
		m.left = one.plain
	}
	n, err = m.open.Read(p[:min(int64(len(p)), m.left)])
	m.left -= int64(n)
	more := 0
	if m.left == 0 {
		more, err = m.open.Read(make([]byte, 1))
	}
	switch {
	case err == io.EOF && m.left > 0 || more > 0:
		return n, fail(errs.ErrDamaged, "the frame of zstd does not hold %d bytes, as is said of it", one.plain).At(m.file.Path()).AtOffset(one.offset)
	case err == io.EOF:
		m.open.Close()
		m.open, m.rest, err = nil, m.rest[1:], nil
	}
	return n, err
}
