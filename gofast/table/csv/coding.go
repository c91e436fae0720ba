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
	place
	table.Coding
}

// CheckCoding implements table.Coder: every cell is text until it is read.
func (r *reader) CheckCoding(int, table.Coding) error { return nil }

// coded lists the columns that have a coding, in file order.
func (r *reader) coded(wanted []int32, codings map[int]table.Coding) (list []coded) {
	for _, c := range slices.Sorted(maps.Keys(codings)) {
		if k, ok := slices.BinarySearch(wanted, r.visible[c]); ok {
			list = append(list, coded{place{k: k, column: r.visible[c]}, codings[c]})
		}
	}
	return list
}

// code replaces what the parser made of a coded cell by its number. A word that
// stands for a missing value is none where it is one of the categories.
func (p *parser) code(c *coded, row int64) error {
	text := p.r.utf8(p.texts[c.k])
	kind, bits := missingCell, uint64(0)
	switch {
	case c.Categories != nil:
		if id := c.Categories.Find(text); id != table.Unknown {
			kind, bits = c.number(id)
		} else if !utf8.Valid(text) {
			return p.bad(errs.ErrValue, "the cell "+p.r.notText(), c.place, row)
		} else if !missing(text) {
			why, unknown := c.Categories.Refuse()
			return p.bad(unknown, why, c.place, row)
		}
	case !missing(text) && string(text) != "NaT":
		t, ok := parseTime(text)
		if !ok {
			return p.bad(errs.ErrValue, "the cell is not a date of dates=, which are as 2024-01-31, 2024-01-31 12:34, "+
				"2024-01-31T12:34:56.789 or with Z or +01:00 behind the time: correct it, or take the column out of dates=", c.place, row)
		}
		v, fits := c.Unit.At(t.day, t.nanoseconds)
		if !fits {
			return p.bad(errs.ErrValue, c.Unit.Refuse(), c.place, row)
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
