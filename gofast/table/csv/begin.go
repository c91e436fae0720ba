package csv

import (
	"bytes"
	"fmt"

	"github.com/gofast-org/gofast/gofast/internal/errs"
)

// begin finds where the table begins: behind a byte order mark, the lines that the
// caller skips, and the line in which Excel names the delimiter. false: the sample
// ends before it.
func (s *sample) begin(r *reader) (bool, error) {
	if bytes.HasPrefix(s.text, byteOrderMark) {
		if r.opts.Encoding != nil {
			return false, r.fail(errs.ErrFormat, "the file begins with the mark of UTF-8: leave encoding= out")
		}
		s.skip = len(byteOrderMark)
	}
	s.given = r.opts.Delimiter
	for n := range r.opts.SkipRows {
		end := bytes.IndexAny(s.text[s.skip:], "\r\n")
		if end < 0 && s.all {
			return false, r.fail(errs.ErrSchema, fmt.Sprintf("skiprows=%d, but the file has only %s", r.opts.SkipRows, plural(n+1, "line")))
		}
		// Half of "\r\n" may be all that the sample has.
		if end < 0 || !s.all && s.skip+end+1 == len(s.text) {
			return false, nil
		}
		s.skip = lineEnd(s.text, s.skip+end)
	}
	line, _, ended := bytes.Cut(s.text[s.skip:min(len(s.text), s.skip+len(`"sep=;"`)+2)], []byte("\n"))
	if !ended {
		return true, nil
	}
	named := bytes.Trim(bytes.TrimSuffix(line, []byte("\r")), `"`)
	if len(named) == len("sep=;") && bytes.EqualFold(named[:4], []byte("sep=")) && bytes.IndexByte(delimiters, named[4]) >= 0 {
		s.skip += len(line) + 1
		if s.given == 0 {
			s.given = named[4]
		}
	}
	return true, nil
}

// unsniffed are delimiters that nobody writes a table with but on purpose: times
// have colons and texts have blanks, so they are only suggested.
const unsniffed = " :^~&!#"

// oneText explains a file whose every line is one cell of text: no table.
func (r *reader) oneText(rows [][][]byte) error {
	for i := range len(unsniffed) {
		if cells := evenly(rows, unsniffed[i]); cells > 1 {
			return r.fail(errs.ErrSchema, fmt.Sprintf("every line is one cell of text, and %q would cut each into %d: say delimiter=%q if it stands between the cells",
				unsniffed[i:i+1], cells, unsniffed[i:i+1])).WithCell(string(r.utf8(rows[0][0])))
		}
	}
	if words := len(bytes.Fields(rows[0][0])); words > 1 {
		return r.fail(errs.ErrSchema, "every line is one cell of text: if runs of blanks stand between the cells, convert the file: "+
			`pandas.read_csv(path, sep=r"\s+").to_parquet("table.parquet")`).WithCell(string(r.utf8(rows[0][0])))
	}
	return nil
}

// evenly is the number of cells that a delimiter cuts every line into; 0 where
// they differ or some are empty.
func evenly(rows [][][]byte, delim byte) int {
	want := 0
	for _, row := range rows {
		cells := bytes.Split(row[0], []byte{delim})
		for _, cell := range cells {
			if len(cell) == 0 {
				return 0
			}
		}
		if want == 0 {
			want = len(cells)
		}
		if len(cells) != want {
			return 0
		}
	}
	return want
}

// unlike explains a row of the sample that has not the cells of the first one.
func (r *reader) unlike(rows [][][]byte, row int64, cells [][]byte) error {
	first := rows[0]
	comment := len(cells[0]) > 0 && cells[0][0] == '#'
	switch {
	case len(first) == 1 && len(cells) > 1:
		return r.fail(errs.ErrSchema, fmt.Sprintf("the first line is one cell and a later one has %d: if a title or comments stand before the table, "+
			"say how many lines with skiprows=; else check the delimiter %q", len(cells), r.delim)).WithCell(string(r.utf8(first[0])))
	case len(cells) == 1 && comment:
		return r.fail(errs.ErrDamaged, "the row is a comment, which gofast does not know: drop it from the file").AtRow(row, "").WithCell(string(r.utf8(cells[0])))
	}
	return r.cellCount(row, len(cells))
}

// endsWithDelimiter says that every row has an empty cell more than the header:
// taken as names, they would move by one column.
func endsWithDelimiter(rows [][][]byte) bool {
	for _, row := range rows {
		if len(row) == 0 || len(row[len(row)-1]) > 0 {
			return false
		}
	}
	return len(rows) > 0
}
