package gofast

import (
	"encoding/binary"
	"errors"

	"github.com/gofast-org/gofast/gofast/device"
)

// mark notes how far the program's streams are with a batch.
func (l *DeviceLoader) mark(b *buffer) error {
	for len(b.streams) > 0 {
		mark, err := l.device.Mark(b.streams[0])
		if err != nil {
			return err
		}
		b.streams, b.marks = b.streams[1:], append(b.marks, mark)
	}
	return nil
}

// behind lets what is sent next wait for what the program does with a buffer.
func (l *DeviceLoader) behind(b *buffer) error {
	err := l.mark(b)
	for _, mark := range b.marks {
		err = errors.Join(err, l.device.Follow(mark))
	}
	b.marks = b.marks[:0]
	return err
}

// send sends the first batch that is being filled, which is ready.
func (e *deviceEpoch) send() error {
	f := e.flying[0]
	b := e.buffers[e.next]
	if err := e.behind(b); err != nil {
		return err
	}
	e.next = (e.next + 1) % len(e.buffers)
	e.flying = e.flying[1:]
	f.ticket.Release()

	rows, at := int64(len(f.indices)), b.memory.Address
	made := DeviceBatch{Rows: len(f.indices), Features: at, loader: e.DeviceLoader, buffer: b}
	job := device.Job{Pieces: []device.Piece{{To: at + uint64(e.there.raw), Bytes: rows * e.source.view.RowBytes()}}}
	also := func(from, to, bytes int64) {
		job.Pieces = append(job.Pieces, device.Piece{Host: f.slot.Data() + uintptr(from), To: at + uint64(to), Bytes: bytes, Pinned: e.pinned})
	}
	if labels := e.source.view.LabelBytes(); labels > 0 {
		made.Labels = at + uint64(e.there.labels)
		also(e.slot.labels, e.there.labels, rows*labels)
	}
	if m := e.making; m != nil {
		job.Kernel, job.Making = m.kernel, m.Making
		job.Making.Stored, job.Making.Made, job.Making.Count = at+uint64(e.there.raw), at, rows
		if len(m.erasures) > 0 {
			m.putBoxes(f.slot.Bytes(e.slot.bytes)[e.slot.boxes:], f.records, len(f.indices))
			job.Making.Boxes = at + uint64(e.there.boxes)
			also(e.slot.boxes, e.there.boxes, rows*16*int64(len(m.erasures)))
		}
	}
	var err error
	if made.move, err = e.device.Send(job, f.slot); err != nil {
		return err
	}
	b.move, e.oldest = made.move, made.move-device.Move(len(e.buffers))+1
	e.sent = append(e.sent, made)
	return nil
}

// putBoxes writes the boxes of every sample, which lie in its record behind a word that says whether there is one.
func (m *making) putBoxes(to, records []byte, samples int) {
	record := len(records) / samples
	for sample := range samples {
		for i, word := range m.erasures {
			from := records[sample*record+4*word:][:20]
			box := to[16*(sample*len(m.erasures)+i):][:16]
			if binary.NativeEndian.Uint32(from) == 0 {
				clear(box)
			} else {
				copy(box, from[4:])
			}
		}
	}
}
