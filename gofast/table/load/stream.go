package load

import (
	"context"
	"errors"
	"fmt"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/source"
	"github.com/gofast-org/gofast/gofast/table"
)

// Stream is a table that is decoded some rows at a time, into memory of the caller. Each time its features are of the
// smallest type that holds these rows. One goroutine at a time may use it.
type Stream struct {
	o      *opened
	first  table.Type              // tried before anything was decoded
	report func(done, total int64) // of Cut; nil meanwhile
	file   int                     // Next's
	row    int64                   // of that file
	text   table.Sequence          // where it is text
	bytes  int64                   // of text that are decoded together; 0: nothing was decoded yet
	parts  []table.Part            // where it is not
}

// Piece is consecutive rows of one file of a stream.
type Piece struct {
	File int `json:"file"`
	table.Part
	Row int64 `json:"row"` // the first, in the file
}

// Opened is what is known of a stream before anything is decoded.
type Opened struct {
	Decoded                // Rows is -1 where text files must be read for that; Type is what is tried first
	Stamps  []source.Stamp `json:"stamps"` // of the files
}

// OpenStream opens the files, whose rows nobody counts.
func OpenStream(ctx context.Context, paths []string, options Options) (*Stream, Opened, error) {
	s := &Stream{}
	options.streamed = true
	options.Progress = func(done, total int64) {
		if s.report != nil {
			s.report(done, total)
		}
	}
	o, err := open(ctx, paths, options)
	if err != nil {
		return nil, Opened{}, err
	}
	s.o, s.first = o, o.start
	for i, kind := range o.kinds {
		o.schema.LabelKinds = append(o.schema.LabelKinds, kindNames[kind])
		if kind == table.TextLabel && o.classes.none() {
			o.close()
			return nil, Opened{}, errs.New(errs.ErrConfig, "open", "the label is text, whose words no part of the table has all of: number them with classes=").
				At(paths[0]).InColumn(o.schema.Labels[i])
		}
	}
	o.schema.Type = o.start
	info := Opened{Decoded: Decoded{Schema: o.schema}}
	if info.Rows = -1; o.exact {
		info.Rows = o.bound
	}
	for _, f := range o.files {
		info.Stamps = append(info.Stamps, f.Stamp())
	}
	return s, info, nil
}

// Close closes the files.
func (s *Stream) Close() {
	s.endFile()
	s.o.close()
}

// Cut cuts all files into pieces of at least so many rows. Text files are read for that.
func (s *Stream) Cut(ctx context.Context, rows int64, progress func(done, total int64)) (pieces []Piece, err error) {
	s.report = progress
	defer func() { s.report = nil }()
	for i, r := range s.o.readers {
		parts, err := r.(table.Parter).Parts(ctx, rows)
		if err != nil {
			return nil, err
		}
		if err := s.o.files[i].CheckUnchanged(); err != nil {
			return nil, err
		}
		s.o.rest(i)
		row := int64(0)
		for _, p := range parts {
			pieces = append(pieces, Piece{i, p, row})
			row += p.Rows
		}
	}
	return pieces, nil
}

// Decode decodes pieces into memory: the features of all, one piece behind the other, and then their labels. It may
// fail with ErrRoom, and be called again with more.
func (s *Stream) Decode(ctx context.Context, pieces []Piece, memory []byte) (Decoded, error) {
	for {
		some := s.o.none()
		for _, p := range pieces {
			if p.File < 0 || p.File >= len(s.o.files) {
				return Decoded{}, errs.New(errs.ErrConfig, "stream", fmt.Sprintf("there is no file %d", p.File))
			}
			some.add(s.o, p.File, s.o.readers[p.File].(table.Parter).Part(p.Part), p.Row)
		}
		d, err := some.into(ctx, memory)
		if !errors.Is(err, ErrRoom) || !s.narrowed() {
			return s.decoded(d), err
		}
	}
}

// narrowed forgets of what type other rows were: these may be narrower. It says whether that is any news.
func (s *Stream) narrowed() bool {
	before := s.o.start
	s.o.start = s.first
	return before != s.first
}

// Next decodes the next rows of the files, in their order: as many as memory holds, or fewer. Row is where the first
// one stands in File. No rows: there are none left. It may fail with ErrRoom, and be called again with more.
func (s *Stream) Next(ctx context.Context, memory []byte) (d Decoded, at Piece, err error) {
	for s.file < len(s.o.files) && d.Rows == 0 {
		at = Piece{File: s.file, Row: s.row}
		part, err := s.part(ctx, int64(len(memory)))
		if err == nil && part == nil {
			err = s.nextFile()
		} else if err == nil {
			d, err = s.decodePart(ctx, part, memory)
		}
		if err != nil {
			return d, at, err
		}
	}
	return d, at, nil
}

func (s *Stream) nextFile() error {
	if err := s.o.files[s.file].CheckUnchanged(); err != nil {
		return err
	}
	s.endFile()
	s.o.rest(s.file)
	s.file, s.row = s.file+1, 0
	return nil
}

