package pybind

import (
	"context"
	"encoding/json"

	"github.com/gofast-org/gofast/gofast"
	"github.com/gofast-org/gofast/gofast/engine"
	"github.com/gofast-org/gofast/gofast/image"
	"github.com/gofast-org/gofast/gofast/image/jpeg"
	"github.com/gofast-org/gofast/gofast/numbers"
	"github.com/gofast-org/gofast/gofast/source/folder"
)

// codecsConfig names the folders whose libraries are tried before the system's.
type codecsConfig struct {
	Folders []string `json:"folders"`
}

// codecsResult says which formats are decoded here, with which JPEG library, and
// why others are left to Pillow.
type codecsResult struct {
	Native  []string          `json:"native"`
	JPEG    string            `json:"jpeg"`
	Missing map[string]string `json:"missing"`
}

// LoadCodecs finds the libraries that decode pictures, once in a process, and
// says what it found, as a JSON object. Pictures whose library is missing are
// left to Pillow.
func LoadCodecs(config string) (text string, err error) {
	defer guard(&err)
	var c codecsConfig
	if err := decodeJSON(config, &c); err != nil {
		return "", err
	}
	found := codecsResult{Native: []string{}, Missing: map[string]string{}}
	missing := image.LoadFormats(c.Folders)
	for _, format := range image.Formats() {
		if err := missing[format.Name()]; err != nil {
			found.Missing[format.Name()] = err.Error()
		} else {
			found.Native = append(found.Native, format.Name())
		}
	}
	if found.JPEG = jpeg.Library(); jpeg.Exchanged() {
		found.JPEG += "; Huffman codes by gofast"
	}
	b, err := json.Marshal(found)
	return string(b), err
}

// imageConfig is a plan, the files that it is for, and options.
type imageConfig struct {
	Plan  image.Plan  `json:"plan"`
	Files image.Files `json:"files"`
	image.Options
}

// NewImageProgram compiles the plan of an image dataset; config is JSON. The
// memory it names must outlive the program. FreeImageProgram releases it.
func NewImageProgram(config string) (address uintptr, err error) {
	defer guard(&err)
	var c imageConfig
	if err := decodeJSON(config, &c); err != nil {
		return 0, err
	}
	program, err := image.NewProgram(c.Plan, c.Files, c.Options)
	if err != nil {
		return 0, err
	}
	return program.Address(), nil
}

// FreeImageProgram releases a program that no view uses.
func FreeImageProgram(address uintptr) (ok int, err error) {
	defer guard(&err)
	image.ProgramAt(address).Free()
	return 0, nil
}

// RecordWords is the number of int32 that a program draws for a sample.
func RecordWords(address uintptr) (words int, err error) {
	defer guard(&err)
	return image.ProgramAt(address).RecordWords(), nil
}

// IsFused tells from one value that torch drew how its uniform_ rounds: 1 once, 0
// twice, -1 in neither way. See draw.IsFused for the value.
func IsFused(value float64) (fused int, err error) {
	defer guard(&err)
	return image.IsFused(float32(value)), nil
}

// imageViewConfig lays image programs end to end.
type imageViewConfig struct {
	viewConfig
	Sizes  bool `json:"sizes"`  // samples are widths and heights
	Labels bool `json:"labels"` // an int64 a sample
}

// NewImageView makes a view of image programs; config is JSON. FreeView releases it.
func NewImageView(config string) (address uintptr, err error) {
	defer guard(&err)
	var c imageViewConfig
	if err := decodeJSON(config, &c); err != nil {
		return 0, err
	}
	if len(c.Rows) != len(c.Programs) || len(c.Programs) == 0 || len(c.Shape) > 8 {
		return 0, gofast.NewError(gofast.ErrConfig, "view", "programs and counts do not go together")
	}
	parts := make([]image.Part, len(c.Programs))
	for i, p := range c.Programs {
		parts[i] = image.Part{Program: image.ProgramAt(p), Count: c.Rows[i]}
	}
	var view engine.View
	if c.Sizes {
		view, err = image.NewSizesView(parts, c.Map, c.Length)
	} else {
		var out numbers.Type
		if out, err = numbers.Output(c.DType); err != nil {
			return 0, err
		}
		view, err = image.NewView(parts, c.Map, c.Length, out, c.Shape, c.Labels)
	}
	if err != nil {
		return 0, err
	}
	return view.Address(), nil
}

type indexConfig struct {
	folder.Options
	Index string `json:"index"` // where it is kept; "" for memory
}

type indexResult struct {
	FD int `json:"fd"`
	folder.Schema
}

// indexOperation scans image folders, or finds that nothing changed since.
func indexOperation(ctx context.Context, _ *task, config string) (any, error) {
	var c indexConfig
	if err := decodeJSON(config, &c); err != nil {
		return nil, err
	}
	fd, schema, err := folder.Build(ctx, c.Options, c.Index)
	return indexResult{FD: fd, Schema: schema}, err
}
