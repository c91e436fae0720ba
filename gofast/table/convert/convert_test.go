package convert

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/source"
	"github.com/gofast-org/gofast/gofast/table"
	"github.com/gofast-org/gofast/gofast/table/npy"
	"github.com/gofast-org/gofast/gofast/table/parquet"
)

var ctx = context.Background()

// values writes numbers as a storage type.
func values(t table.Type, numbers ...float64) []byte {
	var b bytes.Buffer
	for _, n := range numbers {
		var v any
		switch t {
		case table.Uint8:
			v = uint8(n)
		case table.Int16:
			v = int16(n)
		case table.Int32:
			v = int32(n)
		case table.Int64:
			v = int64(n)
		case table.Float32:
			v = float32(n)
		default:
			v = n
		}
		if err := binary.Write(&b, binary.NativeEndian, v); err != nil {
			panic(err)
		}
	}
	return b.Bytes()
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
	numbers := make([]float64, rows*width)
	for i := range numbers {
		numbers[i] = float64(i % 97)
		if i%5 == 0 {
			numbers[i] = largest
		}
	}
	out.Features = values(t, numbers...)
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

// readBack decodes the columns of a file into the types of want.
func readBack(t *testing.T, r table.Reader, want Table, labels []int) Table {
	t.Helper()
	got := want
	got.Features, got.Values = make([]byte, len(want.Features)), make([]byte, len(want.Values))
	target := table.Target{Features: table.Matrix{Data: got.Features, Type: want.Type, Width: want.Width}, Labels: got.Values}
	sel := table.Selection{Labels: labels}
	for i := range r.Columns() {
		if !slices.Contains(labels, i) {
			sel.Features = append(sel.Features, i)
		}
	}
	dict := table.NewDictionary()
	for _, l := range want.Labels {
		target.Kinds = append(target.Kinds, l.Kind)
		target.Dict = append(target.Dict, dict)
	}
	rows, err := r.Decode(ctx, sel, target)
	if err != nil || rows != want.Rows {
		t.Fatalf("%d rows, %v", rows, err)
	}
	sorted, place := dict.Sorted()
	for i := range got.Labels {
		if got.Labels[i].Kind == table.TextLabel {
			got.Labels = slices.Clone(got.Labels)
			got.Labels[i].Classes = sorted
			ids := table.View[int64](got.Values)
			for at := i; at < len(ids); at += len(got.Labels) {
				ids[at] = place[ids[at]]
			}
		}
	}
	return got
}

func names(r table.Reader) []string {
	var out []string
	for _, c := range r.Columns() {
		out = append(out, c.Name)
	}
	return out
}

func same(t *testing.T, got, want Table) {
	t.Helper()
	if !bytes.Equal(got.Features, want.Features) {
		t.Error("features differ")
	}
	if !bytes.Equal(got.Values, want.Values) {
		t.Error("labels differ")
	}
	if !reflect.DeepEqual(got.Labels, want.Labels) {
		t.Errorf("labels %v, want %v", got.Labels, want.Labels)
	}
}

var (
	intLabel   = Label{Name: "y", Kind: table.IntLabel}
	floatLabel = Label{Name: "z", Kind: table.FloatLabel}
	textLabel  = Label{Name: "Größe", Kind: table.TextLabel, Classes: []string{"", "a b", "犬"}}
)

var allTypes = []table.Type{table.Uint8, table.Int16, table.Int32, table.Int64, table.Float32, table.Float64}

// TestNPZAndParquet reads back every type, over borders of blocks and groups.
func TestNPZAndParquet(t *testing.T) {
	folder := t.TempDir()
	for _, kind := range allTypes {
		for _, rows := range []int64{0, 3, blockRows + 3} {
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
				r := open(t, path)
				labels, want := []int{1, 2, 3}, []string{featuresName, "y", "z", "Größe"}
				if ending == ".parquet" {
					labels, want = []int{0, 1, 2}, append([]string{"y", "z", "Größe"}, made.Names...)
				}
				if got := names(r); !slices.Equal(got, want) {
					t.Errorf("%s: columns %v, want %v", ending, got, want)
				}
				if rows == 0 {
					continue
				}
				same(t, readBack(t, r, made, labels), made)
			}
		}
	}
}

func TestManyRowGroups(t *testing.T) {
	made := sample(table.Uint8, groupRows+77, 12, intLabel)
	path := filepath.Join(t.TempDir(), "t.parquet")
	if err := Write(ctx, made, path, Options{}); err != nil {
		t.Fatal(err)
	}
	same(t, readBack(t, open(t, path), made, []int{0}), made)
}

// TestBooleansAndImages keeps what the columns were.
func TestBooleansAndImages(t *testing.T) {
	folder := t.TempDir()
	flags := sample(table.Uint8, 9, 12)
	for i := range flags.Features {
		flags.Features[i] &= 1
	}
	flags.Bool = true
	image := sample(table.Uint8, 9, 1, intLabel)
	vector := sample(table.Float32, 9, 1)
	for i, made := range []Table{flags, image, vector} {
		for _, ending := range []string{".npz", ".parquet"} {
			path := filepath.Join(folder, fmt.Sprint(i)+ending)
			if err := Write(ctx, made, path, Options{}); err != nil {
				t.Fatal(err)
			}
			r := open(t, path)
			var labels []int
			if i == 1 {
				labels = []int{1}
				if ending == ".parquet" {
					labels = []int{0}
				}
			}
			same(t, readBack(t, r, made, labels), made)
			columns := r.Columns()
			switch {
			case i == 0 && !columns[0].Bool:
				t.Errorf("%s: the booleans are numbers", ending)
			case i == 1 && len(columns) != 2:
				t.Errorf("%s: the image has columns %v", ending, names(r))
			case i == 2 && ending == ".parquet" && (len(columns) != 12 || columns[11].Name != "p1_11"):
				t.Errorf("the vector has columns %v", names(r))
			}
		}
	}
}

// TestNPY puts the label first, in a type that holds it.
func TestNPY(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.npy")
	for _, kind := range allTypes {
		made := sample(kind, blockRows+3, 12)
		if err := Write(ctx, made, path, Options{}); err != nil {
			t.Fatal(err)
		}
		r := open(t, path)
		if c := r.Columns(); len(c) != 1 || !slices.Equal(c[0].Shape, []int{3, 4}) {
			t.Errorf("columns %v", c)
		}
		same(t, readBack(t, r, made, nil), made)
	}
	for _, c := range []struct {
		label Label
		value float64
		from  table.Type
		to    table.Type
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
		copy(made.Values, values(map[bool]table.Type{true: table.Float64, false: table.Int64}[c.label.Kind == table.FloatLabel], c.value))
		if err := Write(ctx, made, path, Options{}); err != nil {
			t.Fatal(err)
		}
		want := made
		want.Type = c.to
		want.Features = make([]byte, 2*12*c.to.Size())
		table.CellsOf(c.from).To(c.to)(want.Features, made.Features)
		if c.to != table.Float32 && c.to != table.Float64 {
			same(t, readBack(t, open(t, path), want, []int{0, 1}), want)
			continue
		}
		// The integer labels come back as floats.
		want.Labels = []Label{{Name: "0", Kind: table.FloatLabel}, {Name: "1", Kind: table.FloatLabel}}
		want.Values = nil
		for i, v := range table.View[int64](made.Values) {
			f := float64(v)
			if i%2 == 0 && c.label.Kind == table.FloatLabel {
				f = math.Float64frombits(uint64(v))
			}
			want.Values = append(want.Values, values(table.Float64, f)...)
		}
		same(t, readBack(t, open(t, path), want, []int{0, 1}), want)
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
