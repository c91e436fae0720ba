package load

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/gofast-org/gofast/gofast/engine"
	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/internal/limits"
	"github.com/gofast-org/gofast/gofast/source"
	"github.com/gofast-org/gofast/gofast/table"
	"github.com/gofast-org/gofast/gofast/table/formats"
)

// open opens every file, checks that they are one table, and chooses the
// columns.
func open(ctx context.Context, paths []string, options Options) (*opened, error) {
	if len(paths) == 0 {
		return nil, errs.New(errs.ErrConfig, "open", "no files")
	}
	if err := options.Limits.Validate(); err != nil {
		return nil, err
	}
	if err := options.checkLabels(); err != nil {
		return nil, err
	}
	codings, err := options.codings()
	if err != nil {
		return nil, err
	}
	lim := options.Limits.WithDefaults()
	o := &opened{typedBy: -1, classes: options.Classes, codings: codings, texts: options.Texts, budget: limits.NewBudget(lim.Memory), exact: true,
		rests: options.streamed && options.FS == nil}
	o.budget.Hint = options.hint
	if options.Rounds != "" {
		if o.rounds = table.TypeNamed(options.Rounds); o.rounds < table.Float32 {
			return nil, errs.New(errs.ErrConfig, "open", fmt.Sprintf("rounds=%q is not \"float32\" or \"float64\"", options.Rounds))
		}
	}
	if err := o.openAll(ctx, paths, options, lim); err != nil {
		o.close()
		return nil, err
	}
	return o, nil
}

func (o *opened) openAll(ctx context.Context, paths []string, options Options, lim limits.Limits) error {
	threads := options.Threads
	if threads <= 0 {
		threads = engine.Threads()
	}
	notation, err := options.notation()
	if err != nil {
		return err
	}
	if options.streamed {
		o.scratch = &table.Scratch{}
	}
	decodeOptions := table.Options{Header: options.Header, Coded: len(o.codings) > 0, Delimiter: notation.delimiter, Decimal: notation.decimal,
		Thousands: notation.thousands, Encoding: options.Encoding, SkipRows: options.SkipRows,
		Threads: threads, Limits: lim, Budget: o.budget, Scratch: o.scratch}
	var done atomic.Int64 // bytes of all sources
	total := int64(0)     // set before decoding starts
	decodeOptions.Progress = func(n int64) {
		if done := done.Add(n); options.Progress != nil {
			options.Progress(done, total)
		}
	}
	for _, path := range paths {
		if err := ctx.Err(); err != nil {
			return err
		}
		f, err := o.openFile(ctx, path, options.FS)
		if err != nil {
			return err
		}
		o.files = append(o.files, f)
		total += f.Size()
		r, err := formats.Open(f, decodeOptions)
		if err != nil {
			return err
		}
		o.readers = append(o.readers, r)
		if err := o.choose(options); err != nil {
			return err
		}
		o.rest(len(o.files) - 1)
		rows, exact := r.Rows()
		o.exact = o.exact && exact
		if o.bound += rows; o.bound < 0 {
			return errs.New(errs.ErrLimit, "open", "too many rows").At(path)
		}
	}
	isText := func(r table.Reader) bool { _, is := r.(table.Liner); return is }
	if options.foreign() && !slices.ContainsFunc(o.readers, isText) {
		return errs.New(errs.ErrConfig, "open", "decimal=, thousands= and encoding= are for text files: leave them out").At(paths[0])
	}
	return nil
}

// foreign says that numbers or characters are written in another way than usual.
func (t *Options) foreign() bool {
	return t.Decimal != "" && t.Decimal != "." || t.Thousands != "" || t.Encoding != nil
}

func (o *opened) openFile(ctx context.Context, path string, fsys fs.FS) (*source.File, error) {
	if fsys == nil {
		return source.Open(path)
	}
	return source.OpenIn(ctx, fsys, path, o.budget)
}

