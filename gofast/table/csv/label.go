package csv

import (
	"encoding/binary"
	"math"
	"unicode/utf8"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/table"
)

// label stores label i of the parser's record.
func (d *decoder) label(row int64, i int) error {
	l := d.labels[i]
	var bits uint64
	var err error
	switch d.dst.Kinds[i] {
	case table.TextLabel:
		bits, err = d.word(row, i)
	case table.FloatLabel:
		bits, err = d.realLabel(row, l)
	default:
		bits, err = d.intLabel(row, l)
	}
	binary.NativeEndian.PutUint64(d.dst.Labels[8*(row*int64(len(d.labels))+int64(i)):], bits)
	return err
}

func (d *decoder) intLabel(row int64, l place) (uint64, error) {
	switch kind, bits := d.parser.kinds[l.k], d.parser.bits[l.k]; kind {
	case intCell, minusZero:
		return bits, nil
	case realCell:
		if v := math.Float64frombits(bits); v == math.Trunc(v) && math.Abs(v) < 1<<63 {
			return uint64(int64(v)), nil
		}
		return 0, d.parser.bad(errs.ErrValue, "the label is no integer: correct it, or say label_type=\"float\"", l, row)
	default:
		return 0, d.noNumber(row, l)
	}
}

func (d *decoder) realLabel(row int64, l place) (uint64, error) {
	switch kind, bits := d.parser.kinds[l.k], d.parser.bits[l.k]; kind {
	case intCell, hugeCell:
		return math.Float64bits(nearest[float64](kind, bits, true)), nil
	case minusZero:
		floats, err := d.r.ofFloats(l.column)
		return math.Float64bits(nearest[float64](kind, bits, floats)), err
	case realCell:
		return bits, nil
	default:
		return 0, d.noNumber(row, l)
	}
}

// noNumber says what a cell is that holds no number in a column of them.
func (d *decoder) noNumber(row int64, l place) error {
	switch {
	case d.parser.kinds[l.k] == missingCell:
		return d.parser.bad(errs.ErrMissing, table.MissingLabel, l, row)
	case d.parser.kinds[l.k] == hugeCell:
		return d.parser.bad(errs.ErrValue, huge, l, row)
	case d.parser.truth[l.k]:
		return d.parser.bad(errs.ErrValue, "the label is neither True nor False, as in the first row: correct it, or say label_type=\"text\"", l, row)
	default:
		return d.parser.bad(errs.ErrValue, "the label is text, and the first row has a number: correct it, or say label_type=\"text\" or give classes=", l, row)
	}
}

// word is the number of a text label. A word that stands for a missing value is
// none where it is one of the classes that were given.
func (d *decoder) word(row int64, i int) (uint64, error) {
	l, dict := d.labels[i], d.dst.Dict[i]
	kind, text := d.parser.kinds[l.k], d.r.utf8(d.parser.texts[l.k])
	switch {
	case !utf8.Valid(text):
		return 0, d.parser.bad(errs.ErrValue, "the "+dict.Noun()+" "+d.r.notText(), l, row)
	case kind != textCell && kind != missingCell && !d.plan.anyText && !dict.Verbatim():
		return 0, d.parser.bad(errs.ErrValue, "the label is a number, and the first row has text: correct it, or say label_type=\"text\" or give classes=", l, row)
	case kind == missingCell && dict.Find(text) == table.Unknown:
		id, why := dict.Missing()
		if id == table.Unknown {
			return 0, d.parser.bad(errs.ErrMissing, why, l, row)
		}
		return uint64(id), nil
	}
	id := d.words[i].ID(text)
	if id == table.Unknown {
		why, unknown := dict.Refuse()
		return 0, d.parser.bad(unknown, why, l, row)
	}
	return uint64(id), nil
}
