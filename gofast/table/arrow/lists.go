package arrow

import (
	"bytes"

	"github.com/gofast-org/gofast/gofast/table"
	"github.com/gofast-org/gofast/gofast/table/parquet"
)

// lists makes the page of lists of numbers.
func (p *part) lists(f *field) (page parquet.Page, err error) {
	rows, err := p.begin()
	if err != nil {
		return page, err
	}
	var bounds []int64
	switch f.kind {
	case fixedList:
		bounds, err = p.evenBounds(rows.Count, f.length)
	case largeList:
		bounds, err = p.bounds(rows.Count, 8)
	default:
		bounds, err = p.bounds(rows.Count, 4)
	}
	if err != nil {
		return page, err
	}
	child := &f.children[0]
	inner, err := p.begin()
	if err != nil {
		return page, err
	}
	data, err := p.next()
	if err != nil {
		return page, err
	}
	have := 8 * len(data)
	if child.kind != boolean {
		have = len(data) / child.Size
	}
	if inner.Count > have || bounds[rows.Count] > int64(inner.Count) {
		return page, parquet.Damaged("lists of %d values, %d are declared, and there are %d", bounds[rows.Count], inner.Count, have)
	}
	if rows.Defs == nil && inner.Defs == nil && child.kind != boolean && !anyEmpty(bounds) {
		page, err = p.full(bounds)
		page.Values = data[int(bounds[0])*child.Size:][:page.Count*child.Size]
	} else if page, err = p.gaps(bounds, rows.Defs, inner.Defs); err == nil {
		used := page.Values // which of the child's values
		if child.kind == boolean {
			page.Values, err = p.packedBits(data, used)
		} else {
			page.Values, err = p.packed(data[:len(used)*child.Size], child.Size, used)
		}
	}
	if err == nil && child.kind == decimal && child.Size > 8 {
		page.Values, err = p.swap(page.Values, child.Size)
	}
	return page, err
}

// evenBounds are those of n lists of the same length.
func (p *part) evenBounds(n, length int) ([]int64, error) {
	if length < 0 || n > mostRows/max(length, 1) {
		return nil, parquet.Damaged("%d lists of %d values", n, length)
	}
	room, err := p.memory.Bytes(8 * (n + 1))
	if err != nil {
		return nil, err
	}
	bounds := table.View[int64](room)
	for i := range bounds {
		bounds[i] = int64(i) * int64(length)
	}
	return bounds, nil
}

func anyEmpty(bounds []int64) bool {
	for i, end := range bounds[1:] {
		if end == bounds[i] {
			return true
		}
	}
	return false
}

// full are lists that have values, all of them present.
func (p *part) full(bounds []int64) (page parquet.Page, err error) {
	first := bounds[0]
	page.Count = int(bounds[len(bounds)-1] - first)
	page.Present = page.Count
	if page.Reps, err = p.memory.Bytes(page.Count); err != nil {
		return page, err
	}
	for i := range page.Reps {
		page.Reps[i] = 1
	}
	for _, start := range bounds[:len(bounds)-1] {
		page.Reps[start-first] = 0
	}
	return page, nil
}

// gaps are lists of which some are null or empty, or have nulls. The page's Values say which of the child's are present.
func (p *part) gaps(bounds []int64, rows, inner []byte) (page parquet.Page, err error) {
	n, end := len(bounds)-1, int(bounds[len(bounds)-1])
	most := n + end - int(bounds[0])
	var room [3][]byte
	for i, size := range [...]int{most, most, end} {
		if room[i], err = p.memory.Bytes(size); err != nil {
			return page, err
		}
	}
	reps, defs, used := room[0][:0], room[1][:0], room[2]
	clear(used)
	for i := range n {
		from, to := int(bounds[i]), int(bounds[i+1])
		switch {
		case rows != nil && rows[i] == parquet.NullLevel:
			reps, defs = append(reps, 0), append(defs, parquet.NullList)
			continue
		case from == to:
			reps, defs = append(reps, 0), append(defs, parquet.EmptyList)
			continue
		}
		for k := from; k < to; k++ {
			reps, used[k] = append(reps, 1), parquet.PresentLevel
			if inner != nil {
				used[k] = inner[k]
			}
			defs = append(defs, parquet.NullInList+used[k])
		}
		reps[len(reps)-(to-from)] = 0
	}
	return parquet.Page{Count: len(reps), Present: bytes.Count(used, []byte{parquet.PresentLevel}), Reps: reps, Defs: defs, Values: used}, nil
}
