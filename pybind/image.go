package pybind

import (
	"context"
	"runtime/debug"

	"github.com/gofast-org/gofast/gofast/image"
	"github.com/gofast-org/gofast/gofast/image/jpeg"
	"github.com/gofast-org/gofast/gofast/source/folder"
	"github.com/gofast-org/gofast/gofast/source/kept"
)

// codecsConfig names the folders whose libraries are tried before the system's, and
// what jpeg.UseMarks is given.
type codecsConfig struct {
	Folders   []string `json:"folders"`
	Marks     uintptr  `json:"marks"`
	MarksSize int      `json:"marks_size"`
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
	jpeg.UseMarks(c.Marks, c.MarksSize) // before anything can be decoded
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

// certainOf is the part of a plan whose pictures can be kept; null where it begins with a draw.
func certainOf(plan image.Plan) (any, error) {
	certain, _ := plan.Split()
	return certain.Steps, nil
}

// keptKeys writes what records of these files are found by.
func keptKeys(c struct {
	Names   uintptr `json:"names"`
	Offsets uintptr `json:"offsets"`
	Count   int     `json:"count"`
	Keys    uintptr `json:"keys"`
}) (any, error) {
	kept.Keys(c.Names, c.Offsets, c.Count, c.Keys)
	return nil, nil
}

type indexConfig struct {
	folder.Options
	Index string `json:"index"` // where it is kept; "" for memory
}

type indexResult struct {
	FD int `json:"fd"`
	folder.Schema
}

const largeFolder = 10_000 // files, whose scan leaves more than a collection costs

// scanFolder scans image folders, or finds that nothing changed since.
func scanFolder(ctx context.Context, _ *task, c indexConfig) (any, error) {
	fd, schema, err := folder.Build(ctx, c.Options, c.Index)
	if schema.Count >= largeFolder {
		debug.FreeOSMemory() // each rank of a host would hold what a scan leaves behind for minutes
	}
	return indexResult{FD: fd, Schema: schema}, err
}
