package csv

import (
	"math"
	"slices"
)

// parser turns one record at a time into values: only the wanted columns are read
// as numbers, the others are stepped over.
type parser struct {
	tokens
	r        *reader
	plan     *plan
	wanted   []int32 // columns, ascending, each once
	verbatim []bool  // per wanted column: its text is needed, or its cells are True and False; set before the first record
	truth    []bool  // per wanted column: its cells are True and False

	// The values of the last record, one per wanted column.
	bits  []uint64
	kinds []kind
	texts [][]byte // set where kinds is not intCell or verbatim is true
	ints  bool     // every wanted cell is an intCell

	real []bool // per wanted column: some cell was a realCell
}

// none ends the list of wanted columns.
const none = math.MaxInt32

// parser makes a parser that keeps the texts of coded columns.
func (pl *plan) parser(r *reader) *parser {
	n := len(pl.wanted)
	p := &parser{tokens: tokens{delim: r.delim}, r: r, plan: pl, wanted: append(slices.Clone(pl.wanted), none),
		verbatim: make([]bool, n), truth: make([]bool, n), bits: make([]uint64, n), kinds: make([]kind, n), texts: make([][]byte, n), real: make([]bool, n)}
	for k, column := range pl.wanted {
		p.truth[k] = r.fields[column].Bool
		p.verbatim[k] = p.truth[k]
	}
	for _, c := range pl.coded {
		p.verbatim[c.k] = true
	}
	return p
}

// record reads the record at pos of b, which ends with a complete record, and
// returns its number of cells and where the next one starts.
func (p *parser) record(b []byte, pos int) (cells, next int) {
	p.reset()
	k, want, delim := 0, p.wanted[0], p.delim
	p.ints = true
	for column := int32(0); ; column++ {
		end := pos
		if column != want {
			if b[pos] == '"' {
				_, end = p.cell(b, pos)
			} else {
				end = pos + unquotedEnd(b[pos:], delim)
			}
		} else {
			// Up to 18 digits cannot overflow; what follows them must end the cell.
			i, value := pos, uint64(0)
			negative := b[i] == '-'
			if negative {
				i++
			}
			first := i
			for b[i]-'0' <= 9 {
				value = value*10 + uint64(b[i]-'0')
				i++
			}
			c := b[i]
			if n := i - first; n > 0 && n <= 18 && (c == delim || c == '\n' || c == '\r') && (value != 0 || !negative) && !p.verbatim[k] {
				if negative {
					value = -value
				}
				p.bits[k], p.kinds[k], end = value, intCell, i
			} else {
				end = p.value(k, b, pos)
			}
			k++
			want = p.wanted[k]
		}
		pos = end + 1
		if b[end] != delim {
			return int(column) + 1, lineEnd(b, end)
		}
	}
}

// value reads any cell.
func (p *parser) value(k int, b []byte, pos int) (end int) {
	text, end := p.cell(b, pos)
	kind, bits := p.r.classify(text)
	// A column is a column of booleans or it is not, as in pandas.
	if kind != missingCell && (kind == boolCell) != p.truth[k] {
		kind = textCell
	}
	if kind == boolCell {
		kind = intCell
	}
	p.texts[k], p.kinds[k], p.bits[k] = text, kind, bits
	p.real[k] = p.real[k] || kind == realCell
	p.ints = p.ints && kind == intCell
	return end
}
