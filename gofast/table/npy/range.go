package npy

import (
	"context"
	"math"
	"sync"

	"github.com/gofast-org/gofast/gofast/table"
)

// Range scans the selected columns.
func (t *openFile) Range(ctx context.Context, sel table.Selection) (features table.Range, err error) {
	defer t.guard(&err)
	plans, err := t.plans(table.Selection{Features: sel.Features})
	if err != nil {
		return table.Range{}, err
	}
	var mu sync.Mutex // taken once a block
	noDirect := func(*plan, int64, int64) []byte { return nil }
	for _, p := range plans { // a file without rows still has types
		features.Float = features.Float || p.elem.float() && len(p.runs) > 0
	}
	err = t.visit(ctx, plans, noDirect, func(p *plan, row int64, block []byte, _ *scratch) error {
		var seen table.Range
		if err := p.rangeOfRuns(sel, row, block, &seen); err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		features.Merge(seen)
		return nil
	})
	return features, err
}

// rangeOfRuns notes the feature values of a block.
func (p *plan) rangeOfRuns(sel table.Selection, row int64, block []byte, seen *table.Range) error {
	if len(p.runs) == 1 && p.runs[0].n == p.width {
		to := p.runs[0].dst
		if at, huge := p.scan(block, func(at int) *float64 { return sel.FillAt(to + at%p.width) }, seen); at >= 0 {
			return p.unfit(huge, block, row+int64(at/p.width), at%p.width, at)
		}
		return nil
	}
	size, rowBytes := p.elem.size, int(p.rowBytes())
	for ; len(block) > 0; row, block = row+1, block[rowBytes:] {
		for _, r := range p.runs {
			part := block[r.src*size : (r.src+r.n)*size]
			if at, huge := p.scan(part, func(at int) *float64 { return sel.FillAt(r.dst + at) }, seen); at >= 0 {
				return p.unfit(huge, part, row, r.src+at, at)
			}
		}
	}
	return nil
}

// unfit is the error of the value that scan stopped at.
func (p *plan) unfit(huge bool, values []byte, row int64, position, at int) error {
	if huge {
		return p.tooLarge(as[uint64](values)[at], row, position)
	}
	return p.missing(row, position)
}

// scan notes values until one is missing (and has no fill value) or too large; at
// is its index, or -1 at the end.
func (p *plan) scan(values []byte, fillAt func(at int) *float64, seen *table.Range) (at int, huge bool) {
	if len(values) == 0 {
		return -1, false
	}
	switch e := p.elem; {
	case e.kind == 'u' && e.size == 8:
		return rangeOfUint64(as[uint64](values), seen)
	case e.kind == 'u' || e.kind == 'b':
		switch e.size {
		case 1:
			rangeOfInt(as[uint8](values), seen)
		case 2:
			rangeOfInt(as[uint16](values), seen)
		case 4:
			rangeOfInt(as[uint32](values), seen)
		}
	case e.kind == 'i':
		switch e.size {
		case 1:
			rangeOfInt(as[int8](values), seen)
		case 2:
			rangeOfInt(as[int16](values), seen)
		case 4:
			rangeOfInt(as[int32](values), seen)
		case 8:
			rangeOfInt(as[int64](values), seen)
		}
	case e.size == 2:
		return rangeOfReal(as[uint16](values), half, fillAt, seen), false
	case e.size == 4:
		return rangeOfReal(as[float32](values), func(v float32) float32 { return v }, fillAt, seen), false
	default:
		return rangeOfReal(as[float64](values), func(v float64) float64 { return v }, fillAt, seen), false
	}
	return -1, false
}

func rangeOfInt[T integer](values []T, seen *table.Range) {
	least, most := values[0], values[0]
	for _, v := range values {
		least, most = min(least, v), max(most, v)
	}
	seen.Int(int64(least))
	seen.Int(int64(most))
}

func rangeOfUint64(values []uint64, seen *table.Range) (at int, huge bool) {
	for i, v := range values {
		if v > math.MaxInt64 {
			return i, true
		}
	}
	rangeOfInt(values, seen)
	return -1, false
}

func rangeOfReal[S any, D real](values []S, value func(S) D, fillAt func(at int) *float64, seen *table.Range) int {
	for i, s := range values {
		v := float64(value(s))
		if v != v {
			fill := fillAt(i)
			if fill == nil {
				return i
			}
			v = *fill
		}
		seen.Real(v)
	}
	return -1
}
