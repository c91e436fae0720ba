package npy

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/table"
)

// headerAlign is what numpy pads headers to, so that mapped values are aligned.
const headerAlign = 64

// digits are those that a header has room for in its first size, as numpy's do: its length does not depend on the rows.
const digits = 21

// Header is the head of an array in C order; its length is a multiple of 64.
func Header(descr string, shape []int64) []byte {
	dims := make([]string, len(shape))
	for i, d := range shape {
		dims[i] = fmt.Sprint(d)
	}
	tuple := strings.Join(dims, ", ")
	if len(shape) == 1 {
		tuple += ","
	}
	text := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", descr, tuple)
	if len(dims) > 0 {
		text += strings.Repeat(" ", digits-len(dims[0]))
	}
	const start = len(magic) + 2 + 2
	length := (start+len(text)+1+headerAlign-1)/headerAlign*headerAlign - start
	head := make([]byte, 0, start+length)
	head = append(head, magic...)
	head = append(head, 1, 0)
	head = le.AppendUint16(head, uint16(length))
	head = append(head, text...)
	head = append(head, strings.Repeat(" ", length-len(text)-1)...)
	return append(head, '\n')
}

// Descr is numpy's name of a storage type in the machine's byte order. A boolean
// column is stored as uint8 and named "|b1".
func Descr(t table.Type, boolean bool) string {
	if boolean {
		return "|b1"
	}
	switch t {
	case table.Uint8:
		return "|u1"
	case table.Int16, table.Int32, table.Int64:
		return fmt.Sprintf("%si%d", machineOrder, t.Size())
	default:
		return fmt.Sprintf("%sf%d", machineOrder, t.Size())
	}
}

// maxWords bounds a text array: numpy gives every word the room of the longest.
const maxWords = 256 << 20

// Words is a text array: its dtype and its values, four bytes a character.
func Words(words []string) (descr string, data []byte, err error) {
	longest := 1
	for _, w := range words {
		if strings.HasSuffix(w, "\x00") {
			return "", nil, errs.New(errs.ErrValue, "npy", "numpy drops NULs at the end of a text").WithCell(w)
		}
		longest = max(longest, utf8.RuneCountInString(w))
	}
	if size := 4 * int64(longest) * int64(len(words)); size > maxWords {
		return "", nil, errs.New(errs.ErrLimit, "npy", fmt.Sprintf(
			"%d texts of up to %d characters need %s as a numpy array, the limit is %s", len(words), longest, errs.Bytes(int64(size)), errs.Bytes(maxWords)))
	}
	data = make([]byte, 4*longest*len(words))
	chars := table.View[uint32](data)
	for i, w := range words {
		at := i * longest
		for _, r := range w {
			chars[at] = uint32(r)
			at++
		}
	}
	return fmt.Sprintf("%sU%d", machineOrder, longest), data, nil
}
