package convert

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/numbers"
	"github.com/gofast-org/gofast/gofast/source"
	"github.com/gofast-org/gofast/gofast/table"
	"github.com/gofast-org/gofast/gofast/table/npy"
	"github.com/gofast-org/gofast/gofast/table/parquet"
	"github.com/gofast-org/gofast/gofast/table/tabletest"
)

var ctx = context.Background()

// values writes numbers as a storage type.
func values(t table.Type, all ...float64) []byte {
	out := make([]byte, len(all)*t.Size())
	for i, v := range all {
		numbers.Double(v).Put(t, out, i)
	}
	return out
}

// sample is a table whose names sort differently than they stand.
func sample(t table.Type, rows int64, names int, labels ...Label) Table {
	const width = 12
	out := Table{Rows: rows, Width: width, Type: t, Shape: []int{3, 4}, Labels: labels}
	for i := range names {
		out.Names = append(out.Names, fmt.Sprintf("p%d", names-i))
	}
	largest := map[table.Type]float64{table.Uint8: 200, table.Int16: -30000, table.Int32: 1 << 30, table.Int64: -1 << 50,
		table.Float32: 0.5, table.Float64: 0.1}[t]
	all := make([]float64, rows*width)
	for i := range all {
		all[i] = float64(i % 97)
		if i%5 == 0 {
			all[i] = largest
		}
	}
	out.Features = values(t, all...)
	for row := range rows {
		for _, l := range labels {
			v := float64(row % 3)
			kind := table.Int64
			if l.Kind == table.FloatLabel {
				kind, v = table.Float64, v+0.5
			}
			out.Values = append(out.Values, values(kind, v)...)
		}
	}
	return out
}

