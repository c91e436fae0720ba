package npy

import (
	"context"
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
		if err := p.stretches(row, block, p.inOrder(), func(v stretch) error { return v.note(sel, &seen) }); err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		features.Merge(seen)
		return nil
	})
	return features, err
}

// note adds the values to what was seen.
func (v stretch) note(sel table.Selection, seen *table.Range) error {
	numbers := v.elem.numbers()
	for from := 0; ; from++ {
		at := numbers.Note(v.values[from*v.elem.size:], seen)
		if at < 0 {
			return nil
		}
		if from += at; !v.elem.float() {
			if sel.Rounds {
				seen.Beyond = true // nothing else matters then
				return nil
			}
			return v.unfit(false)
		}
		fill := sel.FillAt(v.dst + from%v.n)
		if fill == nil {
			return v.missing(from)
		}
		seen.Real(*fill)
	}
}
