package parquet

import (
	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/table"
)

// CheckCoding implements table.Coder.
func (r *Reader) CheckCoding(at int, coding table.Coding) error {
	c := &r.columns[at]
	switch {
	case coding.Categories != nil && c.kind != texts:
		return r.fault(errs.ErrSchema, "categories= is for text, and the column holds "+c.holds()+": leave it out of categories=").InColumn(c.Name)
	case coding.Unit != 0 && c.tick == 0:
		return r.fault(errs.ErrSchema, "dates= is for dates and times, and the column holds "+c.holds()+": leave it out of dates=").InColumn(c.Name)
	}
	return nil
}

// holds says what is in a column, for an error.
func (c *column) holds() string {
	switch {
	case c.tick != 0:
		return "dates or times"
	case c.why != "":
		return c.why
	case c.kind == texts:
		return "text"
	case c.kind.isFloat():
		return "floats"
	default:
		return "integers"
	}
}

// coded is the column as a feature under a coding that CheckCoding has accepted.
func (c *column) coded(coding table.Coding) *column {
	made := *c
	made.coding, made.Text, made.why = coding, false, ""
	switch {
	case coding.Unit != 0:
		made.kind = times
	case coding.Categories.Reals != nil:
		made.kind = reals
	default:
		made.kind = places
	}
	return &made
}

// categories numbers the texts of a page.
func (d *numbers[T]) categories(v *values, dst []T) error {
	categories := d.c.coding.Categories
	if d.words == nil {
		d.words = &words{w: d.w, dict: categories.Dictionary, cache: categories.Cache()}
	}
	ids, err := grow(d.w, &d.w.codes, len(dst))
	if err != nil {
		return err
	}
	if err := d.words.ids(v, ids); err != nil {
		return err
	}
	if d.c.kind == reals {
		for i, id := range ids {
			if err := d.putReal(categories.Reals[id], dst, i); err != nil {
				return err
			}
		}
		return nil
	}
	for i, id := range ids {
		if err := d.putInt(categories.Ints[id], dst, i); err != nil {
			return err
		}
	}
	return nil
}

func (d *numbers[T]) putInt(v int64, dst []T, i int) error {
	var fits bool
	if dst[i], fits = table.FitInt[T](v); !fits && !d.rounds {
		return table.ErrNarrow
	}
	return nil
}
