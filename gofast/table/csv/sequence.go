package csv

import (
	"bytes"
	"context"
	"io"

	"github.com/gofast-org/gofast/gofast/source"
	"github.com/gofast-org/gofast/gofast/table"
)

// Sequence implements table.Sequential.
func (r *reader) Sequence() table.Sequence {
	if r.compression == source.Plain {
		return &sequence{r: r, from: r.start, size: r.file.Size(), whole: true}
	}
	return &unpacked{sequence: sequence{r: r}}
}

// sequence is the parts of a plain file. A part may end inside a record, which the next one begins with: nothing is
// carried from one to the other but a place.
type sequence struct {
	r          *reader // of the file that parts lie in
	from, size int64   // what is left of it
	whole      bool    // nothing comes behind size
	part       *reader
	least      int64 // bytes, where a record has more than Next was asked for
}

// Next implements table.Sequence.
func (s *sequence) Next(_ context.Context, bytes int64) (table.Reader, error) {
	if s.from >= s.size {
		return nil, nil
	}
	to := min(s.from+max(bytes, s.least, 1), s.size)
	if to < s.size { // "\r\n" is one end: the next part would begin with an empty line
		var end [2]byte
		if err := s.r.file.ReadFull(end[:], to-1); err != nil {
			return nil, err
		}
		if end == [2]byte{'\r', '\n'} {
			to++
		}
	}
	s.part = s.r.until(s.from, to)
	s.part.open = to < s.size || !s.whole
	return s.part, nil
}

// Done implements table.Sequence.
func (s *sequence) Done() (took int64) {
	at := s.part.end - s.part.tail
	took, s.least = at-s.from, 0
	if took == 0 {
		s.least = 2 * (s.part.end - s.from)
	}
	s.from = at
	return took
}

// Close implements table.Sequence.
func (s *sequence) Close() {}

// unpacked is the parts of a packed file. Each is unpacked into memory, behind what the one before left.
type unpacked struct {
	sequence
	stream *source.Stream
	ahead  *source.Ahead
	held   *source.File
}

// Next implements table.Sequence.
func (u *unpacked) Next(ctx context.Context, most int64) (table.Reader, error) {
	most = max(min(most, u.r.opts.Limits.Memory/8), u.least, 1)
	if u.size-u.from < most && !u.whole {
		if err := u.unpack(ctx, most); err != nil {
			return nil, err
		}
	}
	return u.sequence.Next(ctx, most)
}

// unpack makes the next bytes of the content the file that parts lie in.
func (u *unpacked) unpack(ctx context.Context, most int64) error {
	if u.stream == nil {
		stream, err := u.r.unpack(u.r.start)
		if err != nil {
			return err
		}
		u.stream = stream
		u.ahead = source.ReadAhead(stream, u.r.file.Path())
	}
	rest := make([]byte, u.size-u.from)
	if u.held != nil {
		if err := u.held.ReadFull(rest, u.from); err != nil {
			return err
		}
		u.drop()
	}
	content := io.MultiReader(bytes.NewReader(rest), io.LimitReader(u.ahead, most-int64(len(rest))))
	held, err := source.Spool(ctx, content, u.r.file.Path(), u.r.opts.Budget)
	if err != nil {
		return err
	}
	if u.held == nil { // the file's own reader stays with the caller
		plain := *u.r
		plain.compression, plain.packed = source.Plain, true
		u.r = &plain
	}
	u.held, u.r.file = held, held
	u.from, u.size = 0, held.Size()
	u.whole = u.size < most
	return nil
}

func (u *unpacked) drop() {
	u.r.opts.Budget.Release(u.held.Size())
	u.held.Close()
}

// Close implements table.Sequence.
func (u *unpacked) Close() {
	if u.stream != nil {
		u.ahead.Close()
		u.stream.Close()
	}
	if u.held != nil {
		u.drop()
	}
}
