package folder

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Name is a file name or a path, of any bytes. In JSON, a byte that is not UTF-8 is
// written as \udcXX. Python's json module reads and writes the strings of
// os.fsdecode in the same way.
type Name string

// MarshalJSON implements json.Marshaler.
func (n Name) MarshalJSON() ([]byte, error) {
	text := []byte{'"'}
	for rest := string(n); rest != ""; {
		valid := validPrefix(rest)
		quoted, err := json.Marshal(rest[:valid])
		if err != nil {
			return nil, err
		}
		text = append(text, quoted[1:len(quoted)-1]...)
		if rest = rest[valid:]; rest != "" {
			text = fmt.Appendf(text, `\udc%02x`, rest[0])
			rest = rest[1:]
		}
	}
	return append(text, '"'), nil
}

// validPrefix is the length of s up to its first byte that is not UTF-8.
func validPrefix(s string) int {
	for i, r := range s {
		if r == utf8.RuneError {
			if _, size := utf8.DecodeRuneInString(s[i:]); size == 1 {
				return i
			}
		}
	}
	return len(s)
}

// UnmarshalJSON implements json.Unmarshaler.
func (n *Name) UnmarshalJSON(text []byte) error {
	var whole string
	if err := json.Unmarshal(text, &whole); err != nil {
		return err
	}
	if !bytes.Contains(text, []byte(`\u`)) {
		*n = Name(whole)
		return nil
	}
	// Package json has checked the syntax, but its own decoding would lose lone surrogates.
	body := string(text[1 : len(text)-1])
	var out []byte
	for {
		plain, escape, found := strings.Cut(body, `\`)
		out = append(out, plain...)
		if !found {
			*n = Name(out)
			return nil
		}
		if escape[0] != 'u' {
			out = append(out, "\"\\/\b\f\n\r\t"[strings.IndexByte(`"\/bfnrt`, escape[0])])
			body = escape[1:]
			continue
		}
		unit := codeUnit(escape)
		body = escape[5:]
		if strings.HasPrefix(body, `\u`) {
			if pair := utf16.DecodeRune(unit, codeUnit(body[1:])); pair != utf8.RuneError {
				unit = pair
				body = body[6:]
			}
		}
		switch {
		case unit >= 0xdc80 && unit <= 0xdcff:
			out = append(out, byte(unit))
		case utf8.ValidRune(unit):
			out = utf8.AppendRune(out, unit)
		default:
			return fmt.Errorf("a name has a surrogate that stands for no byte: %s", text)
		}
	}
}

// codeUnit reads a u and four hexadecimal digits.
func codeUnit(escape string) rune {
	unit, err := strconv.ParseUint(escape[1:5], 16, 16)
	if err != nil {
		panic(err) // the syntax was checked
	}
	return rune(unit)
}

// key is a string that sorts by bytes as Python sorts the name by characters. UTF-8
// keeps the order of code points, also for surrogates, which stand for bytes that
// are not UTF-8.
func key(name string) string {
	if utf8.ValidString(name) {
		return name
	}
	var b strings.Builder
	for name != "" {
		valid := validPrefix(name)
		b.WriteString(name[:valid])
		if name = name[valid:]; name != "" {
			escape := 0xdc00 + int(name[0])
			b.Write([]byte{0xe0 | byte(escape>>12), 0x80 | byte(escape>>6&0x3f), 0x80 | byte(escape&0x3f)})
			name = name[1:]
		}
	}
	return b.String()
}

// sortNames sorts in Python's order.
func sortNames(names []string) {
	for _, name := range names {
		if !utf8.ValidString(name) {
			slices.SortFunc(names, func(a, b string) int { return strings.Compare(key(a), key(b)) })
			return
		}
	}
	slices.Sort(names)
}

// ends reports whether the lower-case name ends with one of the extensions, which
// are ASCII. Besides A to Z, only the Kelvin sign has a lower-case form in ASCII.
func ends(name []byte, extensions []string) bool {
	return slices.ContainsFunc(extensions, func(extension string) bool { return endsWith(name, extension) })
}

func endsWith(name []byte, extension string) bool {
	at := len(name)
	for i := len(extension) - 1; i >= 0; i-- {
		if at == 0 {
			return false
		}
		at--
		c := name[at]
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c == kelvin[2] && at >= 2 && string(name[at-2:at+1]) == kelvin {
			c = 'k'
			at -= 2
		}
		if c != extension[i] {
			return false
		}
	}
	return true
}

const kelvin = "\u212a"
