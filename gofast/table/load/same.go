package load

import (
	"fmt"
	"slices"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/table"
)

const sameRule = ": files of one table must have the same columns in the same order"

// sameColumns compares the columns of two files of one table, without those of an index.
func (o *opened) sameColumns(pathA string, a []table.Column, pathB string, b []table.Column, sel table.Selection) error {
	bad := func(format string, args ...any) error {
		return errs.New(errs.ErrSchema, "open", fmt.Sprintf(format, args...)+sameRule).At(pathB)
	}
	n := table.Counted(a)
	if n != table.Counted(b) {
		return bad("%d columns, but %s has %d", table.Counted(b), pathA, n)
	}
	for i := range n {
		if a[i].Name != b[i].Name {
			return bad("column %d is %q, but %q in %s", i, errs.Cut(b[i].Name), errs.Cut(a[i].Name), pathA)
		}
		if err := o.sameColumn(pathA, a[i], pathB, b[i], i, sel); err != nil {
			return err
		}
	}
	return nil
}

// sameColumn compares column a of one file with column b of another, whose number there is i. The labels of a text
// file are checked later, cell by cell, when their kind is known. A column with a
// coding was checked together with the coding.
func (o *opened) sameColumn(pathA string, a table.Column, pathB string, b table.Column, i int, sel table.Selection) error {
	bad := func(format string, args ...any) error {
		return errs.New(errs.ErrSchema, "open", fmt.Sprintf(format, args...)+sameRule).At(pathB)
	}
	_, coded := sel.Codings[i]
	switch {
	case coded && a.Clock != b.Clock:
		return bad("column %q holds %s, but %s in %s", errs.Cut(b.Name), since(b), since(a), pathA)
	case coded, a.Unseen || b.Unseen, a.Sampled && b.Sampled && slices.Contains(sel.Labels, i):
	case b.Text && !a.Text:
		return o.text(pathB, b, fmt.Sprintf("the column holds text, but %s in %s", holds(a), pathA)+sameRule+b.TextWhy)
	case a.Text != b.Text, a.Bool != b.Bool, isInt(a) != isInt(b) && !a.Sampled && !b.Sampled:
		return bad("column %q holds %s, but %s in %s", errs.Cut(b.Name), holds(b), holds(a), pathA)
	case !slices.Equal(a.Shape, b.Shape):
		return bad("column %q has shape %v, but %v in %s", errs.Cut(b.Name), b.Shape, a.Shape, pathA)
	}
	return nil
}

func isInt(c table.Column) bool { return c.Hint == table.Uint8 }

func holds(c table.Column) string {
	switch {
	case c.Text:
		return "text"
	case c.Bool:
		return "booleans"
	case isInt(c):
		return "integers"
	default:
		return "floats"
	}
}

// since names the start of a column's dates or times, for an error.
func since(c table.Column) string {
	if c.Clock {
		return "times of a day"
	}
	return "dates"
}
