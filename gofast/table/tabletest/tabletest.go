// Package tabletest opens and decodes files for the tests of the formats of tables.
package tabletest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/source"
	"github.com/gofast-org/gofast/gofast/table"
)

// File is content as a file in memory: the tests that damage files open thousands.
func File(t testing.TB, content []byte) *source.File {
	t.Helper()
	fd, err := unix.MemfdCreate("test", unix.MFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	memory := os.NewFile(uintptr(fd), "memory")
	defer memory.Close()
	if _, err := memory.Write(content); err != nil {
		t.Fatal(err)
	}
	f, err := source.Open(fmt.Sprintf("/proc/self/fd/%d", fd))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// Decoded is a table as the root package would hold it.
type Decoded struct {
	Type     table.Type
	Rows     int
	Width    int
	Features []byte
	Labels   []byte
	Dict     []*table.Dictionary
}

// ErrTooLarge says that a table does not fit Decode's limit.
var ErrTooLarge = errors.New("test: the table is too large")

// Decode does what the root package does: the type first that the columns' hints ask for, then the range, then the type
// that holds everything. kinds are those of the labels; nil: as the columns say. A table of more than limit bytes is
// ErrTooLarge.
func Decode(ctx context.Context, r table.Reader, sel table.Selection, kinds []table.LabelKind, limit int64) (*Decoded, error) {
	columns := r.Columns()
	m := table.Matrix{Type: table.Uint8}
	for _, f := range sel.Features {
		m.Type, m.Width = max(m.Type, columns[f].Hint), m.Width+columns[f].Width()
	}
	if kinds == nil {
		for _, l := range sel.Labels {
			kinds = append(kinds, columns[l].Label)
		}
	}
	bound, exact := r.Rows()
	for attempt := 0; ; attempt++ {
		dicts := make([]*table.Dictionary, len(kinds))
		for i := range dicts {
			dicts[i] = table.NewDictionary()
		}
		if most := limit / int64(max(m.RowBytes(), 8*len(kinds), 1)); bound > most {
			return nil, ErrTooLarge
		}
		m.Data = make([]byte, int(bound)*m.RowBytes())
		for i := range m.Data {
			m.Data[i] = 0xEE
		}
		labels := make([]byte, 8*int(bound)*len(kinds))
		n, err := r.Decode(ctx, sel, table.Target{Features: m, Labels: labels, Kinds: kinds, Dict: dicts})
		switch {
		case err == nil && (n > bound || exact && n != bound):
			return nil, fmt.Errorf("%d rows decoded, %d declared", n, bound)
		case err == nil:
			return &Decoded{m.Type, int(n), m.Width, m.Data[:int(n)*m.RowBytes()], labels[:8*int(n)*len(kinds)], dicts}, nil
		case !errors.Is(err, table.ErrNarrow):
			return nil, err
		case attempt == 1:
			return nil, errors.New("ErrNarrow for the type that Range chose")
		}
		features, err := r.Range(ctx, sel)
		if err != nil {
			return nil, err
		}
		if m.Type, err = features.Type(); err != nil {
			return nil, err
		}
	}
}

// At is one feature, exactly: an int64 or a float64.
func (d *Decoded) At(row, column int) any {
	switch i := row*d.Width + column; d.Type {
	case table.Uint8:
		return int64(d.Features[i])
	case table.Int16:
		return int64(table.View[int16](d.Features)[i])
	case table.Int32:
		return int64(table.View[int32](d.Features)[i])
	case table.Int64:
		return table.View[int64](d.Features)[i]
	case table.Float32:
		return float64(table.View[float32](d.Features)[i])
	default:
		return table.View[float64](d.Features)[i]
	}
}

// Float64s are all values of the features.
func (d *Decoded) Float64s() (all []float64) {
	for i := range d.Rows * d.Width {
		switch v := d.At(0, i).(type) {
		case int64:
			all = append(all, float64(v))
		case float64:
			all = append(all, v)
		}
	}
	return all
}

// Word is a text label.
func (d *Decoded) Word(row, label int) string {
	words, place := d.Dict[label].Sorted()
	return words[place[table.View[int64](d.Labels)[row*len(d.Dict)+label]]]
}

// WantError checks the kind, and that the error says where it happened.
func WantError(t testing.TB, err, kind error) {
	t.Helper()
	var own *errs.Error
	if !errors.Is(err, kind) || !errors.As(err, &own) || own.Path == "" {
		t.Errorf("got %v, want %v with a path", err, kind)
	}
}
