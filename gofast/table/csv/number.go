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
	realCell                // bits is a float64, never NaN
	boolCell                // bits is 0 or 1
	missingCell             // empty or one of pandas' NA words
	hugeCell                // an integer beyond int64
	textCell                // anything else
)

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
func classify(text []byte) (kind, uint64) {
	if missing(text) {
		return missingCell, 0
	}
	if k, bits := number(trim(text)); k != textCell {
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
		return integer(mantissa, negative, digits-zeros <= 19)
	}
	if text[i] == '.' {
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

func integer(magnitude uint64, negative, exact bool) (kind, uint64) {
	switch {
	case !exact || magnitude > 1<<63 || magnitude == 1<<63 && !negative:
		return hugeCell, 0
	case negative:
		return intCell, -magnitude
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
