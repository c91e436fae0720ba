package gather

import (
	"cmp"
	"fmt"
	"math"

	"github.com/gofast-org/gofast/gofast/engine"
	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/numbers"
	"github.com/gofast-org/gofast/gofast/table"
)

// Scale says what happens to a value before mean and std.
type Scale string

// The scales.
const (
	ScaleAuto Scale = "auto" // ScaleUnit for pictures that go to a float, else ScaleNone; see Table.Shape
	ScaleUnit Scale = "unit" // float32(x) / 255
	ScaleNone Scale = "none"
)

// Transform is what is made of a table's rows. It is compiled once into a Program,
// which any thread and any forked process can run. The zero value converts to float32
// without arithmetic and gives no label.
type Transform struct {
	Scale     Scale        `json:"scale"`
	Mean, Std []float32    // nil; or one value; or one per channel or per feature
	DType     numbers.Type `json:"dtype"` // of samples; zero: Float32. An integer type must hold every stored integer
	// Shape of one sample; nil: the file's. Two or three dimensions say that rows
	// are pictures: with ScaleAuto their values must be whole numbers from 0 to 255.
	Shape        []int     `json:"shape"`
	Label        LabelMode `json:"label"`
	MissingLabel int64     `json:"missing_label"` // of LabelMissing
	Classes      int       `json:"classes"`       // of LabelOneHot
}

// Stored is the memory of a decoded table, or of the user's own arrays.
type Stored struct {
	Features   uintptr    `json:"features"`
	Labels     uintptr    `json:"labels"`
	Rows       int64      `json:"rows"`
	Width      int        `json:"width"`
	Type       table.Type `json:"type"`
	LabelFloat []bool     `json:"label_float"` // one per label column: stored as float64, not int64
	// Bytes from one row to the next; 0 if there is no gap between them.
	RowStride   int64    `json:"row_stride"`
	LabelStride int64    `json:"label_stride"`
	LabelSize   int      `json:"label_size"` // bytes of a row's labels, of LabelCopy
	Bool        bool     `json:"-"`          // the features are booleans
	Shape       []int    `json:"-"`          // of one row in the file
	Names       []string `json:"-"`          // of the columns, for errors
}

// Compile checks the options against the table and lays the program out. It also says
// what that makes of a row.
func (t Transform) Compile(s Stored) (Program, engine.Sample, error) {
	spec, shape, err := t.check(s)
	if err != nil {
		return Program{}, engine.Sample{}, err
	}
	program, err := NewProgram(spec)
	if err != nil {
		return Program{}, engine.Sample{}, err
	}
	return program, program.Sample(shape), nil
}

// Raw is the transform without its numbers: rows as they are stored. The numbers are what
// is left to do to them. False where that is nothing, or rows would not be shorter so; and
// of floats, where who does the rest need not make the same NaN of a NaN.
func (t Transform) Raw(s Stored) (Transform, numbers.Spec, bool, error) {
	spec, shape, err := t.check(s)
	if err != nil || !s.Type.Integer() || s.Type.Size() >= spec.Type.Size() {
		return t, numbers.Spec{}, false, err
	}
	t.Scale, t.Mean, t.Std, t.DType, t.Shape = ScaleNone, nil, nil, s.Type, shape
	return t, spec.Spec, true, nil
}

