package csv

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/gofast-org/gofast/gofast/source"
	"github.com/gofast-org/gofast/gofast/table"
)

// marks are places where records begin: of the first one of each chunk.
type marks struct {
	mu   sync.Mutex
	list []mark
}

type mark struct{ offset, row int64 }

func (m *marks) add(offset, row int64) {
	m.mu.Lock()
	m.list = append(m.list, mark{offset, row})
	m.mu.Unlock()
}

// Parts implements table.Parter. Only a run over all of the file tells which newlines lie in quotes. What is packed
// cannot be entered in the middle.
func (r *reader) Parts(ctx context.Context, rows int64) ([]table.Part, error) {
	if r.compression != source.Plain {
		err := r.Count(ctx)
		return table.Whole(r.rows), err
	}
	counted := *r
	counted.marks, counted.exact = &marks{}, false
	if err := counted.Count(ctx); err != nil {
		return nil, err
	}
	found := append(counted.marks.list, mark{r.file.Size(), counted.rows})
	slices.SortFunc(found, func(a, b mark) int { return cmp.Compare(a.offset, b.offset) })
	var parts []table.Part
	from := mark{r.start, 0}
	for i, m := range found {
		if last := i == len(found)-1; last && m.row > from.row || !last && m.row-from.row >= rows {
			parts = append(parts, table.Part{From: from.offset, To: m.offset, Rows: m.row - from.row})
			from = m
		}
	}
	return parts, nil
}

// Part implements table.Parter.
func (r *reader) Part(p table.Part) table.Reader {
	part := *r
	if !p.IsWhole() {
		part.start, part.end = p.From, p.To
	}
	part.rows, part.exact = p.Rows, true
	return &part
}

// until reads the records that end before an offset of a plain file.
func (r *reader) until(from, to int64) *reader {
	part := *r
	part.start, part.end = from, to
	part.rows, part.exact = part.bound(), false
	return &part
}
