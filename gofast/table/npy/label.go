package npy

import (
	"bytes"
	"encoding/binary"
	"unicode/utf8"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/table"
)

// column is one position of every row of a block, contiguous.
func (p *plan) column(position int, block []byte, s *scratch) []byte {
	if p.width == 1 {
		return block
	}
	size := p.elem.size
	values := grow(&s.gather, int64(len(block)/p.width))
	gather(values, block[position*size:], size, int(p.rowBytes()))
	return values
}

// label writes one label column of a block.
func (d *decoding) label(p *plan, l labelAt, row int64, block []byte, s *scratch) error {
	values := p.column(l.src, block, s)
	n := int64(len(values) / p.elem.size)
	count := int64(len(d.dst.Kinds))
	rows := d.dst.Labels[row*count*8 : (row+n)*count*8]
	into := rows
	if count > 1 {
		into = grow(&s.wide, n*8)
	}
	if err := d.convertLabel(p, l, row, values, into); err != nil {
		return err
	}
	if count > 1 {
		scatter(rows[l.dst*8:], into, 8, int(count)*8)
	}
	return nil
}

func (d *decoding) convertLabel(p *plan, l labelAt, row int64, values, into []byte) error {
	kind := d.dst.Kinds[l.dst]
	if kind == table.TextLabel {
		if !p.elem.text() {
			return p.fail(errs.ErrSchema, "the label is a number here and text in another file").InColumn(p.columnAt(l.src))
		}
		return d.text(p, l, row, values, table.View[int64](into))
	}
	v := stretch{p, run{src: l.src, n: 1}, row, values}
	numbers := p.elem.numbers()
	if numbers == nil || numbers.To(kind.Type()) == nil { // text, or floats where integers were expected
		return table.ErrNarrow
	}
	convert := numbers.To(kind.Type())
	if kind == table.FloatLabel {
		convert = numbers.Near(table.Float64)
	}
	if !convert(into, values) {
		return v.unfit(false)
	}
	if p.elem.float() {
		if at := firstNaN(into, table.Float64); at >= 0 {
			return p.fail(errs.ErrMissing, "the label is NaN: drop the row").AtRow(row+int64(at), p.columnAt(l.src))
		}
	}
	return nil
}

// text numbers the words of a text label.
func (d *decoding) text(p *plan, l labelAt, row int64, values []byte, into []int64) error {
	words, _ := p.words.Get().(map[int]*table.Cache)
	if words == nil {
		words = map[int]*table.Cache{}
	}
	if words[l.dst] == nil {
		words[l.dst] = d.dst.Dict[l.dst].Cache()
	}
	var word []byte
	for i := range into {
		var err error
		if word, err = p.word(word[:0], values[i*p.elem.size:(i+1)*p.elem.size]); err != nil {
			return err.(*errs.Error).AtRow(row+int64(i), p.columnAt(l.src))
		}
		if into[i] = words[l.dst].ID(word); into[i] == table.Unknown {
			why, unknown := d.dst.Dict[l.dst].Refuse()
			return p.fail(unknown, "%s", why).AtRow(row+int64(i), p.columnAt(l.src)).WithCell(string(word))
		}
	}
	p.words.Put(words)
	return nil
}

// word appends the UTF-8 of one cell to out. As in numpy, NULs at the end are padding.
func (a *array) word(out, cell []byte) ([]byte, error) {
	if a.elem.kind == 'S' {
		out = append(out, bytes.TrimRight(cell, "\x00")...)
		if !utf8.Valid(out) {
			return nil, a.fail(errs.ErrValue, "the bytes are not UTF-8 text").WithCell(string(out))
		}
		return out, nil
	}
	order := binary.ByteOrder(binary.LittleEndian)
	if a.elem.swap == littleMachine {
		order = binary.BigEndian
	}
	for len(cell) > 0 && order.Uint32(cell[len(cell)-4:]) == 0 {
		cell = cell[:len(cell)-4]
	}
	for ; len(cell) > 0; cell = cell[4:] {
		r := order.Uint32(cell)
		if r > utf8.MaxRune || !utf8.ValidRune(rune(r)) {
			return nil, a.fail(errs.ErrDamaged, "%#x is not a Unicode character", r)
		}
		out = utf8.AppendRune(out, rune(r))
	}
	return out, nil
}