// choose selects the columns of the file that was opened last, and compares
// them with those of the first.
func (o *opened) choose(options Options) error {
	last := len(o.readers) - 1
	path, columns := o.files[last].Path(), o.readers[last].Columns()
	sel := table.Selection{Fill: (*float64)(options.FillValue), Rounds: o.rounds != table.Invalid, Verbatim: options.verbatim()}
	for _, ref := range options.Label {
		i, ok := find(columns, ref)
		if !ok {
			if options.LabelOptional && len(options.Label) == 1 {
				break
			}
			return noColumn(path, "label", ref, columns)
		}
		values := 1
		if len(columns[i].Shape) == 1 { // a list: each of its values is a label
			values = columns[i].Width()
		}
		if most := options.Limits.WithDefaults().Columns; int64(values) > most {
			return errs.New(errs.ErrLimit, "open", fmt.Sprintf("the label has %d values a row, the limit is %d columns: raise limits={\"columns\": ...}",
				values, most)).At(path).InColumn(columns[i].Name)
		}
		sel.Labels = append(sel.Labels, slices.Repeat([]int{i}, values)...)
	}
	var err error
	if sel.Labels, err = o.findTexts(path, columns, sel.Labels); err != nil {
		return err
	}
	if sel.Codings, err = o.findCodings(path, columns); err != nil {
		return err
	}
	if last > 0 {
		if err := o.sameColumns(o.files[0].Path(), o.readers[0].Columns(), path, columns, sel); err != nil {
			return err
		}
	}
	if options.Columns == nil {
		for i := range table.Counted(columns) {
			if !slices.Contains(sel.Labels, i) {
				sel.Features = append(sel.Features, i)
			}
		}
	}
	for _, ref := range options.Columns {
		i, ok := find(columns, ref)
		if !ok {
			return noColumn(path, "columns", ref, columns)
		}
		sel.Features = append(sel.Features, i)
	}
	for _, ref := range options.Exclude {
		i, ok := find(columns, ref)
		if !ok {
			return noColumn(path, "exclude", ref, columns)
		}
		sel.Features = slices.DeleteFunc(sel.Features, func(f int) bool { return f == i })
	}
	for _, fill := range options.FillValues {
		i, ok := find(columns, fill.Column)
		if !ok {
			return noColumn(path, "fill_value", fill.Column, columns)
		}
		if !setFill(&sel, columns, i, float64(fill.Value)) {
			return errs.New(errs.ErrSchema, "open", "fill_value names a column that is not a feature").At(path).InColumn(columns[i].Name)
		}
	}
	if err := o.checkCodings(path, columns, sel); err != nil {
		return err
	}
	if len(sel.Features) == 0 && len(o.texts) == 0 && (options.Columns == nil || len(sel.Labels) == 0) {
		why := "no feature columns are left beside the label"
		if table.Counted(columns) == 0 {
			why = "the file has only the index of a pandas frame: choose with columns=; the file has " + listed(columns)
		}
		return errs.New(errs.ErrSchema, "open", why).At(path)
	}
	if last > 0 {
		first := o.readers[0].Columns() // a list that is made at each call
		for _, i := range slices.Concat(sel.Features, sel.Labels) {
			if !columns[i].Index {
				continue
			}
			j, _ := find(first, ColumnRef{Name: columns[i].Name})
			if err := o.sameColumn(o.files[0].Path(), first[j], path, columns[i], i, sel); err != nil {
				return err
			}
		}
	}
	o.selections = append(o.selections, sel)
	if err := o.describe(path, columns, sel, options.Columns != nil); err != nil {
		return err
	}
	return o.chooseLabels(path, columns, sel, options)
}

// setFill sets the fill value of a file's column, and reports whether it is a feature.
func setFill(sel *table.Selection, columns []table.Column, column int, fill float64) (ok bool) {
	if sel.Fills == nil {
		for _, f := range sel.Features {
			sel.Fills = append(sel.Fills, slices.Repeat([]*float64{sel.Fill}, columns[f].Width())...)
		}
	}
	at := 0
	for _, f := range sel.Features {
		width := columns[f].Width()
		if f == column {
			ok = true
			for i := range width {
				sel.Fills[at+i] = &fill
			}
		}
		at += width
	}
	return ok
}

func find(columns []table.Column, ref ColumnRef) (int, bool) {
	if ref.ByPos {
		i, n := ref.Index, table.Counted(columns)
		if i < 0 {
			i += n
		}
		return i, i >= 0 && i < n
	}
	i := slices.IndexFunc(columns, func(c table.Column) bool { return c.Name == ref.Name })
	return i, i >= 0
}

