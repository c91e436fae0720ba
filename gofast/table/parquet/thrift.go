package parquet

import (
	"errors"
	"io"

	"github.com/parquet-go/parquet-go/encoding/thrift"
)

// Thrift's compact protocol is parquet-go's, whose decoder believes what it reads: it
// nests as deep as the bytes say, until the stack ends. So every value is passed over
// first, and lists are taken apart here, so that their memory is ours to bound.

// maxThriftDepth bounds nesting; Parquet's own structures need 7.
const maxThriftDepth = 24

var (
	errThriftShort   = errors.New("the metadata ends too early")
	errThriftInvalid = errors.New("the metadata is not valid thrift")
)

// metaReader reads thrift that is not trusted.
type metaReader struct {
	b       []byte
	walk    thrift.BytesReader // over b
	value   thrift.BytesReader // over a value that the walk has passed
	decoder *thrift.Decoder    // of value
}

func newMetaReader(b []byte) *metaReader {
	protocol := new(thrift.CompactProtocol)
	m := &metaReader{b: b, walk: protocol.NewReaderFromBytes(b), value: protocol.NewReaderFromBytes(nil)}
	m.decoder = thrift.NewDecoder(m.value)
	// A field of another type than the format's is an error, not a field left out.
	m.decoder.SetStrict(true)
	return m
}

// reset begins again with other bytes.
func (m *metaReader) reset(b []byte) {
	m.b = b
	m.walk.ResetBytes(b)
}

// structure fills into with a structure, whose fields visit passes over first. Texts
// are views.
func (m *metaReader) structure(into any, visit func(id int16, kind thrift.Type) error) error {
	from := m.walk.BytesRead()
	if err := m.fields(visit); err != nil {
		return err
	}
	m.value.ResetBytes(m.b[from:m.walk.BytesRead()])
	return m.decoder.Decode(into)
}

// integer reads a number of 64 bits.
func (m *metaReader) integer(kind thrift.Type) (int64, error) {
	if kind != thrift.I64 {
		return 0, errThriftInvalid
	}
	return m.walk.ReadInt64()
}

// fields calls visit for every field of a structure; visit passes over the value.
func (m *metaReader) fields(visit func(id int16, kind thrift.Type) error) error {
	for last := int16(0); ; {
		f, err := m.walk.ReadField()
		switch {
		case err != nil:
			return err
		case f.Type == thrift.STOP && f.Delta: // the library would end here
			return errThriftInvalid
		case f.Type == thrift.STOP:
			return nil
		case f.Delta:
			f.ID += last
		}
		if err := visit(f.ID, f.Type); err != nil {
			return err
		}
		last = f.ID
	}
}

// list begins a list of structures. Each takes at least a byte, so that their
// number is bounded by what is left.
func (m *metaReader) list(kind thrift.Type) (n int, err error) {
	if kind != thrift.LIST {
		return 0, errThriftInvalid
	}
	list, err := m.walk.ReadList()
	switch n = int(list.Size); {
	case err != nil:
		return 0, err
	case n > 0 && list.Type != thrift.STRUCT:
		return 0, errThriftInvalid
	case n > len(m.b)-m.walk.BytesRead():
		return 0, errThriftShort
	}
	return n, nil
}

// skip passes over a field's value.
func (m *metaReader) skip(_ int16, kind thrift.Type) error {
	return m.skipNested(kind, maxThriftDepth)
}

func (m *metaReader) skipNested(kind thrift.Type, depth int) (err error) {
	if depth == 0 {
		return errThriftInvalid
	}
	switch kind {
	case thrift.TRUE, thrift.FALSE: // no value beside the type
	case thrift.I8:
		_, err = m.walk.ReadInt8()
	case thrift.I16, thrift.I32, thrift.I64:
		_, err = m.walk.ReadInt64()
	case thrift.DOUBLE:
		_, err = m.walk.ReadFloat64()
	case thrift.BINARY:
		_, err = m.walk.ReadBytes() // a view
	case thrift.LIST, thrift.SET:
		var list thrift.List
		list, err = m.walk.ReadList()
		for ; err == nil && list.Size > 0; list.Size-- {
			err = m.skipItem(list.Type, depth-1)
		}
	case thrift.MAP:
		var items thrift.Map
		items, err = m.walk.ReadMap()
		for ; err == nil && items.Size > 0; items.Size-- {
			if err = m.skipItem(items.Key, depth-1); err == nil {
				err = m.skipItem(items.Value, depth-1)
			}
		}
	case thrift.STRUCT:
		err = m.fields(func(_ int16, kind thrift.Type) error { return m.skipNested(kind, depth-1) })
	default:
		return errThriftInvalid
	}
	return err
}

// skipItem passes over an item of a list: a boolean there is one byte.
func (m *metaReader) skipItem(kind thrift.Type, depth int) error {
	if kind == thrift.TRUE || kind == thrift.FALSE {
		kind = thrift.I8
	}
	return m.skipNested(kind, depth)
}

// inWords is the failure to read thrift; errThriftShort where the bytes end too early.
func inWords(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errThriftShort
	}
	return err
}
