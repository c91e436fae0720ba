package pybind

import (
	"github.com/gofast-org/gofast/gofast"
	"github.com/gofast-org/gofast/gofast/numbers"
	"github.com/gofast-org/gofast/gofast/table"
	"github.com/gofast-org/gofast/gofast/table/gather"
)

// programConfig is a decoded table in the caller's memory and its transform.
type programConfig struct {
	Features   uintptr `json:"features"`
	Labels     uintptr `json:"labels"`
	Rows       int64   `json:"rows"`
	Width      int     `json:"width"`
	Type       string  `json:"type"`
	LabelFloat []bool  `json:"label_float"`
	// Of the user's own arrays; see gather.Stored.
	RowStride   int64            `json:"row_stride"`
	LabelStride int64            `json:"label_stride"`
	LabelSize   int              `json:"label_size"`
	Transform   gather.Transform `json:"transform"`
}

// newProgram compiles a table's transform. The memory it names must outlive the program.
func newProgram(c programConfig) (any, error) {
	stored := gather.Stored{Features: c.Features, Labels: c.Labels, Rows: c.Rows, Width: c.Width,
		Type: table.TypeNamed(c.Type), LabelFloat: c.LabelFloat,
		RowStride: c.RowStride, LabelStride: c.LabelStride, LabelSize: c.LabelSize}
	if stored.Type == table.Invalid {
		return nil, gofast.NewError(gofast.ErrConfig, "program", "storage type is unknown").WithCell(c.Type)
	}
	program, _, err := c.Transform.Compile(stored)
	return object{program.Address()}, err
}

// viewConfig lays programs end to end.
type viewConfig struct {
	Programs []uintptr `json:"programs"`
	Rows     []int64   `json:"rows"`
	DType    string    `json:"dtype"`
	Map      uintptr   `json:"map"`
	Length   int64     `json:"length"`
	Shape    []int     `json:"shape"`
}

func newView(c viewConfig) (any, error) {
	if len(c.Rows) != len(c.Programs) {
		return nil, gofast.NewError(gofast.ErrConfig, "view", "as many row counts as programs are needed")
	}
	out, err := numbers.Output(c.DType)
	if err != nil {
		return nil, err
	}
	parts := make([]gather.Part, len(c.Programs))
	for i, p := range c.Programs {
		parts[i] = gather.Part{Program: gather.ProgramAt(p), Rows: c.Rows[i]}
	}
	view, err := gather.NewView(parts, c.Map, c.Length, out, c.Shape)
	return object{view.Address()}, err
}