// describe fills the schema from the first file; all others must equal it. The type
// to try first is the join over all files.
func (o *opened) describe(path string, columns []table.Column, sel table.Selection, explicit bool) error {
	s := Schema{Bool: len(sel.Features) > 0}
	shaped := false
	for _, i := range sel.Features {
		c := columns[i]
		if coding, coded := sel.Codings[i]; coded {
			c.Text, c.Bool, c.Hint = false, false, hintOf(coding)
		}
		if c.Text {
			return o.text(path, c, "the column holds text, which cannot be a feature; number its words with categories=, keep it with text=, leave it out with exclude=, "+
				"or choose the features with columns="+c.TextWhy)
		}
		if slices.Contains(sel.Labels, i) {
			return errs.New(errs.ErrSchema, "open", "the column is both a feature and a label or a text").At(path).InColumn(c.Name)
		}
		s.Features = append(s.Features, c.Name)
		s.Width += c.Width()
		s.Bool = s.Bool && c.Bool
		shaped = shaped || c.Shape != nil
		if c.Hint != table.Uint8 {
			o.start = table.Float32
		} else if o.start == table.Invalid {
			o.start = table.Uint8
		}
	}
	if shaped && len(sel.Features) > 1 && !explicit {
		return errs.New(errs.ErrSchema, "open", "several columns beside the label, not all of them single numbers: choose with columns=; the file has "+listed(columns)).At(path)
	}
	if s.Width == 0 {
		o.start = table.Uint8 // of no value
	}
	s.Shape = []int{s.Width}
	if shaped && len(sel.Features) == 1 {
		s.Shape = columns[sel.Features[0]].Shape
	}
	place := 0 // in a list, each value of which is a label
	for j, i := range sel.Labels {
		if j < len(sel.Labels)-len(o.texts) {
			name := columns[i].Name
			if width := columns[i].Width(); width > 1 {
				if j > 0 && sel.Labels[j-1] != i {
					place = 0
				}
				name = fmt.Sprintf("%s[%d]", name, place%width)
				place++
			}
			s.Labels = append(s.Labels, name)
		} else {
			s.Texts = append(s.Texts, columns[i].Name)
		}
	}
	if len(o.selections) == 1 {
		for i, c := range columns {
			if c.Index && !slices.Contains(sel.Features, i) && !slices.Contains(sel.Labels, i) {
				s.Dropped = append(s.Dropped, c.Name)
			}
		}
		o.schema = s
	}
	return nil
}

// text is the error of a column of text in the file that was opened last, with the place of its first text. A text among
// numbers is a bad value, as it is where it stands further down.
func (o *opened) text(path string, c table.Column, why string) error {
	err := errs.New(errs.ErrSchema, "open", why).At(path).InColumn(c.Name)
	if c.Mixed {
		err.Kind = errs.ErrValue
	}
	if c.Sampled {
		o.atRow(context.Background(), err.WithCell(c.TextCell), len(o.readers)-1, c.TextRow)
	}
	return err
}

// notation is how text files write numbers and cells; 0 where the file says so, or what is usual.
type notation struct{ delimiter, decimal, thousands byte }

// notation checks the options that say how a text file is read.
func (t *Options) notation() (n notation, err error) {
	bad := func(format string, args ...any) error {
		return errs.New(errs.ErrConfig, "open", fmt.Sprintf(format, args...))
	}
	if t.SkipRows < 0 {
		return n, bad("skiprows=%d: give the number of lines before the table", t.SkipRows)
	}
	if t.Encoding != nil && len(t.Encoding) != 128 {
		return n, bad("encoding: %d characters, 128 are expected", len(t.Encoding))
	}
	one := func(option, value, not, such string) byte {
		if value == "" || err != nil {
			return 0
		}
		c := value[0]
		letter := c|0x20 >= 'a' && c|0x20 <= 'z'
		if len(value) != 1 || c >= 0x7f || c < ' ' && c != '\t' || c >= '0' && c <= '9' || letter || strings.IndexByte(not, c) >= 0 {
			err = bad("%s=%q: give one ASCII character that no number has, such as %q", option, errs.Cut(value), such)
		}
		return c
	}
	n = notation{one("delimiter", t.Delimiter, `"+-.`, ";"), one("decimal", t.Decimal, "\"+-\t ", ","), one("thousands", t.Thousands, "\"+-\t", ",")}
	if n.decimal == '.' { // as without
		n.decimal = 0
	}
	point := cmp.Or(n.decimal, '.')
	if err == nil && n.thousands == point {
		err = bad("thousands=%q is the decimal point: give decimal=\",\" too, or another character", t.Thousands)
	}
	return n, err
}
