package csv

import (
	"maps"
	"math"
	"slices"
	"unicode/utf8"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/table"
)

// coded is a wanted column whose cells are texts or dates, by its position in
// parser.wanted.
type coded struct {
	k      int
	column int32
	table.Coding
}

// CheckCoding implements table.Coder: every cell is text until it is read.
func (r *reader) CheckCoding(int, table.Coding) error { return nil }

// coded lists the columns that have a coding, in file order.
func (r *reader) coded(wanted []int32, codings map[int]table.Coding) (list []coded) {
	for _, c := range slices.Sorted(maps.Keys(codings)) {
		if k, ok := slices.BinarySearch(wanted, r.visible[c]); ok {
			list = append(list, coded{k: k, column: r.visible[c], Coding: codings[c]})
		}
	}
	return list
}

// parser makes a parser that keeps the texts of coded columns.
func (pl *plan) parser(r *reader) *parser {
	made := newParser(r.delim, r.fields, pl.wanted)
	for _, c := range pl.coded {
		made.verbatim[c.k] = true
	}
	return made
}

// code replaces what the parser made of a coded cell by its number. A word that
// stands for a missing value is none where it is one of the categories.
func (r *reader) code(p *parser, c *coded, row int64) (err error) {
	text := p.texts[c.k]
	kind, bits := missingCell, uint64(0)
	switch {
	case c.Categories != nil:
		if id := c.Categories.Find(text); id != table.Unknown {
			kind, bits = c.number(id)
		} else if !utf8.Valid(text) {
			return r.badCell(errs.ErrValue, "the cell is not UTF-8: save the file as UTF-8", text, row, c.column)
		} else if !missing(text) {
			why, unknown := c.Categories.Refuse()
			return r.badCell(unknown, why, text, row, c.column)
		}
	case !missing(text) && string(text) != "NaT":
		t, ok := parseTime(text)
		if !ok {
			return r.badCell(errs.ErrValue, "the cell is not a date of dates=, which are as 2024-01-31, 2024-01-31 12:34, "+
				"2024-01-31T12:34:56.789 or with Z or +01:00 behind the time: correct it, or take the column out of dates=", text, row, c.column)
		}
		v, fits := c.Unit.At(t.day, t.nanoseconds)
		if !fits {
			return r.badCell(errs.ErrValue, c.Unit.Refuse(), text, row, c.column)
		}
		kind, bits = intCell, uint64(v)
	}
	p.kinds[c.k], p.bits[c.k] = kind, bits
	p.ints = p.ints && kind == intCell
	return nil
}

// number is the cell that the number of a category would have been written as.
func (c *coded) number(id int64) (kind, uint64) {
	if c.Categories.Reals != nil {
		return realCell, math.Float64bits(c.Categories.Reals[id])
	}
	return intCell, uint64(c.Categories.Ints[id])
}

func (r *reader) badCell(kind error, why string, text []byte, row int64, column int32) error {
	return r.fail(kind, why).AtRow(row, r.fields[column].Name).WithCell(string(text))
}
