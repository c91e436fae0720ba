package npy

import (
	"encoding/binary"
	"strconv"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/table"
)

// elem is numpy's dtype of one value.
type elem struct {
	kind byte // 'u', 'i', 'f', 'b' (boolean), 'U' (UCS-4 text), 'S' (bytes as text)
	size int  // bytes of one value
	swap bool // the file's byte order is not the machine's
}

var littleMachine = binary.NativeEndian.Uint16([]byte{1, 0}) == 1

// machineOrder stands before the dtypes of the machine's byte order.
var machineOrder = map[bool]string{true: "<", false: ">"}[littleMachine]

func (e elem) text() bool  { return e.kind == 'U' || e.kind == 'S' }
func (e elem) float() bool { return e.kind == 'f' }

// numbers is how the values are stored; nil for text.
func (e elem) numbers() *table.Cells {
	if e.kind == 'b' {
		return table.CellsNamed('u', 1)
	}
	return table.CellsNamed(e.kind, e.size)
}

// parseDescr reads a dtype string such as "<f4", "|u1" or ">U12". maxText bounds
// the bytes of one text cell.
func (p place) parseDescr(descr string, maxText int64) (elem, error) {
	rest, order := descr, byte('=')
	if rest != "" {
		switch rest[0] {
		case '<', '>', '|', '=':
			rest, order = rest[1:], rest[0]
		}
	}
	if rest == "" {
		return elem{}, p.fail(errs.ErrDamaged, "the dtype is empty")
	}
	kind := rest[0]
	if kind == 'O' {
		return elem{}, p.fail(errs.ErrUnsupported,
			"the array holds pickled Python objects, which can run any code when read: save it with a numeric or str dtype")
	}
	if kind == 'M' || kind == 'm' { // "M8[ns]"
		return elem{}, p.fail(errs.ErrUnsupported, "dates and times are not supported: save them as numbers").WithCell(descr)
	}
	size, err := strconv.ParseUint(rest[1:], 10, 31)
	if err != nil {
		return elem{}, p.fail(errs.ErrDamaged, "the dtype is not written as numpy does"+again).WithCell(descr)
	}
	e := elem{kind: kind, size: int(size)}
	known := false
	switch kind {
	case 'u', 'i', 'f':
		known = e.numbers() != nil
	case 'b':
		known = size == 1
	case 'U', 'S':
		known = size > 0 // cells without bytes would allow any number of rows
		if kind == 'U' {
			size *= 4
		}
		if size > uint64(maxText) {
			return elem{}, p.fail(errs.ErrLimit, "a text cell has %s, the limit is %s: raise limits={\"cell\": ...}", errs.Bytes(int64(size)), errs.Bytes(int64(maxText)))
		}
		e.size = int(size)
	}
	if !known {
		return elem{}, p.fail(errs.ErrUnsupported,
			"the dtype is not an integer, a float of 2 to 8 bytes, a boolean or text: convert it with astype").WithCell(descr)
	}
	wide := e.size > 1 && kind != 'S'
	e.swap = wide && (order == '>' && littleMachine || order == '<' && !littleMachine) // '|' is the machine's, as for numpy
	return e, nil
}
