package csv

import (
	"context"
	"math"
	"sync"

	"github.com/gofast-org/gofast/gofast/internal/pool"
	"github.com/gofast-org/gofast/gofast/table"
)

// Range implements table.Reader.
func (r *reader) Range(ctx context.Context, sel table.Selection) (features table.Range, err error) {
	rangers, err := r.ranges(ctx, sel)
	if err != nil {
		return features, err
	}
	if r.start == r.whole.start && r.end == r.whole.end && !r.packed {
		r.whole.note(rangers)
	}
	for _, g := range rangers {
		features.Merge(g.features)
	}
	return features, nil
}

// ranges reads all rows.
func (r *reader) ranges(ctx context.Context, sel table.Selection) (rangers []*ranger, err error) {
	defer r.locate(ctx, &err)
	defer pool.Recover(&err, op, r.file.Path())
	plan, err := r.plan(table.Selection{Features: sel.Features, Fill: sel.Fill, Fills: sel.Fills, Codings: sel.Codings, Rounds: sel.Rounds})
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	_, err = r.run(ctx, func() visitor {
		mu.Lock()
		defer mu.Unlock()
		g := &ranger{parser: plan.parser(r)}
		rangers = append(rangers, g)
		return g
	})
	return rangers, err
}

// ranger notes the values of the chunks of one worker.
type ranger struct {
	parser   *parser
	features table.Range
}

func (g *ranger) visit(c chunk) error {
	p := g.parser
	for row, pos := c.base, c.from; pos < c.to; {
		if next, ok := blank(c.buf[:c.to], pos, p.delim); ok {
			pos = next
			continue
		}
		cells, next := p.record(c.buf[:c.to], pos)
		if err := p.r.check(row, cells, next-pos); err != nil {
			return err
		}
		if err := p.finish(row); err != nil {
			return err
		}
		for _, f := range p.plan.features {
			add(&g.features, p.kinds[f.k], p.bits[f.k])
		}
		row, pos = row+1, next
	}
	return nil
}

func add(r *table.Range, k kind, bits uint64) {
	switch k {
	case intCell, minusZero:
		r.Int(int64(bits))
	case hugeCell:
		r.Beyond = true
	default:
		r.Real(math.Float64frombits(bits))
	}
}
