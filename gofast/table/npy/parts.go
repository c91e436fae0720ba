package npy

import (
	"context"

	"github.com/gofast-org/gofast/gofast/table"
)

// Parts implements table.Parter. Rows of one array in C order lie behind one another; members of an .npz have
// checksums of all of them.
func (t *openFile) Parts(_ context.Context, rows int64) ([]table.Part, error) {
	a := t.arrays[0]
	if a.member != nil || a.fortran && a.width > 1 {
		return table.Whole(t.rows), nil
	}
	var parts []table.Part
	for from := int64(0); from < t.rows; {
		to := min(from+max(rows, 1), t.rows)
		parts = append(parts, table.Part{From: from, To: to, Rows: to - from})
		from = to
	}
	return parts, nil
}

// Part implements table.Parter.
func (t *openFile) Part(p table.Part) table.Reader {
	if p.IsWhole() {
		return t
	}
	part, a := *t, *t.arrays[0]
	a.base += p.From * a.rowBytes()
	a.rows = p.Rows
	part.arrays, part.rows = []*array{&a}, p.Rows
	return &part
}
