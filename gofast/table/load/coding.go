package load

import (
	"fmt"
	"slices"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/table"
)

// ColumnCategories are the texts that one feature column may hold, and their
// numbers. Any other text is ErrCategory.
type ColumnCategories struct {
	Column  ColumnRef `json:"column"`
	Names   []string  `json:"names"`
	Numbers []int64   `json:"numbers"` // one for each text; or
	Reals   []float64 `json:"reals"`   // one finite number for each text; both nil: their positions
}

// ColumnDate says that a feature column holds dates or times, to be counted in a
// unit since 1970 or midnight, rounded down.
type ColumnDate struct {
	Column ColumnRef  `json:"column"`
	Unit   table.Unit `json:"unit"`
}

// coding is the option for one column.
type coding struct {
	option string
	column ColumnRef
	table.Coding
}

// codings checks the options that say how columns become numbers.
func (t *Options) codings() (list []coding, err error) {
	bad := func(c ColumnRef, format string, args ...any) error {
		return errs.New(errs.ErrConfig, "open", fmt.Sprintf(format, args...)).InColumn(c.Name)
	}
	for _, c := range t.Categories {
		switch {
		case len(c.Names) == 0:
			return nil, bad(c.Column, "categories= has no names for the column")
		case twice(c.Names):
			return nil, bad(c.Column, "categories= has a name twice")
		case c.Numbers != nil && c.Reals != nil:
			return nil, bad(c.Column, "categories= are integers or floats, not both")
		case c.Numbers != nil && len(c.Numbers) != len(c.Names), c.Reals != nil && len(c.Reals) != len(c.Names):
			return nil, bad(c.Column, "%d numbers do not go with %d categories", len(c.Numbers)+len(c.Reals), len(c.Names))
		case slices.ContainsFunc(c.Reals, func(v float64) bool { return v-v != 0 }):
			return nil, bad(c.Column, "categories= has a number that is not finite")
		}
		list = append(list, coding{"categories", c.Column, table.Coding{Categories: table.NewCategories(c.Names, c.Numbers, c.Reals)}})
	}
	for _, d := range t.Dates {
		if d.Unit.String() == "?" {
			return nil, bad(d.Column, "dates= has the unit %d: give table.Day, Hour, Minute, Second or a part of it", d.Unit)
		}
		list = append(list, coding{"dates", d.Column, table.Coding{Unit: d.Unit}})
	}
	return list, nil
}

// findCodings finds the columns of the file that was opened last that have a coding.
func (o *opened) findCodings(path string, columns []table.Column) (map[int]table.Coding, error) {
	var found map[int]table.Coding
	for _, c := range o.codings {
		i, ok := find(columns, c.column)
		if !ok {
			return nil, noColumn(path, c.option, c.column, columns)
		}
		if _, twice := found[i]; twice {
			return nil, errs.New(errs.ErrConfig, "open", "the column stands in categories= or dates= twice").At(path).InColumn(columns[i].Name)
		}
		r, able := o.readers[len(o.readers)-1].(table.Coder)
		if !able {
			return nil, errs.New(errs.ErrConfig, "open", c.option+"= is for text and Parquet files: leave it out").At(path).InColumn(columns[i].Name)
		}
		if err := r.CheckCoding(i, c.Coding); err != nil {
			return nil, err
		}
		if found == nil {
			found = make(map[int]table.Coding, len(o.codings))
		}
		found[i] = c.Coding
	}
	return found, nil
}

// checkCodings refuses columns that have a coding but are not features.
func (o *opened) checkCodings(path string, columns []table.Column, sel table.Selection) error {
	for _, c := range o.codings {
		if i, _ := find(columns, c.column); !slices.Contains(sel.Features, i) {
			return errs.New(errs.ErrSchema, "open", c.option+"= names a column that is not a feature").At(path).InColumn(columns[i].Name)
		}
	}
	return nil
}

// coarser adds advice about dates to an error about integers among floats.
func (o *opened) coarser(err error) error {
	for _, c := range o.codings {
		if e, ok := err.(*errs.Error); ok && c.Unit != 0 && c.Unit < table.Second {
			e.Text += ", or give a coarser unit in dates="
			return e
		}
	}
	return err
}

// hintOf is the type worth trying first for a column under a coding.
func hintOf(c table.Coding) table.Type {
	if c.Categories != nil && c.Categories.Reals != nil {
		return table.Float32
	}
	return table.Uint8
}