func open(t *testing.T, path string) table.Reader {
	t.Helper()
	f, err := source.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	open := map[string]func(*source.File, table.Options) (table.Reader, error){
		".npy": npy.Open, ".npz": npy.OpenNPZ, ".parquet": parquet.Open,
	}[filepath.Ext(path)]
	r, err := open(f, table.Options{Threads: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// check decodes a file, whose labels are in these columns and whose features in the others.
func check(t *testing.T, path string, want Table, labels []int) {
	t.Helper()
	r := open(t, path)
	sel := table.Selection{Labels: labels}
	for i := range r.Columns() {
		if !slices.Contains(labels, i) {
			sel.Features = append(sel.Features, i)
		}
	}
	got, err := tabletest.Decode(ctx, r, sel, nil, 1<<30)
	if err != nil || int64(got.Rows) != want.Rows || !slices.Equal(got.Float64s(), numbersOf(want.Type, want.Features)) {
		t.Fatalf("%s: %v, other features than those of %v", path, err, want.Type)
	}
	ids := table.View[int64](got.Labels)
	for i, v := range table.View[int64](want.Values) {
		row, label := i/len(labels), i%len(labels)
		switch kind := r.Columns()[labels[label]].Label; {
		case kind == table.TextLabel:
			if word := want.Labels[label].Classes[v]; got.Word(row, label) != word {
				t.Fatalf("%s: row %d has another label than %q", path, row, word)
			}
		case kind != want.Labels[label].Kind: // an integer among floats
			v = int64(math.Float64bits(float64(v)))
			fallthrough
		default:
			if ids[i] != v {
				t.Fatalf("%s: label %d of row %d is another", path, label, row)
			}
		}
	}
}

// numbersOf reads a storage type.
func numbersOf(t table.Type, stored []byte) []float64 {
	out := make([]float64, len(stored)/t.Size())
	table.CellsOf(t).To(table.Float64)(table.Bytes(out), stored)
	return out
}

var (
	intLabel   = Label{Name: "y", Kind: table.IntLabel}
	floatLabel = Label{Name: "z", Kind: table.FloatLabel}
	textLabel  = Label{Name: "Größe", Kind: table.TextLabel, Classes: []string{"", "a b", "犬"}}
)

// TestNPZAndParquet reads back what is too large for python/tests/tables/test_cached_tables.py, which has every type:
// borders of blocks and groups.
func TestNPZAndParquet(t *testing.T) {
	folder := t.TempDir()
	for rows, kind := range map[int64]table.Type{0: table.Int64, 3: table.Float64, blockRows + 3: table.Int16, groupRows + 77: table.Uint8} {
		made := sample(kind, rows, 12, intLabel, floatLabel, textLabel)
		for _, ending := range []string{".npz", ".parquet"} {
			path := filepath.Join(folder, "t"+ending)
			var done, all int64
			if err := Write(ctx, made, path, Options{Progress: func(d, a int64) { done, all = d, a }}); err != nil {
				t.Fatal(err)
			}
			if done != rows || all != rows && rows > 0 {
				t.Errorf("progress ended at %d of %d", done, all)
			}
			labels, want := []int{1, 2, 3}, []string{featuresName, "y", "z", "Größe"}
			if ending == ".parquet" {
				labels, want = []int{0, 1, 2}, append([]string{"y", "z", "Größe"}, made.Names...)
			}
			var names []string
			for _, c := range open(t, path).Columns() {
				names = append(names, c.Name)
			}
			if !slices.Equal(names, want) {
				t.Errorf("%s: columns %v, want %v", ending, names, want)
			}
			if rows > 0 {
				check(t, path, made, labels)
			}
		}
	}
}

// TestNPY puts the labels first, in a type that holds all.
func TestNPY(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.npy")
	write := func(made Table) (header string) {
		if err := Write(ctx, made, path, Options{}); err != nil {
			t.Fatal(err)
		}
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		header, _, _ = strings.Cut(string(content), "\n")
		return header
	}
	made := sample(table.Float32, blockRows+3, 12)
	write(made)
	if c := open(t, path).Columns()[0]; !slices.Equal(c.Shape, []int{3, 4}) {
		t.Errorf("%+v", c)
	}
	check(t, path, made, nil)
	for _, c := range []struct {
		label    Label
		value    float64
		from, to table.Type
	}{
		{intLabel, 1, table.Uint8, table.Uint8},
		{intLabel, 300, table.Uint8, table.Int16},
		{intLabel, 1 << 40, table.Int16, table.Int64},
		{intLabel, 5, table.Float32, table.Float32},
		{intLabel, 1 << 25, table.Float32, table.Float64},
		{intLabel, 5, table.Float64, table.Float64},
		{floatLabel, 1.5, table.Uint8, table.Float32},
		{floatLabel, 0.1, table.Uint8, table.Float64},
		{floatLabel, 1.5, table.Int32, table.Float64},
	} {
		made := sample(c.from, 2, 12, c.label, intLabel)
		copy(made.Values, values(c.label.Kind.Type(), c.value))
		kinds := map[table.Type]string{table.Uint8: "|u1", table.Int16: "<i2", table.Int64: "<i8", table.Float32: "<f4", table.Float64: "<f8"}
		if header := write(made); !strings.Contains(header, "'descr': '"+kinds[c.to]+"'") {
			t.Errorf("%+v is stored as %q", c, header)
		}
		check(t, path, made, []int{0, 1})
	}
}

func TestErrors(t *testing.T) {
	folder := t.TempDir()
	write := func(made Table, name string) error { return Write(ctx, made, filepath.Join(folder, name), Options{}) }
	wide := sample(table.Int64, 2, 12, floatLabel)
	copy(wide.Features, values(table.Int64, 1<<60))
	outside := sample(table.Uint8, 2, 12, textLabel)
	outside.Labels = []Label{{Name: "t", Kind: table.TextLabel, Classes: []string{"a"}}}
	short := sample(table.Uint8, 2, 12)
	short.Features = short.Features[1:]
	twice := sample(table.Uint8, 2, 12, Label{Name: "p3"})
	for name, c := range map[string]struct {
		err  error
		kind error
	}{
		"text in npy":     {write(sample(table.Uint8, 2, 12, textLabel), "a.npy"), errs.ErrConfig},
		"no common type":  {write(wide, "a.npy"), errs.ErrConfig},
		"format":          {write(short, "a.csv"), errs.ErrInternal},
		"unknown ending":  {write(sample(table.Uint8, 2, 12), "a.csv"), errs.ErrConfig},
		"no ending":       {write(sample(table.Uint8, 2, 12), "a"), errs.ErrConfig},
		"memory":          {write(short, "a.npy"), errs.ErrInternal},
		"class":           {write(outside, "a.npz"), errs.ErrInternal},
		"duplicate":       {write(twice, "a.parquet"), errs.ErrSchema},
		"features":        {write(sample(table.Uint8, 2, 12, Label{Name: featuresName}), "a.npz"), errs.ErrConfig},
		"slash":           {write(sample(table.Uint8, 2, 12, Label{Name: "a/b"}), "a.npz"), errs.ErrConfig},
		"no such folder":  {write(sample(table.Uint8, 2, 12), "none/a.npy"), errs.ErrRead},
		"text with a NUL": {write(sample(table.Uint8, 3, 12, Label{Name: "t", Kind: table.TextLabel, Classes: []string{"a", "b", "c\x00"}}), "a.npz"), errs.ErrConfig},
	} {
		if !errors.Is(c.err, c.kind) {
			t.Errorf("%s: %v, want %v", name, c.err, c.kind)
		}
	}
	canceled, cancel := context.WithCancel(ctx)
	cancel()
	for _, ending := range []string{".npy", ".npz", ".parquet"} {
		err := Write(canceled, sample(table.Uint8, 2, 12, intLabel), filepath.Join(folder, "b"+ending), Options{})
		if !errors.Is(err, errs.ErrCanceled) {
			t.Errorf("canceled %s: %v", ending, err)
		}
	}
	if left, _ := os.ReadDir(folder); len(left) != 0 {
		t.Errorf("files left: %v", left)
	}
}
