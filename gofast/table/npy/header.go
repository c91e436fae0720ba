package npy

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"strconv"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/internal/limits"
)

const magic = "\x93NUMPY"

// maxHeader bounds the header's text, as numpy does by default; only structured
// dtypes, which we refuse, come near it.
const maxHeader = 10_000

// maxDims is numpy's own limit (64 since numpy 2).
const maxDims = 64

// header is the parsed head of one array.
type header struct {
	elem    elem
	fortran bool
	shape   []int64
	length  int64 // bytes before the first value
}

// readHeader reads and checks the head of an array of size bytes in all.
func (p place) readHeader(r io.Reader, size int64, l limits.Limits) (header, error) {
	var head [12]byte
	if err := p.readFull(r, head[:8]); err != nil {
		return header{}, err
	}
	if string(head[:len(magic)]) != magic {
		return header{}, p.fail(errs.ErrDamaged, "the array does not begin with numpy's magic bytes")
	}
	width := 4
	switch version := head[6]; {
	case version < 1 || version > 3 || head[7] != 0:
		return header{}, p.fail(errs.ErrUnsupported, "npy version %d.%d: versions 1.0, 2.0 and 3.0 are known", version, head[7])
	case version == 1:
		width = 2
	}
	if err := p.readFull(r, head[8:8+width]); err != nil {
		return header{}, err
	}
	length := int64(binary.LittleEndian.Uint16(head[8:]))
	if width == 4 {
		length = int64(binary.LittleEndian.Uint32(head[8:]))
	}
	start := int64(8 + width)
	if length > size-start {
		return header{}, p.fail(errs.ErrDamaged, "the header claims %d bytes, %d are left", length, size-start)
	}
	if limit := min(maxHeader, l.Metadata); length > limit {
		return header{}, p.fail(errs.ErrLimit, "the header has %s, the limit is %s", errs.Bytes(int64(length)), errs.Bytes(int64(limit)))
	}
	text := make([]byte, length)
	if err := p.readFull(r, text); err != nil {
		return header{}, err
	}
	h, err := p.parseHeader(text, head[6], l.Cell)
	if err != nil {
		return header{}, err
	}
	h.length = start + length
	return h, p.checkSize(h, size-h.length)
}

// checkSize compares the shape with the bytes that are there.
func (p place) checkSize(h header, left int64) error {
	need, ok := limits.Mul(append([]int64{int64(h.elem.size)}, h.shape...)...)
	if !ok || need > left {
		return p.fail(errs.ErrDamaged, "shape %v of %d-byte values does not fit the %d bytes that are left", h.shape, h.elem.size, left)
	}
	if need < left {
		return p.fail(errs.ErrDamaged, "%d bytes follow the array of shape %v", left-need, h.shape)
	}
	return nil
}

func (p place) readFull(r io.Reader, b []byte) error {
	_, err := io.ReadFull(r, b)
	if err == nil {
		return nil
	}
	return p.readError(err)
}

// readError keeps our own errors and turns the end of a stream into damage.
func (p place) readError(err error) error {
	var own *errs.Error
	if errors.As(err, &own) {
		return own
	}
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return p.fail(errs.ErrDamaged, "the data ends too early")
	}
	return p.fail(errs.ErrDamaged, "the compressed data is damaged").Because(err)
}

// literal scans the Python dictionary of a header. What numpy writes is accepted,
// in any order and spacing: the three keys once each, plain strings, True/False, a
// tuple of ints. What Python refuses is refused: test_headers_as_numpy compares.
type literal struct {
	place
	text  []byte
	at    int
	longs bool // 5L is a number
}

func (p place) parseHeader(text []byte, version byte, maxText int64) (header, error) {
	s := &literal{place: p, text: text, longs: version < 3} // numpy reads Python 2's longs up to version 2
	lines := bytes.TrimLeft(text, " \t")                    // Python allows spaces, then empty lines; another space would indent
	if s.at = len(text) - len(bytes.TrimLeft(lines, "\r\n")); !bytes.HasPrefix(text[s.at:], []byte("{")) {
		return header{}, s.malformed()
	}
	s.at++
	var h header
	seen := map[string]bool{}
	for s.peek() != '}' {
		key, err := s.str()
		if err == nil {
			err = s.expect(':')
		}
		if err != nil {
			return h, err
		}
		if seen[key] {
			return h, p.fail(errs.ErrDamaged, "the header has a key twice").WithCell(key)
		}
		seen[key] = true
		if err := s.value(key, &h, maxText); err != nil {
			return h, err
		}
		if s.peek() != ',' {
			break
		}
		s.at++
	}
	if err := s.expect('}'); err != nil {
		return h, err
	}
	if s.peek() != 0 || s.at < len(s.text) {
		return h, s.malformed()
	}
	if len(seen) != 3 {
		return h, p.fail(errs.ErrDamaged, "the header must have the keys descr, fortran_order and shape, it has %d keys", len(seen))
	}
	return h, nil
}

