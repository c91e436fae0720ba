package csv

import "bytes"

// cause says why a cell that looks like a number is none, and what to do; "" for
// any other text. pandas takes most of these for text, too.
func cause(text []byte) string {
	text = trim(text)
	digit := func(i int) bool { return i >= 0 && i < len(text) && text[i]-'0' <= 9 }
	if len(text) == 0 || bytes.IndexFunc(text, func(c rune) bool { return c >= '0' && c <= '9' }) < 0 {
		return ""
	}
	comma, colon := bytes.IndexByte(text, ','), bytes.IndexByte(text, ':')
	rest := bytes.TrimLeft(text, "+-0123456789.,")
	switch {
	case comma > 0 && digit(comma-1) && digit(comma+1) && len(rest) == 0:
		return `; a comma in a number: say decimal="," or thousands="," if it is meant so`
	case digit(0) && digit(3) && len(text) >= 10 && (text[4] == '-' || text[4] == '/') && digit(5):
		return "; a date: dates= makes numbers of a column of dates, written as 2024-01-31"
	case colon > 0 && digit(colon-1) && digit(colon+1):
		return "; a time: turn it into a number, for example with pandas.to_timedelta"
	case digit(0) && len(text) > 2 && (text[1] == 'x' || text[1] == 'X'):
		return "; a hexadecimal number: write it in decimal"
	case bytes.IndexByte(text, '_') > 0 && len(bytes.Trim(rest, "_0123456789.")) == 0:
		return "; an underscore in a number: leave it out"
	case text[0] == '\'' && text[len(text)-1] == '\'':
		return `; single quotes: convert the file with pandas.read_csv(path, quotechar="'")`
	case text[0] == '"':
		return "; a blank before the quotes: pandas.read_csv(path, skipinitialspace=True) reads it"
	case len(rest) == 1 && rest[0] == '%' && digit(0):
		return "; a percentage: write the number alone"
	}
	return ""
}
