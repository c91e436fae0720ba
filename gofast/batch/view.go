package batch

import (
	"fmt"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/internal/kernel/fill"
)

// Part is one table of a View.
type Part struct {
	Program fill.Program
	Out     fill.Out
	Rows    int64
}

// NewView lays parts end to end, as torch's ConcatDataset does; with an index
// map of length entries at address indexMap the positions go through it, as
// torch's Subset does. Every part must make samples of the same size and type.
func NewView(parts []Part, indexMap uintptr, length int64, shape []int) (fill.View, error) {
	if len(parts) == 0 {
		return fill.View{}, errs.New(errs.ErrConfig, "view", "no tables")
	}
	if len(shape) > 8 {
		return fill.View{}, errs.New(errs.ErrConfig, "view", fmt.Sprintf("shape %v has more than 8 dimensions", shape))
	}
	placed := make([]fill.Part, len(parts))
	var start int64
	for i, part := range parts {
		if part.Out != parts[0].Out {
			return fill.View{}, errs.New(errs.ErrConfig, "view", fmt.Sprintf("table %d has another dtype than table 0", i))
		}
		placed[i] = fill.Part{Program: part.Program, Start: start}
		start += part.Rows
	}
	if indexMap == 0 {
		length = start
	}
	return fill.NewView(placed, length, indexMap, parts[0].Out, shape), nil
}

// View is what a list of row indexes points into, in C memory.
type View = fill.View

// ViewAt is the view at an address that View.Address gave.
func ViewAt(address uintptr) View { return fill.ViewAt(address) }
