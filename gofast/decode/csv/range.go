package csv

import (
	"context"
	"math"
	"sync"

	"github.com/gofast-org/gofast/gofast/decode"
	"github.com/gofast-org/gofast/gofast/internal/pool"
)

// Range implements decode.Reader.
func (r *reader) Range(ctx context.Context, sel decode.Selection) (features decode.Range, labels []decode.Range, err error) {
	defer pool.Recover(&err, op, r.file.Path())
	plan, err := r.plan(sel)
	if err != nil {
		return features, nil, err
	}
	var rangers []*ranger
	var mu sync.Mutex
	_, err = r.run(ctx, func() visitor {
		mu.Lock()
		defer mu.Unlock()
		g := &ranger{plan: plan, r: r, parser: newParser(r.delim, r.fields, plan.wanted, nil), labels: make([]decode.Range, len(sel.Labels))}
		rangers = append(rangers, g)
		return g
	})
	if err != nil {
		return features, nil, err
	}
	labels = make([]decode.Range, len(sel.Labels))
	for _, g := range rangers {
		features.Merge(g.features)
		for i := range labels {
			labels[i].Merge(g.labels[i])
		}
	}
	return features, labels, nil
}

// ranger notes the values of the chunks of one worker.
type ranger struct {
	*plan
	r        *reader
	parser   *parser
	features decode.Range
	labels   []decode.Range
}

func (g *ranger) visit(c chunk) error {
	p := g.parser
	for row, pos := c.base, c.from; pos < c.to; {
		if next, ok := blank(c.buf[:c.to], pos, g.r.delim); ok {
			pos = next
			continue
		}
		cells, next := p.record(c.buf[:c.to], pos)
		if err := g.r.check(row, cells, next-pos); err != nil {
			return err
		}
		if err := g.note(row); err != nil {
			return err
		}
		row, pos = row+1, next
	}
	return nil
}

// note adds the parser's record.
func (g *ranger) note(row int64) error {
	p := g.parser
	for i, l := range g.plan.labels {
		switch p.kinds[l.k] {
		case missingCell:
			return g.r.missingLabel(p, l, row)
		case hugeCell:
			return g.r.huge(p, l, row)
		case textCell:
			g.labels[i].Text = true
		default:
			add(&g.labels[i], p.kinds[l.k], p.bits[l.k])
		}
	}
	if !p.ints {
		if err := g.r.resolve(p, g.plan, row); err != nil {
			return err
		}
	}
	for _, f := range g.plan.features {
		add(&g.features, p.kinds[f.k], p.bits[f.k])
	}
	return nil
}

func add(r *decode.Range, k kind, bits uint64) {
	if k == intCell {
		r.Int(int64(bits))
		return
	}
	v := math.Float64frombits(bits)
	if v != v { // a fill value; every float type holds it
		r.Float = true
		return
	}
	r.Real(v)
}
