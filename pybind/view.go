package pybind

import (
	"encoding/json"

	"github.com/gofast-org/gofast/gofast"
	"github.com/gofast-org/gofast/gofast/engine"
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

// NewProgram compiles a table's transform; config is JSON. The memory it names
// must outlive the program. FreeProgram releases it.
func NewProgram(config string) (address uintptr, err error) {
	defer guard(&err)
	var c programConfig
	if err := decodeJSON(config, &c); err != nil {
		return 0, err
	}
	stored := gather.Stored{Features: c.Features, Labels: c.Labels, Rows: c.Rows, Width: c.Width,
		Type: table.TypeNamed(c.Type), LabelFloat: c.LabelFloat,
		RowStride: c.RowStride, LabelStride: c.LabelStride, LabelSize: c.LabelSize}
	if stored.Type == table.Invalid {
		return 0, gofast.NewError(gofast.ErrConfig, "program", "storage type is unknown").WithCell(c.Type)
	}
	program, _, err := c.Transform.Compile(stored)
	if err != nil {
		return 0, err
	}
	return program.Address(), nil
}

// FreeProgram releases a program that no view uses.
func FreeProgram(address uintptr) (ok int, err error) {
	defer guard(&err)
	gather.ProgramAt(address).Free()
	return 0, nil
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

// NewView makes a view; config is JSON. FreeView releases it.
func NewView(config string) (address uintptr, err error) {
	defer guard(&err)
	var c viewConfig
	if err := decodeJSON(config, &c); err != nil {
		return 0, err
	}
	if len(c.Rows) != len(c.Programs) {
		return 0, gofast.NewError(gofast.ErrConfig, "view", "as many row counts as programs are needed")
	}
	out, err := numbers.Output(c.DType)
	if err != nil {
		return 0, err
	}
	parts := make([]gather.Part, len(c.Programs))
	for i, p := range c.Programs {
		parts[i] = gather.Part{Program: gather.ProgramAt(p), Rows: c.Rows[i]}
	}
	view, err := gather.NewView(parts, c.Map, c.Length, out, c.Shape)
	if err != nil {
		return 0, err
	}
	return view.Address(), nil
}

// FreeView releases a view, and first cancels tickets that use it: Python's
// garbage collector may find a view and its stream in one cycle, and then tells
// the view first.
func FreeView(address uintptr) (ok int, err error) {
	defer guard(&err)
	if e, err := running(); err == nil {
		e.Forget(engine.ViewAt(address))
	}
	engine.ViewAt(address).Free()
	return 0, nil
}

func decodeJSON(text string, into any) error {
	if err := json.Unmarshal([]byte(text), into); err != nil {
		return gofast.NewError(gofast.ErrConfig, "config", "not the JSON that was expected").Because(err)
	}
	return nil
}
