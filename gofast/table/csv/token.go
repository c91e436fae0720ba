package csv

import "bytes"

// The grammar is the one of pandas' read_csv: a quote counts only as the first
// byte of a cell, "" inside quotes is one quote, what follows the closing quote
// belongs to the cell, '\n', '\r' and "\r\n" end a record outside quotes, and
// lines of nothing but spaces and tabs are skipped.

// tokens cuts cells out of records. Cells with doubled quotes are put together in
// scratch, which lives until the next reset.
type tokens struct {
	delim   byte
	scratch []byte
}

// reset forgets the texts of the last record.
func (t *tokens) reset() { t.scratch = t.scratch[:0] }

// cell returns the text of the cell at pos, without quotes, and the position of
// the byte that ends it. b ends with a complete record.
func (t *tokens) cell(b []byte, pos int) (text []byte, end int) {
	if b[pos] == '"' {
		return t.quoted(b, pos+1)
	}
	end = pos + unquotedEnd(b[pos:], t.delim)
	return b[pos:end], end
}

// unquotedEnd is the length of the cell at the start of b.
func unquotedEnd(b []byte, delim byte) int {
	for i, c := range b {
		if c == delim || c == '\n' || c == '\r' {
			return i
		}
	}
	return len(b)
}

// quoted is cell for what follows an opening quote.
func (t *tokens) quoted(b []byte, pos int) (text []byte, end int) {
	close := pos + bytes.IndexByte(b[pos:], '"')
	end = close + 1
	if c := b[end]; c == t.delim || c == '\n' || c == '\r' {
		return b[pos:close], end
	}
	start := len(t.scratch)
	t.scratch = append(t.scratch, b[pos:close]...)
	for b[end] == '"' {
		pos = end // the second of two quotes stands for one
		close = pos + 1 + bytes.IndexByte(b[pos+1:], '"')
		t.scratch = append(t.scratch, b[pos:close]...)
		end = close + 1
	}
	rest := unquotedEnd(b[end:], t.delim)
	t.scratch = append(t.scratch, b[end:end+rest]...)
	return t.scratch[start:len(t.scratch):len(t.scratch)], end + rest
}

// lineEnd returns where the record after the terminator at end starts.
func lineEnd(b []byte, end int) int {
	if b[end] == '\r' && end+1 < len(b) && b[end+1] == '\n' {
		return end + 2
	}
	return end + 1
}

// blank reports whether the line at pos is one to skip, and where the next one
// starts.
func blank(b []byte, pos int, delim byte) (next int, ok bool) {
	for ; pos < len(b); pos++ {
		switch c := b[pos]; {
		case c == '\n' || c == '\r':
			return lineEnd(b, pos), true
		case c == delim || c != ' ' && c != '\t':
			return pos, false
		}
	}
	return pos, false
}

// split counts the complete records of b, blank lines left out, and returns where
// the incomplete rest starts. open says that the rest ends inside quotes.
func split(b []byte, delim byte) (records, rest int, open bool) {
	for rest < len(b) {
		if next, ok := blank(b, rest, delim); ok {
			rest = next
			continue
		}
		end, open := recordEnd(b, rest, delim)
		if end < 0 {
			return records, rest, open
		}
		records++
		rest = lineEnd(b, end)
	}
	return records, rest, false
}

// recordEnd returns the position of the byte that ends the record at pos, or -1
// if b ends first; open says whether that is inside quotes.
func recordEnd(b []byte, pos int, delim byte) (end int, open bool) {
	for {
		if pos < len(b) && b[pos] == '"' {
			for pos++; ; pos += 2 { // pos is inside the quotes
				n := bytes.IndexByte(b[pos:], '"')
				if n < 0 {
					return -1, true
				}
				pos += n
				if pos+1 >= len(b) || b[pos+1] != '"' {
					pos++
					break
				}
			}
		}
		pos += unquotedEnd(b[pos:], delim)
		if pos >= len(b) {
			return -1, false
		}
		if b[pos] != delim {
			return pos, false
		}
		pos++
	}
}
