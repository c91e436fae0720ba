package gofast

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gofast-org/gofast/gofast/image"
	"github.com/gofast-org/gofast/gofast/numbers"
	"github.com/gofast-org/gofast/gofast/table"
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
	e := engineOf(t, 1)
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
		{"x,y\n1,2.5\n3,4\n", label, gather.Transform{Label: gather.LabelFloat64}, "float64"},
		{"x,y\n1,0\n3,1\n", label, gather.Transform{Label: gather.LabelOneHot, Classes: 2}, "float32"},
		{"x,y\n1,cat\n3,dog\n", label, gather.Transform{DType: numbers.Float64}, "int64"},
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
			if _, err := b.Float32(); (err == nil) != (c.transform.DType == numbers.Invalid) {
				t.Errorf("features of %q: %v", c.text, err)
			}
		})
	}
}

// A default label may be absent, one that is asked for may not.
func TestAbsentLabel(t *testing.T) {
	text := "x,Target\n1,2\n"
	if table, err := labelled(t, text, TableOptions{Label: []ColumnRef{{Name: "label"}}, LabelOptional: true}, gather.Transform{}); err != nil || len(table.Table.Labels) != 0 {
		t.Errorf("a default that is absent: %v", err)
	}
	for name, hint := range map[string]string{"target": `did you mean "Target"?`, "tagret": `did you mean "Target"?`, "y": `not a column; the file`} {
		_, err := labelled(t, text, TableOptions{Label: []ColumnRef{{Name: name}}}, gather.Transform{})
		if !errors.Is(err, ErrSchema) || !strings.Contains(err.Error(), hint) {
			t.Errorf("label %q, which is absent: %v", name, err)
		}
	}
}

// A name is whatever JSON says, also beyond the 16 bits of an escape.
func TestColumnRefFromJSON(t *testing.T) {
	for text, want := range map[string]ColumnRef{`"a\/b"`: {Name: "a/b"}, `"\ud83d\ude00"`: {Name: "\U0001F600"}, "-2": {Index: -2, ByPos: true}} {
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

func TestUnitsOfDates(t *testing.T) {
	for unit, want := range map[table.Unit]float32{table.Day: 18_263, table.Hour: 18_263 * 24, 5: -1, 0: -1} {
		dates := []ColumnDate{{Column: ColumnRef{Name: "when"}, Unit: unit}}
		d, err := labelled(t, "when\n2020-01-02\n2020-01-03\n", TableOptions{Dates: dates}, gather.Transform{})
		if err != nil {
			if want >= 0 || !errors.Is(err, ErrConfig) {
				t.Errorf("in %d: %v", unit, err)
			}
			continue
		}
		eachBatch(t, d, func(b Batch) {
			if values, err := b.Float32(); err != nil || values[0] != want {
				t.Errorf("in %s: %v, %v", unit, values, err)
			}
		})
	}
	for text, want := range map[string]table.Unit{`"ms"`: table.Millisecond, `"y"`: 0, `7`: 0} {
		var c ColumnDate
		if err := json.Unmarshal([]byte(`{"column":"when","unit":`+text+`}`), &c); c.Unit != want || (err == nil) != (want > 0) {
			t.Errorf("%s: %s, %v", text, c.Unit, err)
		}
	}
}

func TestOptionsWithoutSense(t *testing.T) {
	label := []ColumnRef{{Name: "b"}}
	for name, classes := range map[string]Classes{"a number twice": {Values: []int64{2, 4, 2}}, "a name twice": {Names: []string{"x", "y", "x"}}} {
		if _, err := ReadTable(t.Context(), strings.NewReader("a,b\n1,2\n3,4\n"), TableOptions{Label: label, Classes: classes}, gather.Transform{}); !errors.Is(err, ErrConfig) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := OpenFolder(t.Context(), t.TempDir(), valPlan, FolderOptions{Options: image.Options{MaxFileBytes: -1}}); !errors.Is(err, ErrConfig) {
		t.Errorf("files below 0 bytes: %v", err)
	}
	if text := fmt.Sprint(gather.LabelOneHot, gather.LabelMode(99)); text != "one_hot LabelMode(99)" {
		t.Error(text)
	}
}