// decodePart decodes a part of the current file, or less of it where it is text and memory does not hold it.
func (s *Stream) decodePart(ctx context.Context, part table.Reader, memory []byte) (d Decoded, err error) {
	refused := int64(0) // rows of the last part that memory was too small for
	for {
		one := s.o.none()
		one.add(s.o, s.file, part, s.row)
		d, err = one.into(ctx, memory)
		if err == nil {
			s.took(d, len(memory), one.rowBytes(d.Type))
			return s.decoded(d), nil
		}
		if !errors.Is(err, ErrRoom) {
			return d, err
		}
		// Less text makes no smaller part of a long row and short ones behind it.
		if rows, _ := part.Rows(); s.text != nil && rows > 1 && rows != refused {
			refused = rows
			s.bytes = textFor(len(memory), s.bytes, d.Size)
		} else if !s.narrowed() {
			return d, err
		}
		if part, err = s.part(ctx, int64(len(memory))); err != nil {
			return Decoded{}, err
		}
	}
}

// took goes on behind a part that was decoded.
func (s *Stream) took(d Decoded, memory int, rowBytes int64) {
	s.row += d.Rows
	if s.text == nil {
		s.parts = s.parts[1:]
	} else if took := s.text.Done(); d.Rows > 0 {
		s.bytes = min(textFor(memory, took, d.Rows*rowBytes), 8*took)
	}
}

// part is the reader of the next rows of the current file; nil at its end.
func (s *Stream) part(ctx context.Context, room int64) (part table.Reader, err error) {
	defer func() {
		if ctx.Err() != nil {
			err = errs.New(errs.ErrCanceled, "stream", "canceled").Because(ctx.Err())
		}
	}()
	file := s.o.readers[s.file]
	if text, ok := file.(table.Sequential); ok {
		if s.text == nil {
			s.text = text.Sequence()
		}
		if s.bytes == 0 {
			s.bytes = min(room/2, firstText)
		}
		return s.text.Next(ctx, s.bytes)
	}
	if s.parts == nil {
		parts, err := file.(table.Parter).Parts(ctx, room/max(s.o.rowBytes(s.o.start), 1)/4)
		if err != nil {
			return nil, err
		}
		s.parts = append([]table.Part{}, parts...)
	}
	if len(s.parts) == 0 {
		return nil, nil
	}
	return file.(table.Parter).Part(s.parts[0]), nil
}

const firstText = 1 << 20 // bytes of the first part: a batch is there soon

// textFor is how many bytes of text fill memory, less a 16th, if other rows took so many bytes as text and as rows.
func textFor(memory int, text, rows int64) int64 {
	return int64(max(float64(text)*float64(memory-pageBytes)/float64(max(rows, 1))*15/16, 1))
}

func (s *Stream) endFile() {
	if s.text != nil {
		s.text.Close()
	}
	s.text, s.parts = nil, nil
}

// decoded remembers the type: what comes next is probably no narrower.
func (s *Stream) decoded(d Decoded) Decoded {
	s.o.start, s.o.rounded = max(s.o.start, d.Type), s.o.rounded || d.Rounded
	return d
}

// rowBytes is what a row takes, as this type.
func (o *opened) rowBytes(t table.Type) int64 { return int64(o.schema.Width*t.Size() + 8*len(o.kinds)) }

// none is the same table, without readers.
func (o *opened) none() *opened {
	some := *o
	some.readers, some.files, some.selections, some.parts = nil, nil, nil, []origin{}
	some.bound, some.exact = 0, true
	return &some
}

// add appends the reader of a part, whose first row is that of the file.
func (o *opened) add(whole *opened, file int, part table.Reader, row int64) {
	rows, exact := part.Rows()
	o.readers, o.files = append(o.readers, part), append(o.files, whole.files[file])
	o.selections = append(o.selections, whole.selections[file])
	o.parts = append(o.parts, origin{whole.readers[file], row})
	o.bound, o.exact = o.bound+rows, o.exact && exact
}

// ErrRoom says that memory of the caller is too small: Size is what the rows take, as Type.
var ErrRoom = errors.New("the rows do not fit the memory")

// into decodes into memory of the caller.
func (o *opened) into(ctx context.Context, m []byte) (Decoded, error) {
	var d Decoded
	alloc := func(t table.Type) (memory, error) {
		if !o.exact { // it is often ten times the real number: there may well be no more rows than memory holds
			o.bound = min(o.bound, max(int64(len(m))-pageBytes, 0)/max(o.rowBytes(t), 1))
		}
		labelsAt, size, err := o.sizes(t)
		o.schema.Type, o.schema.Rows = t, o.bound
		if d.LabelsOffset, d.Size = labelsAt, size; err == nil && size > int64(len(m)) {
			err = ErrRoom
		}
		if err != nil {
			return memory{}, err
		}
		return memory{m[:labelsAt], m[labelsAt:size], func() {}}, nil
	}
	err := o.decode(ctx, alloc)
	if errors.Is(err, errs.ErrLimit) && o.scratch.Empty() { // what other parts left there may be what is lacking
		err = o.decode(ctx, alloc)
	}
	d.Schema = o.schema
	return d, err
}
