package load

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/table"
)

// Classes are the allowed labels and their numbers. Any other label is ErrLabel.
type Classes struct {
	Names   []string `json:"names"`   // of text labels; or
	Values  []int64  `json:"values"`  // of integer labels
	Numbers []int64  `json:"numbers"` // one for each label; nil: their positions
}

func (c Classes) none() bool { return len(c.Names)+len(c.Values) == 0 }

func (c Classes) numbers() []int64 {
	if c.Numbers != nil {
		return c.Numbers
	}
	numbers := make([]int64, len(c.Names)+len(c.Values))
	for i := range numbers {
		numbers[i] = int64(i)
	}
	return numbers
}

// positional reports whether every class has the number of its position.
func (c Classes) positional() bool {
	for i, n := range c.Numbers {
		if n != int64(i) {
			return false
		}
	}
	return true
}

// dictionary numbers the words of a text label.
func (c Classes) dictionary() *table.Dictionary {
	if c.none() {
		return table.NewDictionary()
	}
	return table.Closed(c.Names)
}

func twice[T cmp.Ordered](values []T) bool {
	return len(slices.Compact(slices.Sorted(slices.Values(values)))) < len(values)
}

// LabelType is what label columns hold.
type LabelType string

// The types; the zero value is LabelAuto.
const (
	LabelAuto  LabelType = "auto"
	LabelInt   LabelType = "int"   // int64
	LabelFloat LabelType = "float" // float64
	LabelText  LabelType = "text"  // the number of a class
)

// labelKinds are the values of LabelType, except LabelAuto.
var labelKinds = map[LabelType]table.LabelKind{LabelInt: table.IntLabel, LabelFloat: table.FloatLabel, LabelText: table.TextLabel}

var kindNames = [...]LabelType{table.IntLabel: LabelInt, table.FloatLabel: LabelFloat, table.TextLabel: LabelText}

// verbatim reports whether labels are text, whatever they look like.
func (t Options) verbatim() bool { return t.LabelType == LabelText || len(t.Classes.Names) > 0 }

// checkLabels refuses options that contradict each other.
func (t Options) checkLabels() error {
	bad := func(format string, args ...any) error {
		return errs.New(errs.ErrConfig, "open", fmt.Sprintf(format, args...))
	}
	c := t.Classes
	if _, known := labelKinds[t.LabelType]; !known && t.LabelType != "" && t.LabelType != LabelAuto {
		return bad("label_type=%q is not \"auto\", \"int\", \"float\" or \"text\"", t.LabelType)
	}
	if c.none() {
		return nil
	}
	kind := table.TextLabel
	if len(c.Values) > 0 {
		kind = table.IntLabel
	}
	asked, given := labelKinds[t.LabelType]
	switch {
	case len(c.Names) > 0 && len(c.Values) > 0:
		return bad("classes= are names or integers, not both")
	case twice(c.Names) || twice(c.Values):
		return bad("classes= has a label twice")
	case c.Numbers != nil && len(c.Numbers) != len(c.Names)+len(c.Values):
		return bad("%d numbers do not go with %d classes", len(c.Numbers), len(c.Names)+len(c.Values))
	case len(t.Label) != 1:
		return bad("classes= are for one label column, and %d are given", len(t.Label))
	case given && asked != kind:
		return bad("label_type=%q does not go with classes=, whose names are for label_type=%q", t.LabelType, kindNames[kind])
	}
	return nil
}

// chooseLabels decides how the labels are stored: as the options say, or as the first
// file that shows their kind. All other files must fit.
func (o *opened) chooseLabels(path string, columns []table.Column, sel table.Selection, options Options) error {
	bad := func(c table.Column, format string, args ...any) error {
		return errs.New(errs.ErrSchema, "open", fmt.Sprintf(format, args...)).At(path).InColumn(c.Name)
	}
	if len(sel.Labels) == len(o.texts) && !o.classes.none() {
		return errs.New(errs.ErrSchema, "open", "classes= need a label, and there is none: name it with label=").At(path)
	}
	if o.kinds == nil {
		o.kinds = make([]table.LabelKind, len(sel.Labels))
	}
	typedBy, last := o.typedBy, len(o.readers)-1
	labels := sel.Labels[:len(sel.Labels)-len(o.texts)]
	for j, i := range labels {
		c := columns[i]
		asked, given := labelKinds[options.LabelType]
		switch {
		case len(o.classes.Names) > 0:
			asked, given = table.TextLabel, true
		case len(o.classes.Values) > 0:
			asked, given = table.IntLabel, true
		}
		switch {
		case len(c.Shape) > 1:
			return bad(c, "the label has shape %v; it must be one value or one list of numbers a row", c.Shape)
		case given:
			o.kinds[j] = asked
		case typedBy < 0 && !c.Unseen:
			o.kinds[j], o.typedBy = c.Label, last
		case typedBy >= 0 && c.Sampled && !c.Unseen && c.Bool != o.labelOf(typedBy, j).Bool:
			return bad(c, "the label holds %s, and %s in %s: say label_type=\"int\" or label_type=\"text\"",
				holds(c), holds(o.labelOf(typedBy, j)), o.files[typedBy].Path())
		}
		kind := o.kinds[j]
		switch {
		case !o.classes.none() && len(labels) > 1:
			return bad(c, "classes= are for one label a row, and the column has %d", len(labels))
		case kind == table.TextLabel && len(labels) > 1:
			return errs.New(errs.ErrUnsupported, "open", "a text label cannot stand beside other label columns: give one label").At(path)
		case c.Sampled: // each cell is checked later
		case kind == table.TextLabel && c.Label != kind:
			return bad(c, "the label is %s, not text: give integers as classes=, or leave label_type= out", holds(c))
		case kind != table.TextLabel && c.Label == table.TextLabel:
			return bad(c, "the label is text, not numbers: give classes= of names, or label_type=\"text\"")
		case kind == table.IntLabel && c.Label == table.FloatLabel && !given:
			return bad(c, "the label holds floats, and integers in %s: say label_type=\"float\"", o.files[max(o.typedBy, 0)].Path())
		}
	}
	return o.chooseTexts(path, columns, sel)
}

