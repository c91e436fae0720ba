package npy

import (
	"encoding/binary"
	"math"
	"unicode/utf8"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/internal/limits"
	"github.com/gofast-org/gofast/gofast/source"
)

// Own reading of the zip directory. archive/zip reads entries until one is damaged and
// compares only 16 bits of their count: a directory of 63 MiB that claims one member
// made it allocate 375 MiB. It looks for the end record, and for that of zip64, by other
// rules, and does not say where a member's own header lies. So end records, entries and
// own headers would still be walked over here: it spared 7 lines of 147.

const (
	localMagic   = "PK\x03\x04"
	centralMagic = "PK\x01\x02"
	endMagic     = "PK\x05\x06"
	end64Magic   = "PK\x06\x06"
	locate64     = "PK\x06\x07"

	localSize, centralSize, endSize, end64Size, locate64Size = 30, 46, 22, 56, 20

	stored, deflated = 0, 8
)

// member is one entry of the directory, checked against the file.
type member struct {
	name       string
	method     uint16
	crc        uint32
	packed     int64 // bytes in the file
	size       int64 // bytes unpacked
	dataOffset int64
}

var le = binary.LittleEndian

// directory is where the entries lie.
type directory struct{ offset, size, count int64 }

// readDirectory lists the members of a zip file.
func (p place) readDirectory(f *source.File, l limits.Limits) ([]*member, error) {
	dir, err := p.findDirectory(f)
	if err != nil {
		return nil, err
	}
	switch {
	case dir.size > l.Metadata:
		return nil, p.fail(errs.ErrLimit, "the directory has %s, the limit is %s: raise limits={\"metadata\": ...}", errs.Bytes(int64(dir.size)), errs.Bytes(l.Metadata))
	case dir.count > l.Columns:
		return nil, p.fail(errs.ErrLimit, "the file has %d members, the limit is %d: raise limits={\"columns\": ...}", dir.count, l.Columns)
	case dir.count*centralSize > dir.size:
		return nil, p.fail(errs.ErrDamaged, "the directory of %d bytes is too short for %d members", dir.size, dir.count)
	}
	data := make([]byte, dir.size)
	if err := f.ReadFull(data, dir.offset); err != nil {
		return nil, err
	}
	members := make([]*member, 0, dir.count)
	for range dir.count {
		m, length, err := p.parseEntry(data, dir.offset)
		if err != nil {
			return nil, err
		}
		if err := p.checkLocal(f, m, dir.offset); err != nil {
			return nil, err
		}
		members = append(members, m)
		data = data[length:]
	}
	if len(data) != 0 {
		return nil, p.fail(errs.ErrDamaged, "%d bytes follow the last member in the directory", len(data))
	}
	return members, nil
}

// findDirectory reads the end record, which a comment of up to 64 KiB may follow.
func (p place) findDirectory(f *source.File) (directory, error) {
	tail := make([]byte, min(f.Size(), endSize+math.MaxUint16))
	start := f.Size() - int64(len(tail))
	if err := f.ReadFull(tail, start); err != nil {
		return directory{}, err
	}
	at := -1
	for i := len(tail) - endSize; i >= 0; i-- {
		if string(tail[i:i+4]) == endMagic && int(le.Uint16(tail[i+20:])) == len(tail)-i-endSize {
			at = i
			break
		}
	}
	if at < 0 {
		return directory{}, p.fail(errs.ErrDamaged, "the zip directory is missing: the file was cut or is still being written")
	}
	end := tail[at:]
	dir := directory{int64(le.Uint32(end[16:])), int64(le.Uint32(end[12:])), int64(le.Uint16(end[10:]))}
	if le.Uint32(end[4:]) != 0 || le.Uint16(end[8:]) != le.Uint16(end[10:]) {
		return directory{}, p.fail(errs.ErrUnsupported, "the zip file is split over several disks")
	}
	limit := start + int64(at) // the directory ends here
	if at >= locate64Size && string(tail[at-locate64Size:at-locate64Size+4]) == locate64 {
		var err error
		limit -= locate64Size
		if dir, err = p.end64(f, int64(le.Uint64(tail[at-locate64Size+8:])), limit); err != nil {
			return directory{}, err
		}
		limit -= end64Size
	}
	if dir.offset < 0 || dir.size < 0 || dir.size > limit || dir.offset != limit-dir.size || dir.count < 0 {
		return directory{}, p.fail(errs.ErrDamaged, "the zip directory (%d bytes at offset %d) does not end at offset %d", dir.size, dir.offset, limit)
	}
	return dir, nil
}

