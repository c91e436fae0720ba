package csv

import (
	"github.com/gofast-org/gofast/gofast/table"
	"github.com/gofast-org/gofast/gofast/table/csv/csvrow"
)

// tries is how many rows of a chunk the kernel may refuse before its successes are
// weighed: a refused row is read twice.
const tries = 16

// fast is the kernel's view of a decode, and its luck with the current chunk.
type fast struct {
	layout  *csvrow.Layout
	scratch []byte
	refused int
	taken   int
}

// layout says how the kernel would read the rows, nil if it cannot: it stores
// bytes, and reads cells of 0..255 in all columns but the first few, which it can
// skip (an index, an id). The sample tells which those are; a row that turns out
// different is refused by the kernel and read in general.
func (r *reader) layout(p *plan, dst table.Target) *fast {
	if r.general || dst.Features.Type != table.Uint8 || len(p.wanted) == 0 || len(p.coded) > 0 {
		return nil
	}
	lead := 0
	for i, f := range r.fields {
		if !f.small {
			lead = i + 1
		}
	}
	columns := len(r.fields) - lead
	if lead > int(p.wanted[0]) || r.opts.Limits.Cell < int64(csvrow.MaxLead+4*columns+2) {
		return nil
	}
	l := &csvrow.Layout{Delim: r.delim, Lead: lead, Columns: columns, Width: len(p.features)}
	for _, f := range p.features {
		from := f.column - int32(lead)
		if n := len(l.Runs); n > 0 && l.Runs[n-1].From+l.Runs[n-1].Count == from {
			l.Runs[n-1].Count++
			continue
		}
		l.Runs = append(l.Runs, csvrow.Run{From: from, To: int32(f.to), Count: 1})
	}
	for i, f := range p.labels {
		if dst.Kinds[i] == table.TextLabel {
			return nil
		}
		label := csvrow.Label{Column: f.column - int32(lead)}
		if dst.Kinds[i] == table.FloatLabel {
			label.Real = 1
		}
		l.Labels = append(l.Labels, label)
	}
	return &fast{layout: l}
}

// fresh is one worker's copy.
func (f *fast) fresh() *fast {
	if f == nil {
		return nil
	}
	return &fast{layout: f.layout, scratch: make([]byte, f.layout.ScratchSize())}
}

// begin starts a chunk with new hope.
func (f *fast) begin() {
	if f != nil {
		f.refused, f.taken = 0, 0
	}
}

// worthwhile says whether to try the kernel on the next row.
func (f *fast) worthwhile() bool {
	return f != nil && (f.refused < tries || f.refused < f.taken/8)
}

// parse stores as many rows as the kernel takes, from the one at pos on.
func (f *fast) parse(d *decoder, buf []byte, pos, end int, row int64) (rows, next int) {
	features := d.dst.Features.Data[row*int64(d.dst.Features.Width):]
	labels := d.dst.Labels[8*row*int64(len(d.labels)):]
	rows, next = csvrow.Parse(f.layout, buf, pos, end, int(min(d.room-row, int64(end-pos))), f.scratch, features, labels)
	f.taken += rows
	if next < end {
		f.refused++
	}
	return rows, next
}
