package tfrecord

import (
	"encoding/binary"
	"unicode/utf8"

	"github.com/gofast-org/gofast/gofast/internal/errs"
)

// Kind is the type of a feature's values.
type Kind string

// The kinds: the tfrecord package's names.
const (
	Bytes  Kind = "byte"
	Floats Kind = "float"
	Ints   Kind = "int"
)

// cursor goes through a part of a record's data.
type cursor struct {
	data []byte // the record's, up to the part's end
	at   int
}

func (c *cursor) done() bool { return c.at == len(c.data) }

func (c *cursor) left() int { return len(c.data) - c.at }

// varint reads a number. One that more than 64 bits are needed for is none.
func (c *cursor) varint() (uint64, bool) {
	if c.at < len(c.data) && c.data[c.at] < 0x80 {
		c.at++
		return uint64(c.data[c.at-1]), true
	}
	v, n := binary.Uvarint(c.data[c.at:])
	c.at += max(n, 0)
	return v, n > 0
}

// tag reads the number and the type of a field. Only its shortest form is one: TensorFlow compares bytes.
func (c *cursor) tag() (uint64, bool) {
	from := c.at
	v, ok := c.varint()
	short := ok && (c.at == from+1 || c.data[c.at-1] != 0)
	return v, short && v>>3 > 0 && v < 1<<32
}

// part reads a length, and takes so many bytes.
func (c *cursor) part() (cursor, bool) {
	n, ok := c.varint()
	if !ok || n > uint64(c.left()) {
		return cursor{}, false
	}
	p := cursor{c.data[:c.at+int(n)], c.at}
	c.at += int(n)
	return p, true
}

// skip passes over the value of a field that is unknown.
func (c *cursor) skip(tag uint64) bool {
	ok, bytes := true, 0
	switch tag & 7 {
	case 0:
		_, ok = c.varint()
	case 1:
		bytes = 8
	case 2:
		_, ok = c.part()
	case 5:
		bytes = 4
	default: // a group
		return false
	}
	if bytes > c.left() {
		return false
	}
	c.at += bytes
	return ok
}

func broken(c cursor, what string) *errs.Error {
	return fail(errs.ErrDamaged, "no tf.train.Example: %s at byte %d of the record", what, c.at)
}

func disputed(c cursor, what string) *errs.Error {
	return fail(errs.ErrUnsupported, "%s at byte %d of the record, which TensorFlow and protobuf read differently", what, c.at)
}

const (
	first  = 1<<3 | 2 // tags: field 1, with a length
	second = 2<<3 | 2
	third  = 3<<3 | 2
)

// example calls feature for each of an Example's, with its name and the bytes of its Feature.
func example(data []byte, feature func(name []byte, value cursor) *errs.Error) *errs.Error {
	for c := (cursor{data, 0}); !c.done(); {
		tag, ok := c.tag()
		if ok && tag == first {
			var features cursor
			if features, ok = c.part(); ok {
				if err := entries(features, feature); err != nil {
					return err
				}
			}
		} else if ok {
			ok = c.skip(tag)
		}
		if !ok {
			return broken(c, "a broken field")
		}
	}
	return nil
}

// entries reads Features: a map.
func entries(c cursor, feature func(name []byte, value cursor) *errs.Error) *errs.Error {
	for !c.done() {
		tag, ok := c.tag()
		if !ok {
			return broken(c, "a broken field")
		}
		if tag != first {
			return disputed(c, "an unknown field of Features")
		}
		entry, ok := c.part()
		if !ok {
			return broken(c, "a broken field")
		}
		if err := pair(entry, feature); err != nil {
			return err
		}
	}
	return nil
}

// pair reads an entry of the map: the name and the Feature, in any order.
func pair(c cursor, feature func(name []byte, value cursor) *errs.Error) *errs.Error {
	var parts [2]cursor // data is nil until it is seen
	for range parts {
		tag, ok := c.tag()
		if !ok {
			return broken(c, "a feature without name or value, or a broken field")
		}
		if tag != first && tag != second || parts[tag>>3-1].data != nil {
			return disputed(c, "a feature that is not one name and one value")
		}
		if parts[tag>>3-1], ok = c.part(); !ok {
			return broken(c, "a broken field")
		}
	}
	if !c.done() {
		return disputed(c, "a feature that is not one name and one value")
	}
	name := parts[0].data[parts[0].at:]
	if !utf8.Valid(name) {
		return disputed(c, "a feature's name that is not UTF-8")
	}
	return feature(name, parts[1])
}

// list reads a Feature: the kind of its list, and the list's bytes. Without a list the kind is "".
func list(c cursor) (Kind, cursor, *errs.Error) {
	if c.done() {
		return "", cursor{}, nil
	}
	tag, ok := c.tag()
	if !ok {
		return "", cursor{}, broken(c, "a broken field")
	}
	var kind Kind
	switch tag {
	case first:
		kind = Bytes
	case second:
		kind = Floats
	case third:
		kind = Ints
	default:
		return "", cursor{}, disputed(c, "a feature that is no list of bytes, floats or ints")
	}
	values, ok := c.part()
	if !ok {
		return "", cursor{}, broken(c, "a broken field")
	}
	if !c.done() {
		return "", cursor{}, disputed(c, "a feature of several lists")
	}
	return kind, values, nil
}

// packed is the values of a list that are packed into one field, or false where each has a field of its own.
func packed(c cursor) (values cursor, is bool, err *errs.Error) {
	if c.done() || c.data[c.at] != first {
		return c, false, nil
	}
	c.at++
	values, ok := c.part()
	if !ok {
		return c, true, broken(c, "a broken field")
	}
	if !c.done() {
		return c, true, disputed(c, "a list in several pieces")
	}
	return values, true, nil
}
