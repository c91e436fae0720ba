package gofast

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/numbers"
	"github.com/gofast-org/gofast/gofast/table/gather"
)

func writeTable(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "t.csv")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// firstRow opens a table and gives its first sample.
func firstRow(t *testing.T, path string, options TableOptions, made gather.Transform) ([]float32, error) {
	t.Helper()
	table, err := OpenTable(t.Context(), []string{path}, options, made)
	if err != nil {
		return nil, err
	}
	defer table.Close()
	engine := NewEngine(1)
	defer engine.Close()
	for b, err := range engine.Batches(t.Context(), table, Sequential(table.Len()), 1) {
		if err != nil {
			return nil, err
		}
		features, err := b.Float32()
		return append([]float32(nil), features...), err
	}
	return nil, errors.New("no batch")
}

// The shape decides, and no value: a table of small integers is not divided.
func TestAutoScaleFollowsTheShape(t *testing.T) {
	path := writeTable(t, "a,b,c,d\n255,0,51,1\n")
	for _, c := range []struct {
		shape []int
		want  float32
	}{{nil, 255}, {[]int{4}, 255}, {[]int{2, 2}, 1}, {[]int{1, 2, 2}, 1}, {[]int{1, 1, 2, 2}, 255}} {
		row, err := firstRow(t, path, TableOptions{}, gather.Transform{Scale: gather.ScaleAuto, Shape: c.shape})
		if err != nil || row[0] != c.want {
			t.Errorf("shape %v: %v %v, want %v", c.shape, row, err, c.want)
		}
	}
}

func TestPicturesOfOtherNumbersAreRefused(t *testing.T) {
	shape := []int{1, 2}
	for text, cell := range map[string]string{
		"a,b\n0,1\n2,300\n": "300", "a,b\n0,1\n2,-1\n": "-1", "a,b\n0,1\n2,0.5\n": "0.5", "a,b\n0,1\n2,70000\n": "70000",
		"a,b\n0,1\n2,5000000000\n": "5000000000", "a,b\n0,1\n2,0.1\n": "0.1",
	} {
		path := writeTable(t, text)
		_, err := firstRow(t, path, TableOptions{}, gather.Transform{Scale: gather.ScaleAuto, Shape: shape})
		var e *errs.Error
		if !errors.Is(err, errs.ErrValue) || !errors.As(err, &e) || e.Path != path || e.Row != 1 || e.Column != "b" {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if e.Cell != cell || !strings.Contains(e.Error(), "ScaleNone") {
			t.Errorf("%q: %v", text, err)
		}
		if _, err := firstRow(t, path, TableOptions{}, gather.Transform{Scale: gather.ScaleUnit, Shape: shape}); err != nil {
			t.Errorf("%q, divided on purpose: %v", text, err)
		}
	}
	bools := writeTable(t, "a,b\nTrue,False\n")
	if _, err := firstRow(t, bools, TableOptions{}, gather.Transform{Scale: gather.ScaleAuto, Shape: shape}); !errors.Is(err, errs.ErrValue) {
		t.Errorf("booleans: %v", err)
	}
	whole := writeTable(t, "a,b\n0.0,255.0\n")
	row, err := firstRow(t, whole, TableOptions{}, gather.Transform{Scale: gather.ScaleAuto, Shape: shape})
	if err != nil || row[1] != 1 {
		t.Errorf("whole floats: %v %v", row, err)
	}
}

// Of several files the error names the one, with the row and the line in it.
func TestAValueThatDoesNotFitIsFoundInItsFile(t *testing.T) {
	paths := []string{writeTable(t, "a,b\n0,1\n2,3\n"), writeTable(t, "a,b\n\n0,1\n2,300\n")}
	for _, made := range []gather.Transform{{Scale: gather.ScaleAuto, Shape: []int{1, 2}}, {DType: numbers.Uint8}} {
		_, err := OpenTable(t.Context(), paths, TableOptions{}, made)
		var e *errs.Error
		if !errors.As(err, &e) || e.Path != paths[1] || e.Row != 1 || e.Line != 4 || e.Column != "b" || e.Cell != "300" {
			t.Errorf("%+v: %v", made, err)
		}
	}
}