func (s *literal) value(key string, h *header, maxText int64) error {
	switch key {
	case "descr":
		if s.peek() == '[' {
			return s.fail(errs.ErrUnsupported, "structured arrays are not supported: save the fields as arrays of an .npz")
		}
		descr, err := s.str()
		if err == nil {
			h.elem, err = s.parseDescr(descr, maxText)
		}
		return err
	case "fortran_order":
		s.peek()
		for _, word := range []string{"True", "False"} {
			if bytes.HasPrefix(s.text[s.at:], []byte(word)) {
				s.at += len(word)
				h.fortran = word == "True"
				return nil
			}
		}
		return s.malformed()
	case "shape":
		return s.tuple(h)
	}
	return s.fail(errs.ErrDamaged, "the header has an unknown key").WithCell(key)
}

func (s *literal) tuple(h *header) error {
	if err := s.expect('('); err != nil {
		return err
	}
	comma := true
	for s.peek() != ')' {
		if !comma {
			return s.malformed()
		}
		start := s.at
		for s.at < len(s.text) && s.text[s.at] >= '0' && s.text[s.at] <= '9' {
			s.at++
		}
		n, err := strconv.ParseInt(string(s.text[start:s.at]), 10, 64)
		if err != nil || n > 0 && s.text[start] == '0' { // 02 is no number of Python's
			return s.malformed()
		}
		if s.longs && s.at < len(s.text) && s.text[s.at] == 'L' {
			s.at++
		}
		if h.shape = append(h.shape, n); len(h.shape) > maxDims {
			return s.fail(errs.ErrDamaged, "the shape has more than %d dimensions", maxDims)
		}
		if comma = s.peek() == ','; comma {
			s.at++
		}
	}
	s.at++
	if len(h.shape) == 1 && !comma { // (5) is a number, (5,) a tuple
		return s.malformed()
	}
	return nil
}

// peek skips white space and returns the next byte, 0 at the end.
func (s *literal) peek() byte {
	rest := bytes.TrimLeft(s.text[s.at:], " \t\n\r\f")
	if s.at = len(s.text) - len(rest); len(rest) == 0 {
		return 0
	}
	return rest[0]
}

func (s *literal) expect(c byte) error {
	if s.peek() != c || s.at >= len(s.text) {
		return s.malformed()
	}
	s.at++
	return nil
}

// str reads a quoted string; no key or dtype of numpy needs an escape.
func (s *literal) str() (string, error) {
	quote := s.peek()
	if quote != '\'' && quote != '"' {
		return "", s.malformed()
	}
	rest := s.text[s.at+1:]
	end := bytes.IndexByte(rest, quote)
	if end < 0 || bytes.IndexByte(rest[:end], '\\') >= 0 {
		return "", s.malformed()
	}
	s.at += end + 2
	return string(rest[:end]), nil
}

// again is what to do where numpy may know more than we do.
const again = "; if numpy.load reads the file, numpy.save writes it again as gofast reads it"

func (s *literal) malformed() error {
	return s.fail(errs.ErrDamaged, "the header is not numpy's dictionary of descr, fortran_order and shape, at character %d"+again, s.at).
		WithCell(string(s.text[min(s.at, len(s.text)):]))
}

// layout splits a shape into rows and the shape of one row.
func (p place) layout(h header) (rows int64, rowShape []int, width int, err error) {
	if len(h.shape) == 0 {
		return 0, nil, 0, p.fail(errs.ErrSchema, "the array is a single value, not a table: its first dimension must be the rows")
	}
	w, ok := limits.Mul(h.shape[1:]...)
	switch {
	case !ok || w > math.MaxInt32:
		return 0, nil, 0, p.fail(errs.ErrLimit, "a row of shape %v has more than 2^31 values", h.shape[1:])
	case w == 0:
		return 0, nil, 0, p.fail(errs.ErrSchema, "the rows of shape %v hold no values", h.shape[1:])
	}
	for _, d := range h.shape[1:] {
		rowShape = append(rowShape, int(d))
	}
	return h.shape[0], rowShape, int(w), nil
}