func (p place) end64(f *source.File, offset, limit int64) (directory, error) {
	if offset < 0 || offset != limit-end64Size {
		return directory{}, p.fail(errs.ErrDamaged, "the zip64 end record is not where the file says")
	}
	var end [end64Size]byte
	if err := f.ReadFull(end[:], offset); err != nil {
		return directory{}, err
	}
	if string(end[:4]) != end64Magic {
		return directory{}, p.fail(errs.ErrDamaged, "the zip64 end record is not where the file says")
	}
	return directory{int64(le.Uint64(end[48:])), int64(le.Uint64(end[40:])), int64(le.Uint64(end[32:]))}, nil
}

// parseEntry reads the entry at the beginning of data and returns its length.
func (p place) parseEntry(data []byte, limit int64) (*member, int, error) {
	if len(data) < centralSize || string(data[:4]) != centralMagic {
		return nil, 0, p.fail(errs.ErrDamaged, "an entry of the zip directory is damaged")
	}
	nameLen, extraLen, commentLen := int(le.Uint16(data[28:])), int(le.Uint16(data[30:])), int(le.Uint16(data[32:]))
	length := centralSize + nameLen + extraLen + commentLen
	if length > len(data) {
		return nil, 0, p.fail(errs.ErrDamaged, "an entry of the zip directory is cut")
	}
	m := &member{
		name:   string(data[centralSize : centralSize+nameLen]),
		method: le.Uint16(data[10:]),
		crc:    le.Uint32(data[16:]),
	}
	sizes := [3]int64{int64(le.Uint32(data[24:])), int64(le.Uint32(data[20:])), int64(le.Uint32(data[42:]))}
	zip64(data[centralSize+nameLen:][:extraLen], &sizes)
	m.size, m.packed, m.dataOffset = sizes[0], sizes[1], sizes[2]
	head := int64(localSize + nameLen)
	fail := func(kind error, text string) (*member, int, error) {
		return nil, 0, p.fail(kind, "%s", text).InColumn(m.name)
	}
	switch {
	case !utf8.ValidString(m.name):
		return fail(errs.ErrDamaged, "the member's name is not UTF-8")
	case le.Uint16(data[8:])&1 != 0:
		return fail(errs.ErrUnsupported, "the member is encrypted")
	case m.method != stored && m.method != deflated:
		return fail(errs.ErrUnsupported, "the member is compressed in a way that numpy does not write: save it with numpy.savez or savez_compressed")
	case m.dataOffset < 0 || m.packed < 0 || m.size < 0 || m.dataOffset > limit-head || m.packed > limit-head-m.dataOffset:
		return fail(errs.ErrDamaged, "the member does not lie inside the file")
	case m.method == stored && m.packed != m.size:
		return fail(errs.ErrDamaged, "the stored member has two different sizes")
	case m.size/1040 > m.packed: // deflate cannot expand more than 1032 times
		return fail(errs.ErrDamaged, "the member claims more bytes than its compressed data can hold")
	}
	return m, length, nil
}

// zip64 replaces the sizes that are saturated in the entry, in their fixed order.
func zip64(extra []byte, sizes *[3]int64) {
	for len(extra) >= 4 {
		id, n := le.Uint16(extra), int(le.Uint16(extra[2:]))
		if n > len(extra)-4 {
			break
		}
		field := extra[4 : 4+n]
		extra = extra[4+n:]
		if id != 1 {
			continue
		}
		for i := range sizes {
			if sizes[i] == math.MaxUint32 && len(field) >= 8 {
				sizes[i] = int64(le.Uint64(field))
				field = field[8:]
			}
		}
	}
}

// checkLocal turns the offset of the local header into the offset of the data.
func (p place) checkLocal(f *source.File, m *member, limit int64) error {
	head := make([]byte, localSize+len(m.name))
	if err := f.ReadFull(head, m.dataOffset); err != nil {
		return err
	}
	nameLen, extraLen := int64(le.Uint16(head[26:])), int64(le.Uint16(head[28:]))
	start := m.dataOffset + localSize + nameLen + extraLen
	if string(head[:4]) != localMagic || nameLen != int64(len(m.name)) || le.Uint16(head[8:]) != m.method || m.packed > limit-start {
		return p.fail(errs.ErrDamaged, "the member's own header differs from the directory").InColumn(m.name)
	}
	if name := string(head[localSize:]); name != m.name {
		return p.fail(errs.ErrDamaged, "the member's own header has another name").InColumn(m.name).WithCell(name)
	}
	m.dataOffset = start
	return nil
}
