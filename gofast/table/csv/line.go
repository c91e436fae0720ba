package csv

import (
	"bytes"
	"context"
	"errors"
	"io"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/internal/pool"
	"github.com/gofast-org/gofast/gofast/source"
)

// lineBlock is read at a time; more where a record is longer.
const lineBlock = 1 << 20

// Line implements table.Liner: the line on which a data row starts, as an editor
// counts it: from 1, with header, blank lines and newlines in quotes. Nobody counts
// lines while rows are parsed, in parallel; this reads the file from its beginning.
func (r *reader) Line(ctx context.Context, row int64) (line int64, err error) {
	line, _, err = r.find(ctx, row)
	return line, err
}

// find is Line, and says whether the row has an end, which the last row of a file may lack.
func (r *reader) find(ctx context.Context, row int64) (line int64, whole bool, err error) {
	defer pool.Recover(&err, op, r.file.Path())
	stream, err := source.OpenStream(r.file, r.compression, r.opts.Limits.Memory/4)
	if err != nil {
		return 0, false, err
	}
	defer stream.Close()
	l := lines{r: r, ctx: ctx, stream: stream, line: 1}
	if err := l.skip(r.start); err != nil {
		return 0, false, err
	}
	for {
		text, blank, err := l.next()
		switch {
		case err != nil:
			return 0, false, err
		case blank:
		case row == 0:
			return l.line, bytes.HasSuffix(text, []byte("\n")) || bytes.HasSuffix(text, []byte("\r")), nil
		default:
			row--
		}
		l.line += breaks(text)
	}
}

// locate adds the line to an error that names a row, and a question where the file may be cut.
func (r *reader) locate(ctx context.Context, err *error) {
	var e *errs.Error
	if errors.As(*err, &e) && e.Row != errs.None && e.Line == errs.None && !r.packed {
		if line, whole, failed := r.find(ctx, e.Row); failed == nil {
			e.Line = line
			if !whole && e.Kind == errs.ErrDamaged {
				e.Text += "; it is the last row and has no newline: was the file cut?"
			}
		}
	}
}

// lines goes through a file record by record.
type lines struct {
	r      *reader
	ctx    context.Context
	stream io.Reader
	line   int64 // of the next record
	buf    []byte
	pos    int
	ended  bool
}

// skip counts the lines of what stands before the data: n bytes.
func (l *lines) skip(n int64) error {
	for n > 0 {
		if err := l.more(); err != nil {
			return err
		}
		if l.ended && len(l.buf) == 0 {
			return io.ErrUnexpectedEOF
		}
		part := l.buf[:min(n, int64(len(l.buf)))]
		if len(part) < len(l.buf) || l.ended || part[len(part)-1] != '\r' {
			n, l.pos = n-int64(len(part)), len(part)
			l.line += breaks(part)
		}
	}
	return nil
}

// next returns the text of a record, or of a blank line, with its end.
func (l *lines) next() (text []byte, empty bool, err error) {
	for {
		end, empty := blank(l.buf, l.pos, l.r.delim)
		if !empty {
			if end, _ = recordEnd(l.buf, l.pos, l.r.delim); end >= 0 {
				end = lineEnd(l.buf, end)
			}
		}
		// A '\r' at the very end may be half of a line's end.
		if found := empty || end >= 0; found && (end < len(l.buf) || l.ended || l.buf[end-1] != '\r') {
			text = l.buf[l.pos:end]
			l.pos = end
			return text, empty, nil
		}
		if l.ended {
			if l.pos == len(l.buf) {
				return nil, false, io.ErrUnexpectedEOF
			}
			text, l.pos = l.buf[l.pos:], len(l.buf) // a record without its end
			return text, false, nil
		}
		if int64(len(l.buf)-l.pos) > l.r.opts.Limits.Cell+lineBlock {
			return l.buf[l.pos:], false, nil // too long: whoever asks means this one
		}
		if err := l.more(); err != nil {
			return nil, false, err
		}
	}
}

// more drops what was used and reads on.
func (l *lines) more() error {
	if err := l.ctx.Err(); err != nil {
		return err
	}
	kept := copy(l.buf, l.buf[l.pos:])
	buf := make([]byte, kept+lineBlock)
	copy(buf, l.buf[:kept])
	n, err := io.ReadFull(l.stream, buf[kept:])
	l.buf, l.pos = buf[:kept+n], 0
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		l.ended, err = true, nil
	}
	return err
}

// breaks counts the ends of lines: '\n', '\r' and "\r\n".
func breaks(text []byte) (n int64) {
	for i, c := range text {
		if c == '\n' && (i == 0 || text[i-1] != '\r') || c == '\r' {
			n++
		}
	}
	return n
}
