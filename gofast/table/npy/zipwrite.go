package npy

import "math"

// Entry is one stored member of an .npz: Payload bytes from PayloadAt on.
type Entry struct {
	Name      string // with .npy
	At        int64  // offset of its local header
	PayloadAt int64
	Payload   int64 // bytes
	CRC       uint32
}

// MinLocal is the least room between At and PayloadAt for a name.
func MinLocal(name string) int64 { return localSize + int64(len(name)) + zip64Field + padField }

const (
	zip64Field = 4 + 16 // both sizes
	padField   = 4
	padID      = 0xD935 // the identifier that zipalign uses for padding
	dosDate    = 1<<5 | 1
	utf8Flag   = 1 << 11
)

// Local is the local header: it fills the room from At to PayloadAt, so that
// the values can be aligned.
func (e Entry) Local() []byte {
	head := make([]byte, 0, e.PayloadAt-e.At)
	head = append(head, localMagic...)
	head = le.AppendUint16(head, 45)
	head = e.appendCommon(head)
	head = le.AppendUint16(head, uint16(e.PayloadAt-e.At-localSize-int64(len(e.Name))))
	head = append(head, e.Name...)
	head = le.AppendUint16(head, 1)
	head = le.AppendUint16(head, 16)
	head = le.AppendUint64(head, uint64(e.Payload))
	head = le.AppendUint64(head, uint64(e.Payload))
	pad := e.PayloadAt - e.At - int64(len(head)) - padField
	head = le.AppendUint16(head, padID)
	head = le.AppendUint16(head, uint16(pad))
	return append(head, make([]byte, pad)...)
}

// appendCommon is what both headers share, from the flags to the name's length.
// The sizes always stand in the zip64 field: one form, whatever the size.
func (e Entry) appendCommon(head []byte) []byte {
	head = le.AppendUint16(head, utf8Flag)
	head = le.AppendUint16(head, stored)
	head = le.AppendUint16(head, 0)
	head = le.AppendUint16(head, dosDate)
	head = le.AppendUint32(head, e.CRC)
	head = le.AppendUint32(head, math.MaxUint32)
	head = le.AppendUint32(head, math.MaxUint32)
	return le.AppendUint16(head, uint16(len(e.Name)))
}

// Directory is the end of the file: it is written at offset at.
func Directory(entries []Entry, at int64) []byte {
	var dir []byte
	for _, e := range entries {
		dir = append(dir, centralMagic...)
		dir = le.AppendUint16(dir, 45)
		dir = le.AppendUint16(dir, 45)
		dir = e.appendCommon(dir)
		dir = le.AppendUint16(dir, 4+24)
		dir = append(dir, make([]byte, 2+2+2+4)...) // comment, disk, attributes
		dir = le.AppendUint32(dir, math.MaxUint32)
		dir = append(dir, e.Name...)
		dir = le.AppendUint16(dir, 1)
		dir = le.AppendUint16(dir, 24)
		dir = le.AppendUint64(dir, uint64(e.Payload))
		dir = le.AppendUint64(dir, uint64(e.Payload))
		dir = le.AppendUint64(dir, uint64(e.At))
	}
	size := int64(len(dir))
	end := at + size
	dir = append(dir, end64Magic...)
	dir = le.AppendUint64(dir, end64Size-12)
	dir = le.AppendUint16(dir, 45)
	dir = le.AppendUint16(dir, 45)
	dir = append(dir, make([]byte, 8)...) // disks
	dir = le.AppendUint64(dir, uint64(len(entries)))
	dir = le.AppendUint64(dir, uint64(len(entries)))
	dir = le.AppendUint64(dir, uint64(size))
	dir = le.AppendUint64(dir, uint64(at))
	dir = append(dir, locate64...)
	dir = le.AppendUint32(dir, 0)
	dir = le.AppendUint64(dir, uint64(end))
	dir = le.AppendUint32(dir, 1)
	dir = append(dir, endMagic...)
	dir = append(dir, make([]byte, 4)...)
	dir = le.AppendUint16(dir, math.MaxUint16)
	dir = le.AppendUint16(dir, math.MaxUint16)
	dir = le.AppendUint32(dir, math.MaxUint32)
	dir = le.AppendUint32(dir, math.MaxUint32)
	return le.AppendUint16(dir, 0)
}
