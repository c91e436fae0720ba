package csv

import (
	"bytes"
	"fmt"
	"io"
	"slices"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/internal/foreign"
	"github.com/gofast-org/gofast/gofast/source"
)

const (
	// sampleSize is how much of the content decides delimiter, header and types,
	// unless two lines need more.
	sampleSize = 64 << 10
	// sampleRows and sampleCells bound the work on very short and very long lines.
	sampleRows  = 1000
	sampleCells = 1 << 18
)

// sample is the head of the unpacked content, cut into cells.
type sample struct {
	notation
	text  []byte // of the whole content if all is true; its last line has a newline then
	size  int    // length of text in the file, without an added newline
	skip  int    // length of what stands before the table
	given byte   // the delimiter, where it is known
	all   bool
	cells int // most cells of a row

	delim  byte
	rows   [][][]byte // complete records
	starts []int      // where each starts, and where the one after them does
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
		defer r.opts.Budget.Release(int64(size))
		grown := make([]byte, size)
		n := copy(grown, text)
		more, err := io.ReadFull(stream, grown[n:])
		all := err == io.EOF || err == io.ErrUnexpectedEOF
		if err != nil && !all {
			return nil, err
		}
		text = grown[:n+more]
		// What a compressed file holds is known only now.
		if advice := foreign.Advice(text); advice != "" {
			return nil, r.fail(errs.ErrFormat, advice)
		}
		if known := unpackable(text); known != "" && r.compression != source.Plain {
			return nil, r.fail(errs.ErrFormat, "a "+known+" file, packed with "+r.compression.String()+" as a whole: unpack it first")
		}
		if err := r.looksLikeText(text); err != nil {
			return nil, err
		}
		s := &sample{notation: r.notation, text: text, size: len(text), all: all, cells: int(r.opts.Limits.Columns) + 1}
		begun, err := s.begin(r)
		if err != nil {
			return nil, err
		}
		if all {
			if len(text) == s.skip {
				return nil, r.fail(errs.ErrFormat, "empty file")
			}
			if text[len(text)-1] != '\n' {
				s.text = append(text, '\n')
			}
			s.cut()
			return s, nil
		}
		if begun {
			if s.cut(); len(s.rows) >= 2 {
				return s, nil
			}
		}
		if int64(len(text)) > r.opts.Limits.Cell+sampleSize {
			return nil, r.tooLong()
		}
	}
}

// unpackable names a format that is read, but not through a stream.
func unpackable(text []byte) string {
	for magic, name := range map[string]string{"PAR1": "Parquet", "ARROW1": "Arrow", "\xff\xff\xff\xff": "Arrow", "\x93NUMPY": "npy", "PK\x03\x04": "npz or zip"} {
		if bytes.HasPrefix(text, []byte(magic)) {
			return name
		}
	}
	return ""
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

// delimiters in the order of preference.
var delimiters = []byte(",\t;|")

// cut picks the delimiter that cuts every record of the sample into the same
// number of cells, more than one; of several the one that leaves most numbers.
func (s *sample) cut() {
	if s.given != 0 {
		s.delim = s.given
		s.rows, s.starts = s.rowsOf(s.delim)
		return
	}
	var present []byte
	for _, delim := range delimiters {
		if bytes.IndexByte(s.text[s.skip:], delim) >= 0 {
			present = append(present, delim)
		}
	}
	// A decimal comma parts cells only where it must: then cells with one have quotes.
	if without := slices.DeleteFunc(slices.Clone(present), func(c byte) bool { return c == s.point }); len(without) < len(present) {
		if rows, _ := s.rowsOf(s.point); len(without) > 0 || s.score(rows) < 2 {
			present = without
		}
	}
	if len(present) == 0 { // whatever does not occur
		present = []byte{'\t'}
		if s.point == 0 {
			present = delimiters[:1]
		}
	}
	best := -1.0
	for _, delim := range present {
		rows, starts := s.rowsOf(delim)
		if len(present) == 1 {
			s.delim, s.rows, s.starts = delim, rows, starts
			return
		}
		if score := s.score(rows); score > best {
			s.delim, s.rows, s.starts, best = delim, rows, starts, score
		}
	}
}

// rowsOf cuts the complete records under one delimiter.
func (s *sample) rowsOf(delim byte) (rows [][][]byte, starts []int) {
	records, rest, _ := split(s.text[s.skip:], delim)
	pos, text := s.skip, s.text[:s.skip+rest]
	for cells := 0; len(rows) < min(records, sampleRows) && (cells < sampleCells || len(rows) < 2); {
		if next, ok := blank(text, pos, delim); ok {
			pos = next
			continue
		}
		starts = append(starts, pos)
		row, next := s.row(text, pos, delim, cells/max(len(rows), 1))
		rows, pos, cells = append(rows, row), next, cells+len(row)
	}
	return rows, append(starts, pos)
}

// row cuts the record at pos, up to one cell more than there may be.
func (s *sample) row(text []byte, pos int, delim byte, likely int) (row [][]byte, next int) {
	t := tokens{delim: delim} // never reset: the texts are kept
	row = make([][]byte, 0, likely)
	for {
		cell, end := t.cell(text, pos)
		row = append(row, cell)
		pos = end + 1
		switch {
		case text[end] != delim:
			return row, lineEnd(text, end)
		case len(row) >= s.cells:
			return row, pos
		}
	}
}

// score is 0 for a delimiter that occurs neither in the first record nor in the
// last, below 1 for one that cuts the records unevenly, from 1 where the first one
// lacks a cell, from 2 for an even cut, and grows with the share of cells that are
// not text.
func (s *sample) score(rows [][][]byte) float64 {
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
				if k, _ := s.classify(text); k != textCell {
					numbers++
				}
			}
		}
	}
	if even < len(rows) {
		return 0.9 * float64(even) / float64(len(rows))
	}
	score := 1 + 0.9*float64(numbers)/float64(max(total, 1))
	if len(rows[0]) == cells {
		score++
	}
	return score
}
