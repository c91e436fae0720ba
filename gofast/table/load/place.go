package load

import (
	"context"
	"fmt"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/table"
)

// Place is the place of a table's row in its sources.
type Place struct {
	Path string `json:"path"`
	Row  int64  `json:"row"`  // in that file, from 0
	Line int64  `json:"line"` // in a text file, counted as an editor does; else errs.None
}

// PlaceOf finds a row of the table that Decode makes from the same files. A table
// does not keep its rows' places, so PlaceOf opens the files again. It is for the text
// of errors.
func PlaceOf(ctx context.Context, paths []string, options Options, row int64) (Place, error) {
	o, err := open(ctx, paths, options)
	if err != nil {
		return Place{}, err
	}
	defer o.close()
	for i, r := range o.readers {
		rows, err := counted(ctx, r)
		if err != nil {
			return Place{}, err
		}
		if row < rows {
			at := errs.New(errs.ErrValue, "place", "")
			o.atRow(ctx, at, i, row)
			return Place{Path: o.files[i].Path(), Row: row, Line: at.Line}, nil
		}
		row -= rows
	}
	return Place{}, errs.New(errs.ErrChanged, "place", fmt.Sprintf("the files have no row %d any more", row))
}

func counted(ctx context.Context, r table.Reader) (int64, error) {
	rows, exact := r.Rows()
	if c, ok := r.(table.Counter); ok && !exact {
		if err := c.Count(ctx); err != nil {
			return 0, err
		}
		rows, _ = r.Rows()
	}
	return rows, nil
}

// RowsOf are the rows of each file of such a table, which opens them again.
func RowsOf(ctx context.Context, paths []string, options Options) ([]int64, error) {
	o, err := open(ctx, paths, options)
	if err != nil {
		return nil, err
	}
	defer o.close()
	rows := make([]int64, len(o.readers))
	for i, r := range o.readers {
		if rows[i], err = counted(ctx, r); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

// Placed adds the file, its row and line to an error that names a row of the table.
func Placed(ctx context.Context, e *errs.Error, paths []string, options Options) {
	options.Progress = nil
	if p, failed := PlaceOf(ctx, paths, options, e.Row); failed == nil {
		e.Path, e.Row, e.Line = p.Path, p.Row, p.Line
	} else if len(paths) == 1 {
		e.Path = paths[0]
	}
}
