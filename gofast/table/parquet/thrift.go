package parquet

import (
	"encoding/binary"
	"errors"
)

// Thrift's compact protocol, as much as Parquet needs: fields are visited in
// order, unknown ones skipped, nothing is allocated.

// The compact protocol's types.
const (
	thriftTrue   = 1
	thriftFalse  = 2
	thriftByte   = 3
	thriftI16    = 4
	thriftI32    = 5
	thriftI64    = 6
	thriftDouble = 7
	thriftBinary = 8
	thriftList   = 9
	thriftSet    = 10
	thriftMap    = 11
	thriftStruct = 12
)

// maxThriftDepth bounds nesting; Parquet's own structures need 7.
const maxThriftDepth = 24

var (
	errThriftShort   = errors.New("the metadata ends too early")
	errThriftInvalid = errors.New("the metadata is not valid thrift")
)

// thrift reads b. The first error sticks, every later read returns zero, and
// every loop over fields or list items ends.
type thrift struct {
	b   []byte
	at  int
	err error
}

func (t *thrift) fail(err error) {
	if t.err == nil {
		t.err = err
	}
	t.at = len(t.b)
}

func (t *thrift) byte() byte {
	if t.at >= len(t.b) {
		t.fail(errThriftShort)
		return 0
	}
	t.at++
	return t.b[t.at-1]
}

func (t *thrift) uvarint() uint64 {
	if t.at < len(t.b) && t.b[t.at] < 0x80 {
		t.at++
		return uint64(t.b[t.at-1])
	}
	v, n := binary.Uvarint(t.b[t.at:])
	switch {
	case n > 0:
		t.at += n
		return v
	case n == 0:
		t.fail(errThriftShort)
	default:
		t.fail(errThriftInvalid)
	}
	return 0
}

func (t *thrift) int() int64 {
	v := t.uvarint()
	return int64(v>>1) ^ -int64(v&1)
}

// binary is a view of b, not a copy.
func (t *thrift) binary() []byte {
	n := t.uvarint()
	if n > uint64(len(t.b)-t.at) {
		t.fail(errThriftShort)
		return nil
	}
	t.at += int(n)
	return t.b[t.at-int(n) : t.at]
}

// list returns the type and number of a list's items. Every item takes at least
// a byte, so the number is bounded by what is left.
func (t *thrift) list() (kind byte, n int) {
	head := t.byte()
	size := uint64(head >> 4)
	if size == 15 {
		size = t.uvarint()
	}
	if size > uint64(len(t.b)-t.at) {
		t.fail(errThriftShort)
		return 0, 0
	}
	return head & 15, int(size)
}

// fields calls visit for every field of a struct; visit must consume the value
// or call skip. Booleans have no value beside their type.
func (t *thrift) fields(visit func(id int16, kind byte)) {
	id := int16(0)
	for t.err == nil {
		head := t.byte()
		if head == 0 {
			return
		}
		if delta := head >> 4; delta != 0 {
			id += int16(delta)
		} else {
			id = int16(t.int())
		}
		visit(id, head&15)
	}
}

// skip passes over one value of a kind.
func (t *thrift) skip(kind byte) { t.skipNested(kind, maxThriftDepth) }

func (t *thrift) skipNested(kind byte, depth int) {
	if depth == 0 {
		t.fail(errThriftInvalid)
		return
	}
	switch kind {
	case thriftTrue, thriftFalse:
	case thriftByte:
		t.byte()
	case thriftI16, thriftI32, thriftI64:
		t.uvarint()
	case thriftDouble:
		if len(t.b)-t.at < 8 {
			t.fail(errThriftShort)
			return
		}
		t.at += 8
	case thriftBinary:
		t.binary()
	case thriftList, thriftSet:
		item, n := t.list()
		t.skipItems(item, n, depth-1)
	case thriftMap:
		if n := t.uvarint(); n > 0 {
			kinds := t.byte()
			for ; n > 0 && t.err == nil; n-- {
				t.skipItems(kinds>>4, 1, depth-1)
				t.skipItems(kinds&15, 1, depth-1)
			}
		}
	case thriftStruct:
		t.fields(func(_ int16, kind byte) { t.skipNested(kind, depth-1) })
	default:
		t.fail(errThriftInvalid)
	}
}

// skipItems passes over items of a list: a boolean there is one byte.
func (t *thrift) skipItems(kind byte, n, depth int) {
	for ; n > 0 && t.err == nil; n-- {
		if kind == thriftTrue || kind == thriftFalse {
			t.byte()
		} else {
			t.skipNested(kind, depth)
		}
	}
}

// The typed readers fail on another type than the format's, because reading on
// would misplace everything behind it.

func (t *thrift) want(kind, wanted byte) bool {
	if kind != wanted {
		t.fail(errThriftInvalid)
		return false
	}
	return true
}

func (t *thrift) i32(kind byte) int32 {
	if !t.want(kind, thriftI32) {
		return 0
	}
	v := t.int()
	if v != int64(int32(v)) {
		t.fail(errThriftInvalid)
	}
	return int32(v)
}

func (t *thrift) i64(kind byte) int64 {
	if !t.want(kind, thriftI64) {
		return 0
	}
	return t.int()
}

func (t *thrift) text(kind byte) []byte {
	if !t.want(kind, thriftBinary) {
		return nil
	}
	return t.binary()
}

func (t *thrift) bool(kind byte) bool {
	if kind != thriftTrue && kind != thriftFalse {
		t.fail(errThriftInvalid)
	}
	return kind == thriftTrue
}

// structure visits a nested struct's fields.
func (t *thrift) structure(kind byte, visit func(id int16, kind byte)) {
	if t.want(kind, thriftStruct) {
		t.fields(visit)
	}
}

// structures visits the structs of a list: start is told their number, visit is
// called for each and must call fields.
func (t *thrift) structures(kind byte, start func(n int) bool, visit func(i int)) {
	if !t.want(kind, thriftList) {
		return
	}
	item, n := t.list()
	if t.err != nil || n > 0 && !t.want(item, thriftStruct) || !start(n) {
		return
	}
	for i := 0; i < n && t.err == nil; i++ {
		visit(i)
	}
}
