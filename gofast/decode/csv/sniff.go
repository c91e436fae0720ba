package csv

import (
	"bytes"
	"fmt"
	"io"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/source"
)

const (
	// sampleSize is how much of the content decides delimiter, header and types,
	// unless two lines need more.
	sampleSize = 64 << 10
	// sampleRows bounds the work on a sample of very short lines.
	sampleRows = 1000
)

// sample is the head of the unpacked content.
type sample struct {
	text  []byte // of the whole content if all is true; its last line has a newline then
	size  int    // length of text in the file, without an added newline
	skip  int    // length of the byte order mark
	all   bool
	cells int // most cells of a row
}

var byteOrderMark = []byte("\xef\xbb\xbf")

// sample reads the head, longer and longer until it holds two complete records.
func (r *reader) sample() (*sample, error) {
	if r.file.Size() == 0 {
		return nil, r.fail(errs.ErrFormat, "empty file")
	}
	magic := make([]byte, min(4, r.file.Size()))
	if err := r.file.ReadFull(magic, 0); err != nil {
		return nil, err
	}
	r.compression = source.CompressionOf(magic)
	stream, err := source.OpenStream(r.file, r.compression, r.opts.Limits.Memory/4)
	if err != nil {
		return nil, err
	}
	defer stream.Close()
	var text []byte
	for size := sampleSize; ; size *= 2 {
		if err := r.reserve(int64(size)); err != nil {
			return nil, err
		}
		defer r.release(int64(size))
		grown := make([]byte, size)
		n := copy(grown, text)
		more, err := io.ReadFull(stream, grown[n:])
		all := err == io.EOF || err == io.ErrUnexpectedEOF
		if err != nil && !all {
			return nil, err
		}
		text = grown[:n+more]
		if err := r.looksLikeText(text); err != nil {
			return nil, err
		}
		s := &sample{text: text, size: len(text), all: all, cells: int(r.opts.Limits.Columns) + 1}
		if bytes.HasPrefix(text, byteOrderMark) {
			s.skip = len(byteOrderMark)
		}
		if all {
			if len(text) == s.skip {
				return nil, r.fail(errs.ErrFormat, "empty file")
			}
			if text[len(text)-1] != '\n' {
				s.text = append(text, '\n')
			}
			return s, nil
		}
		if records, _, _ := split(text[s.skip:], s.delimiter()); records >= 2 {
			return s, nil
		}
		if int64(len(text)) > r.opts.Limits.Cell+sampleSize {
			return nil, r.tooLong()
		}
	}
}

// looksLikeText refuses binary content: NUL bytes, or more than one control
// character in a hundred bytes.
func (r *reader) looksLikeText(text []byte) error {
	if at := bytes.IndexByte(text, 0); at >= 0 {
		return r.fail(errs.ErrFormat, "neither a known format nor text: there is a NUL byte").AtOffset(int64(at))
	}
	control := 0
	for _, c := range text {
		if c < ' ' && c != '\t' && c != '\n' && c != '\r' || c == 0x7f {
			control++
		}
	}
	if control > len(text)/100 {
		return r.fail(errs.ErrFormat, fmt.Sprintf("neither a known format nor text: %d of the first %d bytes are control characters",
			control, len(text)))
	}
	return nil
}

// rowsOf cuts the complete records of the sample under a delimiter. starts has
// one entry more: where the record after them starts.
func (s *sample) rowsOf(delim byte) (rows [][][]byte, starts []int) {
	pos, end := s.skip, s.skip
	records, rest, _ := split(s.text[s.skip:], delim)
	end += rest
	for len(rows) < min(records, sampleRows) {
		if next, ok := blank(s.text[:end], pos, delim); ok {
			pos = next
			continue
		}
		starts = append(starts, pos)
		t := tokens{delim: delim} // not reset: the texts are kept
		var row [][]byte
		for {
			text, at := t.cell(s.text[:end], pos)
			row = append(row, text)
			if len(row) > s.cells {
				return append(rows, row), append(starts, at)
			}
			pos = at + 1
			if s.text[at] != delim {
				pos = lineEnd(s.text[:end], at)
				break
			}
		}
		rows = append(rows, row)
	}
	return rows, append(starts, pos)
}

// delimiters in the order of preference.
var delimiters = []byte(",\t;|")

// delimiter picks the one that cuts every record of the sample into the same
// number of cells, more than one; of several the one that leaves most numbers.
func (s *sample) delimiter() byte {
	best, bestScore := delimiters[0], 0.0
	for _, delim := range delimiters {
		if bytes.IndexByte(s.text, delim) < 0 {
			continue
		}
		rows, _ := s.rowsOf(delim)
		if score := score(rows); score > bestScore {
			best, bestScore = delim, score
		}
	}
	return best
}

// score is 0 for a delimiter that occurs neither in the first record nor in the
// last, below 1 for one that cuts the records unevenly, and grows from there with
// the share of cells that are not text.
func score(rows [][][]byte) float64 {
	if len(rows) == 0 {
		return 0
	}
	cells := len(rows[len(rows)-1])
	if cells < 2 && len(rows[0]) < 2 {
		return 0
	}
	even, numbers, total := 0, 0, 0
	for i, row := range rows {
		// A header may leave out the name of the index.
		if len(row) == cells || i == 0 && len(row)+1 == cells {
			even++
		}
		if i > 0 && i <= 20 {
			for _, text := range row {
				total++
				if k, _ := classify(text); k != textCell {
					numbers++
				}
			}
		}
	}
	if even < len(rows) {
		return 0.9 * float64(even) / float64(len(rows))
	}
	return 1 + float64(numbers)/float64(max(total, 1))
}
