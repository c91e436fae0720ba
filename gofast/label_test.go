package gofast

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gofast-org/gofast/gofast/table/gather"
)

func labelled(t *testing.T, text string, options TableOptions, transform gather.Transform) (*Dataset, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "t.csv")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	table, err := OpenTable(context.Background(), []string{path}, options, transform)
	if err == nil {
		t.Cleanup(table.Close)
	}
	return table, err
}

func eachBatch(t *testing.T, table *Dataset, look func(Batch)) {
	t.Helper()
	e := NewEngine(1)
	defer e.Close()
	for b, err := range e.Batches(context.Background(), table, []int64{0, 1}, 2) {
		if err != nil {
			t.Fatal(err)
		}
		look(b)
	}
}

// Labels and features are read as what they are, or not at all.
func TestAccessorsSayWhatTheyCannotRead(t *testing.T) {
	label := TableOptions{Label: []ColumnRef{{Name: "y"}}}
	for _, c := range []struct {
		text      string
		options   TableOptions
		transform gather.Transform
		want      string // type of the labels
	}{
		{"x,y\n1,2\n3,4\n", label, gather.Transform{}, "int64"},
		{"x,y\n1,2.5\n3,4\n", label, gather.Transform{}, "float32"},
		{"x,y\n1,2.5\n3,4\n", label, gather.Transform{Label: "float64"}, "float64"},
		{"x,y\n1,0\n3,1\n", label, gather.Transform{Label: "one_hot", Classes: 2}, "float32"},
		{"x,y\n1,cat\n3,dog\n", label, gather.Transform{DType: "float64"}, "int64"},
		{"x,y\n1,2\n3,4\n", TableOptions{}, gather.Transform{}, ""},
	} {
		table, err := labelled(t, c.text, c.options, c.transform)
		if err != nil {
			t.Fatal(err)
		}
		eachBatch(t, table, func(b Batch) {
			_, ints := b.Int64Labels()
			_, floats := b.Float32Labels()
			_, doubles := b.Float64Labels()
			for kind, err := range map[string]error{"int64": ints, "float32": floats, "float64": doubles} {
				if (err == nil) != (kind == c.want) || err != nil && !errors.Is(err, ErrConfig) {
					t.Errorf("%q as %s: %v, its labels are %s", c.text, kind, err, c.want)
				}
			}
			if _, err := b.Float32(); (err == nil) != (c.transform.DType == "") {
				t.Errorf("features of %q: %v", c.text, err)
			}
		})
	}
}

func TestClasses(t *testing.T) {
	text := "x,y\n1,dog\n3,cat\n"
	label := []ColumnRef{{Name: "y"}}
	for _, c := range []struct {
		classes Classes
		want    []int64
	}{
		{Classes{}, []int64{1, 0}},
		{Classes{Names: []string{"dog", "cat"}}, []int64{0, 1}},
		{Classes{Names: []string{"ant", "cat", "dog"}}, []int64{2, 1}},
		{Classes{Names: []string{"cat", "dog"}, Numbers: []int64{-100, 7}}, []int64{7, -100}},
	} {
		table, err := labelled(t, text, TableOptions{Label: label, Classes: c.classes}, gather.Transform{})
		if err != nil {
			t.Fatal(err)
		}
		eachBatch(t, table, func(b Batch) {
			if got, err := b.Int64Labels(); err != nil || !slices.Equal(got, c.want) {
				t.Errorf("%v: %v %v, want %v", c.classes, got, err, c.want)
			}
		})
	}
	_, err := labelled(t, text, TableOptions{Label: label, Classes: Classes{Names: []string{"dog"}}}, gather.Transform{})
	var e *Error
	if !errors.Is(err, ErrLabel) || !errors.As(err, &e) || e.Line != 3 || e.Row != 1 || e.Column != "y" || e.Cell != "cat" {
		t.Errorf("an unknown label: %v", err)
	}
	_, err = labelled(t, "x,y\n1,5\n3,6\n", TableOptions{Label: label, Classes: Classes{Values: []int64{5}}}, gather.Transform{})
	if !errors.Is(err, ErrLabel) || !errors.As(err, &e) || e.Line != 3 || e.Cell != "6" {
		t.Errorf("an unknown integer: %v", err)
	}
	for _, bad := range []TableOptions{
		{Label: label, Classes: Classes{Names: []string{"a"}, Values: []int64{1}}},
		{Label: label, Classes: Classes{Names: []string{"a"}, Numbers: []int64{1, 2}}},
		{Label: label, Classes: Classes{Names: []string{"a"}}, LabelType: "int"},
		{Label: label, LabelType: "word"},
		{Classes: Classes{Names: []string{"a"}}},
	} {
		if _, err := labelled(t, text, bad, gather.Transform{}); !errors.Is(err, ErrConfig) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}

// A default label may be absent, one that is asked for may not.
func TestAbsentLabel(t *testing.T) {
	text := "x,Target\n1,2\n"
	if table, err := labelled(t, text, TableOptions{Label: []ColumnRef{{Name: "label"}}, LabelOptional: true}, gather.Transform{}); err != nil || len(table.Table.Labels) != 0 {
		t.Errorf("a default that is absent: %v", err)
	}
	_, err := labelled(t, text, TableOptions{Label: []ColumnRef{{Name: "target"}}}, gather.Transform{})
	if !errors.Is(err, ErrSchema) || !strings.Contains(err.Error(), `did you mean "Target"?`) {
		t.Errorf("a label that is absent: %v", err)
	}
}
