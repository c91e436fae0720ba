package pybind

import (
	"context"

	"github.com/gofast-org/gofast/gofast"
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

// loadCodecs finds the libraries that decode pictures, once in a process.
// Pictures whose library is missing are left to Pillow.
func loadCodecs(c codecsConfig) (any, error) {
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
	return found, nil
}

// isFused tells from one value that torch drew how its uniform_ rounds: 1 once, 0
// twice, -1 in neither way. gofast/image/steps/draw.h says which value that is.
func isFused(c struct {
	Value float64 `json:"value"`
}) (any, error) {
	return image.IsFused(float32(c.Value)), nil
}

// imageConfig is a plan, the files that it is for, and options.
type imageConfig struct {
	Plan  image.Plan  `json:"plan"`
	Files image.Files `json:"files"`
	image.Options
}

// imageProgram is where a program lies, and how many int32 it draws for a sample.
type imageProgram struct {
	object
	RecordWords int `json:"record_words"`
}

// newImageProgram compiles the plan of an image dataset. The memory it names must
// outlive the program.
func newImageProgram(c imageConfig) (any, error) {
	program, err := image.NewProgram(c.Plan, c.Files, c.Options)
	if err != nil {
		return nil, err
	}
	return imageProgram{object{program.Address()}, program.RecordWords()}, nil
}

// imageViewConfig lays image programs end to end.
type imageViewConfig struct {
	viewConfig
	Labels bool `json:"labels"` // an int64 a sample
}

func newImageView(c imageViewConfig) (any, error) {
	if len(c.Rows) != len(c.Programs) || len(c.Programs) == 0 || len(c.Shape) > 8 {
		return nil, gofast.NewError(gofast.ErrConfig, "view", "programs and counts do not go together")
	}
	parts := make([]image.Part, len(c.Programs))
	for i, p := range c.Programs {
		parts[i] = image.Part{Program: image.ProgramAt(p), Count: c.Rows[i]}
	}
	out, err := numbers.Output(c.DType)
	if err != nil {
		return nil, err
	}
	view, err := image.NewView(parts, c.Map, c.Length, out, c.Shape, c.Labels)
	return object{view.Address()}, err
}

type indexConfig struct {
	folder.Options
	Index string `json:"index"` // where it is kept; "" for memory
}

type indexResult struct {
	FD int `json:"fd"`
	folder.Schema
}

// scanFolder scans image folders, or finds that nothing changed since.
func scanFolder(ctx context.Context, _ *task, c indexConfig) (any, error) {
	fd, schema, err := folder.Build(ctx, c.Options, c.Index)
	return indexResult{FD: fd, Schema: schema}, err
}
