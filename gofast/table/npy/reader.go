package npy

import (
	"io"
	"strconv"
	"strings"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/internal/foreign"
	"github.com/gofast-org/gofast/gofast/source"
	"github.com/gofast-org/gofast/gofast/table"
)

// openFile is an open file: the table.Reader of both formats.
type openFile struct {
	place
	file    *source.File
	opts    table.Options
	arrays  []*array
	columns []table.Column
	rows    int64
}

// Open opens an .npy file. The Reader owns f from then on; after an error the
// caller still does.
func Open(f *source.File, opts table.Options) (r table.Reader, err error) {
	t := newTable("npy", f, opts)
	defer t.guard(&err)
	a := &array{place: t.place, file: f, name: "0"}
	if a.header, err = t.readHeader(io.NewSectionReader(f, 0, f.Size()), f.Size(), t.opts.Limits); err != nil {
		return nil, err
	}
	a.base = a.header.length
	if a.rows, a.rowShape, a.width, err = t.layout(a.header); err != nil {
		return nil, err
	}
	a.split = len(a.shape) == 2
	t.arrays, t.rows = []*array{a}, a.rows
	if !a.split {
		t.columns = []table.Column{a.column("0", a.rowShape)}
		return t, nil
	}
	if int64(a.width) > t.opts.Limits.Columns {
		return nil, t.fail(errs.ErrLimit, "the array has %d columns, the limit is %d: raise limits={\"columns\": ...}, or save images as (n, h, w)",
			a.width, t.opts.Limits.Columns)
	}
	for i := range a.width {
		t.columns = append(t.columns, a.column(strconv.Itoa(i), nil))
	}
	return t, nil
}

// OpenNPZ opens an .npz file; ownership of f is as for Open.
func OpenNPZ(f *source.File, opts table.Options) (r table.Reader, err error) {
	t := newTable("npz", f, opts)
	defer t.guard(&err)
	members, err := t.readDirectory(f, t.opts.Limits)
	if err != nil {
		return nil, err
	}
	if len(members) == 0 {
		return nil, t.fail(errs.ErrSchema, "the file holds no arrays")
	}
	names := make([]string, len(members))
	for i, m := range members {
		names[i] = m.name
	}
	if advice := foreign.ZipAdvice(names); advice != "" {
		return nil, t.fail(errs.ErrFormat, "%s", advice)
	}
	seen := map[string]bool{}
	for _, m := range members {
		a, err := t.openMember(m)
		if err != nil {
			return nil, err
		}
		if seen[a.name] {
			return nil, t.fail(errs.ErrSchema, "two arrays have the same name").InColumn(a.name)
		}
		seen[a.name] = true
		if first := t.arrays; len(first) > 0 && first[0].rows != a.rows {
			return nil, t.fail(errs.ErrSchema, "array %q has %d rows, array %q has %d: save the arrays of one table in a file of their own",
				first[0].name, first[0].rows, a.name, a.rows)
		}
		t.arrays = append(t.arrays, a)
		t.columns = append(t.columns, a.column(a.name, a.rowShape))
		t.rows = a.rows
	}
	return t, nil
}

func newTable(op string, f *source.File, opts table.Options) *openFile {
	return &openFile{place: place{op, f.Path()}, file: f, opts: opts.WithDefaults()}
}

// openMember reads the head of one array of an .npz.
func (t *openFile) openMember(m *member) (*array, error) {
	name := strings.TrimSuffix(m.name, ".npy")
	a := &array{place: t.place, file: t.file, name: name, member: m}
	stream := m.open(t.file, nil)
	defer stream.Close()
	var err error
	if a.header, err = t.readHeader(stream, m.size, t.opts.Limits); err == nil {
		a.rows, a.rowShape, a.width, err = t.layout(a.header)
	}
	if err != nil {
		if own, ok := err.(*errs.Error); ok {
			return nil, own.InColumn(name)
		}
		return nil, err
	}
	a.base = m.dataOffset + a.header.length
	return a, nil
}

func (a *array) column(name string, shape []int) table.Column {
	c := table.Column{Name: name, Label: table.IntLabel, Shape: shape, Text: a.elem.text(), Bool: a.elem.kind == 'b', Hint: table.Uint8}
	switch {
	case c.Text:
		c.Label = table.TextLabel
	case a.elem.float():
		c.Label, c.Hint = table.FloatLabel, table.Float32
	}
	return c
}

// where is the array of a column, and the column's position in its rows.
func (t *openFile) where(column int) (*array, int) {
	if a := t.arrays[0]; a.split {
		return a, column
	}
	return t.arrays[column], 0
}

// Columns implements table.Reader.
func (t *openFile) Columns() []table.Column { return t.columns }

// Rows implements table.Reader; the number is exact.
func (t *openFile) Rows() (n int64, exact bool) { return t.rows, true }

// Close implements table.Reader.
func (t *openFile) Close() error { return t.file.Close() }
