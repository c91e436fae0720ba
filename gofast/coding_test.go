package gofast

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gofast-org/gofast/gofast/table/gather"
)

func named(name string) ColumnRef { return ColumnRef{Name: name} }

func TestCategoriesAndDates(t *testing.T) {
	text := "c,when,y\nred,1970-01-02,0\nblue,1969-12-31,1\n"
	for _, c := range []struct {
		categories ColumnCategories
		unit       string
		want       []float32
	}{
		{ColumnCategories{Names: []string{"red", "blue"}}, "D", []float32{0, 1, 1, -1}},
		{ColumnCategories{Names: []string{"red", "blue"}, Numbers: []int64{7, -300}}, "h", []float32{7, 24, -300, -24}},
		{ColumnCategories{Names: []string{"red", "blue"}, Reals: []float64{0.5, 2}}, "m", []float32{0.5, 1440, 2, -1440}},
	} {
		c.categories.Column = named("c")
		options := TableOptions{Label: []ColumnRef{named("y")}, Categories: []ColumnCategories{c.categories}, Dates: []ColumnDate{{named("when"), c.unit}}}
		table, err := labelled(t, text, options, gather.Transform{})
		if err != nil {
			t.Fatal(err)
		}
		eachBatch(t, table, func(b Batch) {
			if got, err := b.Float32(); err != nil || !slices.Equal(got, c.want) {
				t.Errorf("%+v: %v %v, want %v", options, got, err, c.want)
			}
		})
	}
}

func TestBadCodings(t *testing.T) {
	text := "c,when,y,z\nred,2024-01-31,0,1.5\nblue,1969-12-31,1,2\n"
	ab := []string{"red", "blue"}
	colours := ColumnCategories{Column: named("c"), Names: ab}
	for _, c := range []struct {
		options TableOptions
		kind    error
		text    string
	}{
		{TableOptions{Categories: []ColumnCategories{{Column: named("c")}}}, ErrConfig, "no names"},
		{TableOptions{Categories: []ColumnCategories{{Column: named("c"), Names: []string{"a", "a"}}}}, ErrConfig, "twice"},
		{TableOptions{Categories: []ColumnCategories{{Column: named("c"), Names: ab, Numbers: []int64{1}}}}, ErrConfig, "1 numbers"},
		{TableOptions{Categories: []ColumnCategories{{Column: named("c"), Names: ab, Reals: []float64{1}}}}, ErrConfig, "1 numbers"},
		{TableOptions{Categories: []ColumnCategories{{Column: named("c"), Names: ab, Reals: []float64{1, 2}, Numbers: []int64{1, 2}}}}, ErrConfig, "not both"},
		{TableOptions{Categories: []ColumnCategories{{Column: named("c"), Names: ab, Reals: []float64{1, math.Inf(1)}}}}, ErrConfig, "finite"},
		{TableOptions{Categories: []ColumnCategories{colours, {Column: ColumnRef{ByPos: true}, Names: ab}}}, ErrConfig, "twice"},
		{TableOptions{Categories: []ColumnCategories{colours}, Dates: []ColumnDate{{named("c"), "s"}}}, ErrConfig, "twice"},
		{TableOptions{Dates: []ColumnDate{{named("when"), "Y"}}}, ErrConfig, "D, h, m, s, ms, us, ns"},
		{TableOptions{Dates: []ColumnDate{{named("then"), "s"}}}, ErrSchema, `dates="then" is not a column`},
		{TableOptions{Categories: []ColumnCategories{colours}, Exclude: []ColumnRef{named("c")}}, ErrSchema, "not a feature"},
		{TableOptions{Categories: []ColumnCategories{colours}, Label: []ColumnRef{named("c")}}, ErrSchema, "not a feature"},
		{TableOptions{Categories: []ColumnCategories{colours}}, ErrSchema, "categories="},
		{TableOptions{Categories: []ColumnCategories{colours}, Dates: []ColumnDate{{named("when"), "ns"}}}, ErrValue, "coarser unit in dates="},
	} {
		_, err := labelled(t, text, c.options, gather.Transform{})
		if !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%+v: %v, want %q", c.options, err, c.text)
		}
	}
	_, err := labelled(t, text, TableOptions{Categories: []ColumnCategories{{Column: named("c"), Names: []string{"red"}}}, Exclude: []ColumnRef{named("when")}}, gather.Transform{})
	var e *Error
	if !errors.Is(err, ErrCategory) || !errors.As(err, &e) || e.Line != 3 || e.Row != 1 || e.Column != "c" || e.Cell != "blue" {
		t.Errorf("an unknown category: %v", err)
	}
}

// A name is whatever JSON says, also beyond the 16 bits of an escape.
func TestColumnRefFromJSON(t *testing.T) {
	for text, want := range map[string]ColumnRef{`"a\/b"`: named("a/b"), `"\ud83d\ude00"`: named("\U0001F600"), "-2": {Index: -2, ByPos: true}} {
		var got ColumnRef
		if err := got.UnmarshalJSON([]byte(text)); err != nil || got != want {
			t.Errorf("%s: %v %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"1.5", "null", "[]"} {
		if err := new(ColumnRef).UnmarshalJSON([]byte(text)); err == nil {
			t.Errorf("%s is no column", text)
		}
	}
}

func TestNoCodingsOfArrays(t *testing.T) {
	header := "{'descr': '|u1', 'fortran_order': False, 'shape': (1, 2), }\n"
	path := filepath.Join(t.TempDir(), "t.npy")
	if err := os.WriteFile(path, []byte("\x93NUMPY\x01\x00"+string(rune(len(header)))+"\x00"+header+"\x01\x02"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := OpenTable(context.Background(), []string{path}, TableOptions{Dates: []ColumnDate{{ColumnRef{ByPos: true}, "s"}}}, gather.Transform{})
	if !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), "dates= is for text and Parquet files") {
		t.Error(err)
	}
}