// check gives what the options say of a table, and the shape of a sample.
func (t Transform) check(s Stored) (Spec, []int, error) {
	bad := func(format string, args ...any) (Spec, []int, error) {
		return Spec{}, nil, errs.New(errs.ErrConfig, "transform", fmt.Sprintf(format, args...))
	}
	made := cmp.Or(t.DType, numbers.Float32)
	if made > numbers.Bfloat16 {
		return bad("there is no dtype %d", made)
	}
	if t.Label < LabelNone || t.Label > LabelCopy {
		return bad("there is no label mode %d", t.Label)
	}
	spec := Spec{
		Spec: numbers.Spec{Type: made, Channels: 1}, Features: s.Features, Labels: s.Labels, Rows: s.Rows, Width: s.Width, Storage: s.Type,
		RowStride: s.RowStride, LabelStride: s.LabelStride, LabelSize: s.LabelSize, LabelMode: t.Label, LabelFloat: s.LabelFloat, MissingLabel: t.MissingLabel, Classes: t.Classes,
	}
	switch t.Scale {
	case ScaleAuto:
		if t.Pictures() && !made.Integer() {
			spec.Scale = numbers.Divide
			if err := t.checkPictures(s); err != nil {
				return Spec{}, nil, err
			}
		}
	case ScaleUnit:
		spec.Scale = numbers.Divide
	case ScaleNone, "":
	default:
		return bad("scale %q is not one of auto, unit, none", t.Scale)
	}
	// The file's own shape does not say that rows are pictures: it comes after the scale.
	if t.Shape == nil {
		t.Shape = s.Shape
	}
	if t.Shape == nil {
		t.Shape = []int{s.Width}
	}
	for _, n := range t.Shape {
		if n < 0 || n > s.Width { // else a product of them may be the right one
			return bad("shape %v does not go with the %d features of a row", t.Shape, s.Width)
		}
	}
	if table.Elements(t.Shape) != s.Width {
		return bad("shape %v has %d elements, a row has %d features", t.Shape, table.Elements(t.Shape), s.Width)
	}
	if (t.Mean == nil) != (t.Std == nil) {
		return bad("mean and std come together: give both or neither")
	}
	if t.Mean != nil {
		var err error
		spec.Channels = max(len(t.Mean), len(t.Std))
		if spec.Mean, err = t.spread("mean", t.Mean, spec.Channels, s.Width); err != nil {
			return Spec{}, nil, err
		}
		if spec.Std, err = t.spread("std", t.Std, spec.Channels, s.Width); err != nil {
			return Spec{}, nil, err
		}
	}
	if made.Integer() {
		if spec.Scale != numbers.Cast || spec.Mean != nil {
			return bad("dtype %s takes neither scale, mean nor std: nothing is rounded to an integer", made)
		}
		if err := s.checkIntegers(made); err != nil {
			return Spec{}, nil, err
		}
	}
	const mostClasses = 1 << 28 // a label of 1 GiB
	if t.Label == LabelOneHot && (len(s.LabelFloat) != 1 || s.LabelFloat[0] || t.Classes < 1 || t.Classes > mostClasses) {
		return bad("one_hot needs one integer label column and 1 to %d classes", mostClasses)
	}
	return spec, t.Shape, nil
}

// spread gives every channel its value: one for all, one per channel (the first
// dimension of the shape), or one per feature.
func (t Transform) spread(name string, values []float32, channels, width int) ([]float32, error) {
	for _, v := range values {
		if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) || name == "std" && v == 0 {
			return nil, errs.New(errs.ErrConfig, "transform", fmt.Sprintf("%s holds %v", name, v))
		}
	}
	n := len(values)
	if n == 0 || n != 1 && n != width && (len(t.Shape) == 0 || n != t.Shape[0]) {
		return nil, errs.New(errs.ErrConfig, "transform", fmt.Sprintf(
			"%s has %d values: give one, one per channel (first dimension of shape %v) or one per feature (%d)", name, n, t.Shape, width))
	}
	all := make([]float32, channels)
	for i := range all {
		all[i] = values[i*n/channels]
	}
	return all, nil
}

// Pictures reports whether Shape says that rows are pictures: two or three dimensions.
func (t Transform) Pictures() bool { return len(t.Shape) == 2 || len(t.Shape) == 3 }

// checkPictures refuses what is not a whole number from 0 to 255.
func (t Transform) checkPictures(s Stored) error {
	if s.Type == table.Uint8 && !s.Bool {
		return nil
	}
	said := fmt.Sprintf("the shape %v says that rows are pictures, whole numbers from 0 to 255: choose ScaleNone or ScaleUnit", t.Shape)
	if s.Bool {
		return errs.New(errs.ErrValue, "transform", "the features are booleans, but "+said)
	}
	at, cell := s.find(notCode)
	if at < 0 {
		return nil
	}
	return s.badCell(at, cell, "not the code of a pixel, but "+said)
}

// notCode says whether a value is something else than a whole number from 0 to 255.
func notCode(v float64) bool { return !(v >= 0 && v <= 255) || math.Trunc(v) != v }
