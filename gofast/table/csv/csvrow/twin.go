package csvrow

import (
	"encoding/binary"
	"math"
)

// scanTwin is the reference of csvrow_scan.
func scanTwin(data []byte, delim byte) (c Counts) {
	prev := byte(0)
	for _, b := range data {
		if b == '\n' && prev != '\n' {
			c.Lines++
		}
		blank := (b == ' ' || b == '\t') && b != delim
		c.Quotes = c.Quotes || b == '"'
		c.Odd = c.Odd || prev == '\r' && b != '\n' || prev == '\n' && (blank || b == '\r')
		prev = b
	}
	c.Odd = c.Odd || prev == '\r'
	return c
}

// parseTwin is the reference of csvrow_parse.
func parseTwin(l *Layout, buf []byte, from, to, most int, scratch, features, labels []byte) (rows, next int) {
	for next = from; rows < most && next < to; rows++ {
		start := skipLead(buf[:to], next, l.Lead, l.Delim)
		if start < 0 {
			break
		}
		end := rowTwin(buf[:to], start, l.Delim, scratch[:l.Columns])
		if end < 0 {
			break
		}
		row := features[rows*l.Width : (rows+1)*l.Width]
		for _, r := range l.Runs {
			copy(row[r.To:r.To+r.Count], scratch[r.From:r.From+r.Count])
		}
		for i, label := range l.Labels {
			v := uint64(scratch[label.Column])
			if label.Real != 0 {
				v = math.Float64bits(float64(v))
			}
			binary.NativeEndian.PutUint64(labels[8*(rows*len(l.Labels)+i):], v)
		}
		next = end
	}
	return rows, next
}

// skipLead returns where the cell after the leading ones starts, -1 if none does
// or they take more than MaxLead bytes.
func skipLead(data []byte, pos, lead int, delim byte) int {
	row := pos
	for ; lead > 0; lead-- {
		for start := pos; pos < len(data) && data[pos] != delim; pos++ {
			if c := data[pos]; c == '\n' || c == '\r' || c == '"' && pos == start {
				return -1
			}
		}
		pos++
	}
	if pos >= len(data) || pos-row > MaxLead {
		return -1
	}
	return pos
}

// rowTwin fills out with the cells of the row at pos and returns where the next
// row starts, -1 if this one is not taken.
func rowTwin(data []byte, pos int, delim byte, out []byte) int {
	for n := 0; ; pos++ {
		value, start := 0, pos
		for pos < len(data) && data[pos]-'0' <= 9 {
			value = value*10 + int(data[pos]-'0')
			pos++
			if pos-start > 3 {
				return -1
			}
		}
		if pos == start || pos == len(data) || value > 255 || n == len(out) {
			return -1
		}
		out[n] = byte(value)
		n++
		switch {
		case data[pos] == delim:
		case n < len(out):
			return -1
		case data[pos] == '\n':
			return pos + 1
		case data[pos] == '\r' && pos+1 < len(data) && data[pos+1] == '\n':
			return pos + 2
		default:
			return -1
		}
	}
}
