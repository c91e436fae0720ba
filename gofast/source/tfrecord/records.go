package tfrecord

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"path/filepath"
	"strings"

	"github.com/gofast-org/gofast/gofast/internal/crc"
	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/source"
)

const (
	headerBytes = 12      // uint64 length and its checksum
	footerBytes = 4       // the data's checksum
	maxRecord   = 1 << 31 // protobuf reads no larger message
	blockBytes  = 4 << 20 // one read
)

// Record is one record of a file.
type Record struct {
	Number int64
	Offset int64  // of the data, behind its header
	Data   []byte // valid until the next record
}

// Records calls each for all records of a file, in their order, whose checksums are right.
func Records(ctx context.Context, object source.Object, each func(Record) *errs.Error) error {
	r := reader{object: object, size: object.Stamp().Size}
	for number, at := int64(0), int64(0); at < r.size; number++ {
		record, err := r.record(ctx, at)
		if err == nil {
			record.Number = number
			err = each(record)
		}
		if err != nil {
			if err.Offset == errs.None {
				err = err.AtOffset(at)
			}
			return err.At(object.Path()).AtRow(number, err.Column)
		}
		at = record.Offset + int64(len(record.Data)) + footerBytes
	}
	return nil
}

// record reads the record at an offset.
func (r *reader) record(ctx context.Context, at int64) (Record, *errs.Error) {
	left := r.size - at
	if left < headerBytes {
		return Record{}, fail(errs.ErrDamaged, "the file ends within the record's header, after %d of %d bytes", left, headerBytes)
	}
	header, err := r.next(ctx, headerBytes)
	if err != nil {
		return Record{}, err
	}
	length, sum := binary.LittleEndian.Uint64(header), binary.LittleEndian.Uint32(header[8:])
	switch {
	case crc.Masked(header[:8]) == sum:
	case at == 0:
		return Record{}, fail(errs.ErrDamaged, "the checksum of the first record's length differs: %s", suspicion(header))
	default:
		return Record{}, fail(errs.ErrDamaged, "the checksum of the record's length differs")
	}
	left -= headerBytes + footerBytes
	switch {
	case left < 0 || length > uint64(left):
		return Record{}, fail(errs.ErrDamaged, "the record has %d bytes and a checksum, and the file ends after %d", length, left+footerBytes)
	case length >= maxRecord:
		return Record{}, fail(errs.ErrLimit, "the record has %d bytes: no Example has so many", length)
	}
	data, err := r.next(ctx, int(length)+footerBytes)
	if err != nil {
		return Record{}, err
	}
	data, footer := data[:length], data[length:]
	if crc.Masked(data) != binary.LittleEndian.Uint32(footer) {
		return Record{}, fail(errs.ErrDamaged, "the checksum of the record's data differs")
	}
	return Record{Offset: at + headerBytes, Data: data}, nil
}

// suspicion says what a file may be that does not begin with a record.
func suspicion(head []byte) string {
	switch compressed(head) {
	case "gzip":
		return `the file is compressed; say compression_type="gzip"`
	case "zlib":
		return `the file may be compressed; say compression_type="zlib"`
	}
	return "is this a TFRecord file?"
}

// compressed is how a file that begins so may be compressed: "" for not at all.
func compressed(head []byte) string {
	switch {
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		return "gzip"
	case len(head) > 1 && head[0] == 0x78 && binary.BigEndian.Uint16(head)%31 == 0:
		return "zlib"
	}
	return ""
}

// Recognize says whether a file is one of records: by the checksum that it begins with, or, where that is damaged or
// compressed, by its name, such as "train.tfrecord-00000-of-00010" or "a.tfrec.gz".
func Recognize(path string, head []byte) (compression string, is bool) {
	if len(head) >= headerBytes && crc.Masked(head[:8]) == binary.LittleEndian.Uint32(head[8:]) {
		return "", true
	}
	return compressed(head), strings.Contains(strings.ToLower(filepath.Base(path)), ".tfrec")
}

// reader reads an object from front to back.
type reader struct {
	object source.Object
	size   int64
	memory []byte
	block  []byte // of the memory, what was read and not yet taken
	at     int64  // where the next read begins
}

// next takes the next n bytes, which the file must have. They are valid until the next call.
func (r *reader) next(ctx context.Context, n int) ([]byte, *errs.Error) {
	if len(r.block) < n {
		want := int(min(int64(max(n, blockBytes)), int64(len(r.block))+r.size-r.at))
		if cap(r.memory) < want {
			r.memory = make([]byte, want)
		}
		if ctx.Err() != nil { // a local file's read takes no notice
			return nil, unread(ctx.Err())
		}
		memory := r.memory[:want]
		had := copy(memory, r.block)
		got, err := r.object.ReadAt(ctx, memory[had:], r.at)
		if got < want-had {
			return nil, unread(err)
		}
		r.at += int64(got)
		r.block = memory
	}
	taken := r.block[:n]
	r.block = r.block[n:]
	return taken, nil
}

func unread(err error) *errs.Error {
	if known, ok := errs.Ended(err, op).(*errs.Error); ok {
		return known
	}
	if err == io.EOF {
		err = nil
	}
	return fail(errs.ErrChanged, "the file was cut while it was read").Because(err)
}
