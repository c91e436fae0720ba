package csv

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/gofast-org/gofast/gofast/table"
	"github.com/gofast-org/gofast/gofast/table/csv/csvrow"
)

// tries is how many rows of a chunk the kernel may refuse before its successes are
// weighed: a refused row is read twice.
const tries = 16

// fast is the kernels' view of a decode, and their luck with the current chunk.
type fast struct {
	layout  *csvrow.Layout  // rows of bytes; else
	numbers *csvrow.Numbers // rows of any numbers
	scratch []byte
	refused int
	taken   int
}

// layout says how a kernel would read the rows, nil if none can. A row that turns out different is refused by the kernel
// and read in general.
func (r *reader) layout(p *plan, dst table.Target) *fast {
	if r.general || len(p.wanted) == 0 || len(p.coded) > 0 {
		return nil
	}
	if l := r.bytes(p, dst); l != nil {
		return &fast{layout: l}
	}
	if n := r.numbers(p, dst); n != nil {
		return &fast{numbers: n}
	}
	return nil
}

// bytes is for cells of 0..255 in all columns but the first few, which can be skipped (an index, an id). The sample tells
// which those are.
func (r *reader) bytes(p *plan, dst table.Target) *csvrow.Layout {
	if dst.Features.Type != table.Uint8 {
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
	return l
}

// numbers is for columns of numbers, each of which goes to one place.
func (r *reader) numbers(p *plan, dst table.Target) *csvrow.Numbers {
	n := &csvrow.Numbers{Delim: r.delim, Point: cmp.Or(r.point, '.'), To: slices.Repeat([]int32{csvrow.Skip}, len(r.fields)), Real: make([]uint8, len(p.labels)),
		Width: len(p.features), Type: dst.Features.Type, Most: r.opts.Limits.Cell}
	send := func(column, to int32) bool {
		free := n.To[column] == csvrow.Skip && !r.fields[column].Bool && r.fields[column].first != boolCell
		n.To[column] = to
		return free
	}
	for _, f := range p.features {
		if !send(f.column, int32(f.to)) {
			return nil
		}
	}
	for i, f := range p.labels {
		if dst.Kinds[i] == table.TextLabel || !send(f.column, int32(-1-i)) {
			return nil
		}
		if dst.Kinds[i] == table.FloatLabel {
			n.Real[i] = 1
		}
	}
	if bytes.IndexByte(delimiters, r.delim) < 0 { // it may be part of a number
		return nil
	}
	return n
}

// fresh is one worker's copy.
func (f *fast) fresh() *fast {
	if f == nil {
		return nil
	}
	own := &fast{layout: f.layout, numbers: f.numbers}
	if f.layout != nil {
		own.scratch = make([]byte, f.layout.ScratchSize())
	}
	return own
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
	features := d.dst.Features.Data[row*int64(d.dst.Features.RowBytes()):]
	labels := d.dst.Labels[8*row*int64(len(d.labels)):]
	most := int(min(d.room-row, int64(end-pos)))
	if f.layout != nil {
		rows, next = csvrow.Parse(f.layout, buf, pos, end, most, f.scratch, features, labels)
	} else {
		rows, next = f.numbers.Parse(buf, pos, end, most, features, labels)
	}
	f.taken += rows
	if next < end {
		f.refused++
	}
	return rows, next
}
