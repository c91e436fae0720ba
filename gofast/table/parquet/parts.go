package parquet

import (
	"context"
	"slices"

	"github.com/gofast-org/gofast/gofast/table"
)

// Parts implements table.Parter: row groups, several where they are small.
func (r *Reader) Parts(_ context.Context, rows int64) (parts []table.Part, _ error) {
	var p table.Part
	for g := range r.meta.groups {
		p.Rows += r.meta.groups[g].rows
		if p.To = int64(g + 1); p.Rows >= max(rows, 1) {
			parts = append(parts, p)
			p = table.Part{From: p.To}
		}
	}
	if p.Rows > 0 {
		parts = append(parts, p)
	}
	return parts, nil
}

// Part implements table.Parter.
func (r *Reader) Part(p table.Part) table.Reader {
	part, meta := *r, *r.meta
	meta.groups = slices.Clone(meta.groups[p.From:p.To])
	meta.rows = p.Rows
	for g, first := 0, int64(0); g < len(meta.groups); g++ {
		meta.groups[g].first = first
		first += meta.groups[g].rows
	}
	part.meta, part.before, part.reserved = &meta, int(p.From), 0
	return &part
}
