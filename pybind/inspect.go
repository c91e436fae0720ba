package pybind

import (
	"context"
	"runtime"

	"github.com/gofast-org/gofast/gofast"
	"github.com/gofast-org/gofast/gofast/image/pixel"
	"github.com/gofast-org/gofast/gofast/image/resample"
	"github.com/gofast-org/gofast/gofast/inspect"
	"github.com/gofast-org/gofast/gofast/source/folder"
	"github.com/gofast-org/gofast/gofast/table/csv/csvrow"
)

type inspectConfig struct {
	Paths []folder.Name `json:"paths"`
	inspect.Options
}

func (c *inspectConfig) paths() []string {
	paths := make([]string, len(c.Paths))
	for i, path := range c.Paths {
		paths[i] = string(path)
	}
	return paths
}

func verifyFiles(ctx context.Context, t *task, c inspectConfig) (any, error) {
	c.Progress = t.progress
	return inspect.Verify(ctx, c.paths(), c.Options)
}

// aboutHere says what this process runs with: the kernels that fit the processor, by
// what they work on, and the memory that opening a table may take.
func aboutHere(nothing) (any, error) {
	levels := [...]string{"plain", "avx2", "avx512"}
	csv := csvrow.Variants()
	return struct {
		Go      string            `json:"go"`
		Kernels map[string]string `json:"kernels"`
		Memory  int64             `json:"memory"`
	}{
		Go: runtime.Version(),
		Kernels: map[string]string{
			"pixels": levels[pixel.Best],
			"resize": levels[resample.Level()],
			"csv":    csv[len(csv)-1].String(),
		},
		Memory: gofast.Limits{}.WithDefaults().Memory,
	}, nil
}
