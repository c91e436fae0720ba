package csv

import (
	"bytes"
	"math"
	"strconv"
	"unsafe"
)

// kind is what a cell holds.
type kind uint8

const (
	intCell     kind = iota // bits is an int64
	minusZero               // "-0": bits is 0; in a column of floats it is -0.0
	realCell                // bits is a float64, never NaN; also an integer beyond uint64
	boolCell                // bits is 0 or 1
	missingCell             // empty or one of pandas' NA words
	hugeCell                // an integer above int64: bits is a uint64
	textCell                // anything else
)

// notation is how a file writes numbers; the zero value: with decimal points, and nothing between thousands.
type notation struct {
	point     byte // the decimal comma; 0: a point
	thousands byte // 0: none
}

// plain is a number in Go's notation, made in buf. As in pandas, what stands between thousands counts only behind a digit
// of the integer part, and not where: 1,2,3 is 123. A text that is no number of this notation becomes none of Go's.
func (n notation) plain(buf, text []byte) []byte {
	whole, pairs := true, false
	for i, c := range text {
		switch {
		case c == n.thousands && c != 0:
			pair := i > 0 && text[i-1] == c
			if !whole || i == 0 || text[i-1]-'0' > 9 && !pair {
				return nil
			}
			pairs = pairs || pair
			continue
		case c == n.point && c != 0:
			c = '.'
		case c == '.' && n.point != 0:
			return nil
		}
		if c == '.' || c|0x20 == 'e' {
			if whole = false; pairs { // which only integers have
				return nil
			}
		}
		buf = append(buf, c)
	}
	return buf
}

// missing reports whether text is one of the words that pandas' read_csv takes
// for a missing value by default. The match is exact: " NA" is a text.
func missing(text []byte) bool {
	switch string(text) {
	case "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN",
		"<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null":
		return true
	}
	return false
}

// classify reads a cell as pandas would: missing words first, then numbers with
// blanks around them, the words of infinity and of truth, else text.
func (n notation) classify(text []byte) (kind, uint64) {
	if missing(text) {
		return missingCell, 0
	}
	written := trim(text)
	if n != (notation{}) {
		var buf [64]byte
		written = n.plain(buf[:0], written)
	}
	if k, bits := number(written); k != textCell {
		return k, bits
	}
	switch string(text) {
	case "True", "TRUE", "true":
		return boolCell, 1
	case "False", "FALSE", "false":
		return boolCell, 0
	}
	if sign, ok := infinity(text); ok {
		return realCell, math.Float64bits(math.Inf(sign))
	}
	return textCell, 0
}

// trim drops the blanks of C's isspace from both ends.
func trim(text []byte) []byte {
	blank := func(c byte) bool { return c == ' ' || c-'\t' <= '\r'-'\t' }
	for len(text) > 0 && blank(text[0]) {
		text = text[1:]
	}
	for len(text) > 0 && blank(text[len(text)-1]) {
		text = text[:len(text)-1]
	}
	return text
}

// unsigned drops a sign.
func unsigned(text []byte) (rest []byte, negative bool) {
	if len(text) > 0 && (text[0] == '-' || text[0] == '+') {
		return text[1:], text[0] == '-'
	}
	return text, false
}

func infinity(text []byte) (sign int, ok bool) {
	text, negative := unsigned(text)
	if sign = 1; negative {
		sign = -1
	}
	return sign, bytes.EqualFold(text, []byte("inf")) || bytes.EqualFold(text, []byte("infinity"))
}

// powers are the powers of ten that a float64 holds exactly.
var powers = [...]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
	1e17, 1e18, 1e19, 1e20, 1e21, 1e22}

// maxExponent stops counting: any larger exponent is as good as infinite.
const maxExponent = 1 << 20

// number reads sign, digits, fraction and exponent. Floats are correctly rounded:
// up to 2^53 and 10^22 one multiplication of exact numbers is, strconv does the rest.
func number(text []byte) (kind, uint64) {
	i, negative := 0, false
	if len(text) > 0 && (text[0] == '-' || text[0] == '+') {
		negative, i = text[0] == '-', 1
	}
	start := i
	for i < len(text) && text[i] == '0' {
		i++
	}
	zeros := i - start
	var mantissa uint64 // wraps beyond 19 digits, and is not used then
	for ; i < len(text) && text[i]-'0' <= 9; i++ {
		mantissa = mantissa*10 + uint64(text[i]-'0')
	}
	digits, exponent := i-start, 0
	if i == len(text) {
		if digits == 0 {
			return textCell, 0
		}
		if k, bits := integer(text[i-digits:], negative, mantissa, digits-zeros); k != realCell {
			return k, bits
		}
	}
	if i < len(text) && text[i] == '.' {
		i++
		start = i
		for ; i < len(text) && text[i]-'0' <= 9; i++ {
			mantissa = mantissa*10 + uint64(text[i]-'0')
		}
		exponent = start - i
		digits -= exponent
	}
	if digits == 0 {
		return textCell, 0
	}
	if i < len(text) && (text[i] == 'e' || text[i] == 'E') {
		e, ok := decimalExponent(text[i+1:])
		if !ok {
			return textCell, 0
		}
		exponent += e
		i = len(text)
	}
	if i != len(text) {
		return textCell, 0
	}
	if digits-zeros <= 19 && mantissa <= 1<<53 && exponent >= -22 && exponent <= 22 {
		v := float64(mantissa)
		if exponent < 0 {
			v /= powers[-exponent]
		} else {
			v *= powers[exponent]
		}
		if negative {
			v = -v
		}
		return realCell, math.Float64bits(v)
	}
	// Out of range is not an error: it is the infinity or zero that pandas gives.
	v, _ := strconv.ParseFloat(unsafe.String(unsafe.SliceData(text), len(text)), 64)
	return realCell, math.Float64bits(v)
}

// integer is an integer of these digits, of which so many count; realCell: it fits neither an int64 nor a uint64.
func integer(text []byte, negative bool, magnitude uint64, digits int) (kind, uint64) {
	if digits > 19 { // magnitude may have wrapped
		var err error
		if magnitude, err = strconv.ParseUint(string(text), 10, 64); err != nil {
			return realCell, 0
		}
	}
	switch {
	case negative && magnitude > 1<<63:
		return realCell, 0
	case negative && magnitude == 0:
		return minusZero, 0
	case negative:
		return intCell, -magnitude
	case magnitude > math.MaxInt64:
		return hugeCell, magnitude
	default:
		return intCell, magnitude
	}
}

// decimalExponent reads an optional sign and at least one digit.
func decimalExponent(text []byte) (e int, ok bool) {
	text, negative := unsigned(text)
	for _, c := range text {
		if c-'0' > 9 {
			return 0, false
		}
		e = min(e*10+int(c-'0'), maxExponent)
	}
	if negative {
		e = -e
	}
	return e, len(text) > 0
}