// labelOf is label number j of a file.
func (o *opened) labelOf(file, j int) table.Column {
	return o.readers[file].Columns()[o.selections[file].Labels[j]]
}

// storedKinds are the kinds that file i is decoded to. Floats that must be integers
// are checked afterwards.
func (o *opened) storedKinds(i int) []table.LabelKind {
	kinds := slices.Clone(o.kinds)
	columns := o.readers[i].Columns()
	for j, column := range o.selections[i].Labels {
		if c := columns[column]; kinds[j] == table.IntLabel && c.Label == table.FloatLabel && !c.Sampled {
			kinds[j] = table.FloatLabel
		}
	}
	return kinds
}

// numberLabels turns the floats of file i into integers if they must be integers, and
// integer classes into their numbers.
func (o *opened) numberLabels(ctx context.Context, i int, stored []table.LabelKind, labels []byte) error {
	values := table.View[int64](labels)
	columns := len(o.kinds)
	var bad error
	for j := range stored {
		if stored[j] == o.kinds[j] {
			continue
		}
		for at := j; at < len(values); at += columns {
			v := math.Float64frombits(uint64(values[at]))
			if v != math.Trunc(v) || math.Abs(v) >= 1<<63 {
				bad = o.badLabel(ctx, i, j, at/columns, errs.ErrValue, strconv.FormatFloat(v, 'g', -1, 64),
					"the label is no integer: correct it, or say label_type=\"float\"")
				values = values[:at-j] // of the other columns, only a row before this one matters
				break
			}
			values[at] = int64(v)
		}
	}
	if bad != nil {
		return bad
	}
	if len(o.classes.Values) == 0 {
		return nil
	}
	number := make(map[int64]int64, len(o.classes.Values))
	for at, n := range o.classes.numbers() {
		number[o.classes.Values[at]] = n
	}
	for at := 0; at < len(values); at += columns {
		n, known := number[values[at]]
		if !known {
			return o.badLabel(ctx, i, 0, at/columns, errs.ErrLabel, strconv.FormatInt(values[at], 10),
				table.UnknownLabel(o.classes.Values))
		}
		values[at] = n
	}
	return nil
}

// badLabel is the error for label column j in a row of file i.
func (o *opened) badLabel(ctx context.Context, i, j, row int, kind error, cell, text string) error {
	err := errs.New(kind, "open", text).At(o.files[i].Path()).InColumn(o.schema.Labels[j]).WithCell(cell)
	o.atRow(ctx, err, i, int64(row))
	return err
}

// atRow adds a row of reader i to an error, and its line in a text file.
func (o *opened) atRow(ctx context.Context, err *errs.Error, i int, row int64) {
	file := o.readers[i]
	if o.parts != nil {
		file, row = o.parts[i].file, row+o.parts[i].row
	}
	err.AtRow(row, err.Column)
	if r, ok := file.(table.Liner); ok {
		if line, failed := r.Line(ctx, row); failed == nil {
			err.AtLine(line)
		}
	}
}

// inFile makes the row that an error of reader i names one of the file.
func (o *opened) inFile(ctx context.Context, err error, i int) error {
	e := (*errs.Error)(nil)
	switch {
	case o.parts == nil || !errors.As(err, &e) || e.Row == errs.None:
	case e.Line != errs.None: // the part knew it
		e.Row += o.parts[i].row
	default:
		o.atRow(ctx, e, i, e.Row)
	}
	return err
}

// renumber turns the ids of label column c into places in the sorted classes.
func renumber(labels []byte, c, columns int, place []int64) {
	ids := table.View[int64](labels)
	for i := c; i < len(ids); i += columns {
		ids[i] = place[ids[i]]
	}
}
