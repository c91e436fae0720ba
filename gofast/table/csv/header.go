package csv

import (
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/table"
)

// recognise sets delimiter, columns and the start of the data from the sample.
func (r *reader) recognise(s *sample) error {
	r.delim = s.delim
	rows, starts := s.rows, s.starts
	if len(rows) == 0 {
		if _, _, open := split(s.text[s.skip:], r.delim); open {
			return r.fail(errs.ErrDamaged, "a quote is opened in the first line and never closed")
		}
		return r.fail(errs.ErrFormat, "no data: the file has only blank lines")
	}
	first := rows[0]
	r.start = int64(starts[0])
	header, err := r.isHeader(first, 1+breaks(s.text[:starts[0]]))
	if err != nil {
		return err
	}
	columns := len(first)
	if header {
		rows, starts = rows[1:], starts[1:]
		r.start = int64(starts[0])
		// As in pandas, one name less than cells means that the first column is an
		// index without a name.
		if len(rows) > 0 && len(rows[0]) == columns+1 {
			if endsWithDelimiter(rows) {
				return r.fail(errs.ErrSchema, fmt.Sprintf("every row ends with %q, which the header does not: its names would stand "+
					"over the wrong cells; drop it from the rows, or add one to the header and choose columns=", r.delim))
			}
			if columns == 1 {
				return r.fail(errs.ErrSchema, fmt.Sprintf("the header has one name and the rows have two cells: say skiprows= if a title "+
					"or comments stand before the table, decimal=\",\" if %q is a decimal comma, or name both columns", r.delim)).AtRow(0, "")
			}
			columns++
		}
	}
	r.start = min(r.start, int64(s.size))
	if int64(columns) > r.opts.Limits.Columns {
		return r.fail(errs.ErrLimit, fmt.Sprintf("%d columns, the limit is %d: raise limits={\"columns\": ...}",
			columns, r.opts.Limits.Columns))
	}
	for i, row := range rows {
		if len(row) != columns {
			r.fields = make([]field, columns)
			return r.unlike(s.rows, int64(i), row)
		}
	}
	if err := r.name(first, columns, header); err != nil {
		return err
	}
	r.guessTypes(rows)
	if columns == 1 && r.fields[0].Text && r.opts.Delimiter == 0 && !r.opts.Coded {
		return r.oneText(s.rows)
	}
	return nil
}

// name makes the fields from the header's cells, or numbers them.
func (r *reader) name(first [][]byte, columns int, header bool) error {
	r.fields = make([]field, columns)
	shift := columns - len(first) // 1 where the header leaves out the index
	at := make(map[string]int, columns)
	var unnamed []int // fields that pandas names, after the others
	for i := range r.fields {
		f := &r.fields[i]
		given := true
		switch {
		case !header:
			f.Name = strconv.Itoa(i)
		case i < shift:
			f.Name, given = table.UnnamedIndex, false
		case len(first[i-shift]) == 0:
			f.Name, given = fmt.Sprintf("Unnamed: %d", i-shift), false
		default:
			f.Name = string(r.utf8(first[i-shift]))
		}
		r.visible = append(r.visible, int32(i))
		f.Index = table.IsIndex(f.Name)
		before, taken := at[f.Name]
		switch {
		case !given, f.Index && taken:
			unnamed = append(unnamed, i)
			continue
		case !utf8.ValidString(f.Name):
			return r.fail(errs.ErrFormat, fmt.Sprintf("the name of column %d "+r.notText(), i)).WithCell(f.Name)
		case taken:
			return r.fail(errs.ErrSchema, fmt.Sprintf("two columns have the same name, at positions %d and %d: rename one", before, i)).
				InColumn(f.Name)
		}
		at[f.Name] = i
	}
	for _, i := range unnamed {
		f := &r.fields[i]
		plain := f.Name
		_, taken := at[f.Name]
		for n := 1; taken; n++ {
			f.Name = fmt.Sprintf("%s.%d", plain, n)
			_, taken = at[f.Name]
		}
		at[f.Name] = i
	}
	r.visible = table.IndexLast(r.visible, func(i int32) bool { return r.fields[i].Index })
	return nil
}

// guessTypes fills Text, Bool, Hint and small from the sample's data rows, first and
// Label from the first of them.
func (r *reader) guessTypes(rows [][][]byte) {
	for i := range r.fields {
		f := &r.fields[i]
		f.small = true
		if f.Unseen = len(rows) == 0; !f.Unseen {
			f.first, _ = r.classify(rows[0][i])
		}
		switch f.first {
		case realCell:
			f.Label = table.FloatLabel
		case textCell:
			f.Label = table.TextLabel
		}
		var seen table.Range
		numbers, truths := false, false
		text := func(row int, cell []byte) {
			if !f.Text {
				f.Text, f.TextRow, f.TextCell, f.TextWhy = true, int64(row), errs.Cut(string(r.utf8(cell))), cause(cell)
			}
		}
		for at, row := range rows {
			k, bits := r.classify(row[i])
			switch k {
			case intCell, minusZero, realCell:
				add(&seen, k, bits)
			case textCell:
				text(at, row[i])
			}
			numbers = numbers || k == intCell || k == minusZero || k == realCell || k == hugeCell
			truths = truths || k == boolCell
			if numbers && truths {
				text(at, row[i])
			}
			f.small = f.small && k == intCell && bits <= math.MaxUint8
		}
		f.Bool = truths && !f.Text
		f.Mixed = f.Text && numbers
		f.blank = !numbers && !truths && !f.Text
		f.Sampled = true
		f.Hint = table.Uint8
		if seen.Float {
			var err error
			if f.Hint, err = seen.Type(); err != nil {
				f.Hint = table.Float64
			}
		}
	}
}
