package csv

import (
	"bytes"
	"unicode/utf8"
)

// utf8 is a cell's text of a file in another encoding. The bytes below 128 are those of ASCII in all of them, so the file
// is cut into cells, and its numbers are read, as it stands. What is no character stays, and is not UTF-8 then.
func (r *reader) utf8(text []byte) []byte {
	if r.opts.Encoding == nil || bytes.IndexFunc(text, func(c rune) bool { return c >= utf8.RuneSelf }) < 0 {
		return text
	}
	made := make([]byte, 0, 2*len(text))
	for _, c := range text {
		switch {
		case c < utf8.RuneSelf:
			made = append(made, c)
		case r.opts.Encoding[c-utf8.RuneSelf] < 0:
			return text
		default:
			made = utf8.AppendRune(made, r.opts.Encoding[c-utf8.RuneSelf])
		}
	}
	return made
}

// notText says what is wrong with a text that is not UTF-8.
func (r *reader) notText() string {
	if r.opts.Encoding != nil {
		return "has a byte that is no character of encoding="
	}
	return `is not UTF-8: say encoding="latin-1", or which it is`
}
