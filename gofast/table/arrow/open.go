package arrow

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"unsafe"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/internal/pool"
	"github.com/gofast-org/gofast/gofast/source"
	"github.com/gofast-org/gofast/gofast/table"
	"github.com/gofast-org/gofast/gofast/table/parquet"
)

const (
	op = "arrow"

	magic  = "ARROW1"
	head   = 8 // bytes before a file's first message
	tail   = 4 + len(magic)
	goesOn = math.MaxUint32 // before the length of a message, but in files before version 0.15
)

// What a message holds, by the format's numbers.
const (
	schemaMessage     = 1
	dictionaryMessage = 2
	batchMessage      = 3
)

// file is an open file: what the reader of package parquet asks for pages.
type file struct {
	*source.File
	opts    table.Options
	layout  *parquet.Layout
	fields  []field
	batches []*batch

	closed bool // its footer lists all, a stream's dictionaries may be replaced
	rows   int64
	parts  place // how many a record batch has; buffers without those of views
	// dictionaries are those that hold for the next record batch, each in pieces, by number.
	dictionaries map[int64][]*batch
	lent         bool // a batch has the same map
}

// message is one of the format's messages: metadata, and a body behind them.
type message struct {
	flat
	kind    int64
	header  ref
	version int64
	body    parquet.Extent
}

// IsStream says that a file begins as a stream does: with the marker and a length, or, before version 0.15, with the
// length alone. That is no text: what follows is a message with a schema, whose first offset has bytes of zero.
func IsStream(start []byte) bool {
	if len(start) < 8 {
		return false
	}
	length := binary.LittleEndian.Uint32(start)
	if length == goesOn {
		return true
	}
	m := flat{b: start[4:min(int64(len(start)), 4+int64(length))]}
	root := m.root()
	version, kind := m.integer(root, 0, 2, 0), m.integer(root, 1, 1, 0)
	hasHeader, body := m.field(root, 2) != 0, m.integer(root, 3, 8, 0)
	return !m.bad && hasHeader && kind == schemaMessage && version >= 0 && version <= version5 && body == 0
}

// Open reads the metadata of a file or a stream. The reader owns from when there is no error.
func Open(from *source.File, opts table.Options) (reader table.Reader, err error) {
	defer pool.Recover(&err, op, from.Path())
	f := &file{File: from, opts: opts.WithDefaults(), dictionaries: map[int64][]*batch{}, layout: &parquet.Layout{Op: op, Group: "record batch"}}
	defer func() {
		if reader == nil {
			f.opts.Budget.Release(f.layout.Held)
		}
	}()
	f.layout.Page, f.layout.Find = f.page, f.find
	if err := f.read(); err != nil {
		return nil, err
	}
	return parquet.New(from, f.opts, f.layout)
}

// read reads the metadata.
func (f *file) read() error {
	var start [head]byte
	if f.Size() < int64(len(start)) {
		return f.fault(errs.ErrDamaged, fmt.Sprintf("%d bytes are too few for an Arrow file", f.Size()))
	}
	if err := f.ReadFull(start[:], 0); err != nil {
		return err
	}
	if bytes.HasPrefix(start[:], []byte(magic)) {
		return f.readFile()
	}
	return f.readStream()
}

// readFile reads a file by its footer.
func (f *file) readFile() error {
	f.closed = true
	size := f.Size()
	var foot [tail]byte
	if size < int64(head+tail) {
		return f.fault(errs.ErrDamaged, fmt.Sprintf("%d bytes are too few for an Arrow file", size))
	}
	if err := f.ReadFull(foot[:], size-int64(tail)); err != nil {
		return err
	}
	if string(foot[4:]) != magic {
		return f.fault(errs.ErrDamaged, "no ARROW1 at the end: the file was cut or never closed")
	}
	length := int64(int32(binary.LittleEndian.Uint32(foot[:])))
	end := size - int64(tail) - length
	if length < 0 || end < head {
		return f.fault(errs.ErrDamaged, fmt.Sprintf("a footer of %d bytes in a file of %d", length, size))
	}
	footer, err := f.metadata(end, length)
	if err != nil {
		return err
	}
	b := flat{b: footer}
	root := b.root()
	version := b.integer(root, 0, 2, 0)
	if err := f.schema(&b, b.table(root, 1), version); err != nil {
		return err
	}
	left := end - head // blocks lie beside one another: no bytes are decoded twice
	for _, blocks := range []struct {
		number int
		kind   int64
	}{{2, dictionaryMessage}, {3, batchMessage}} {
		const size = 24
		at, n := b.vector(root, blocks.number, size)
		for i := range n {
			offset, length, body := b.i64(at+size*i), int64(b.i32(at+size*i+8)), b.i64(at+size*i+16)
			if offset < head || length < 0 || body < 0 || length > left || body > left-length || offset > end-length-body {
				return f.fault(errs.ErrDamaged, fmt.Sprintf("block %d lies outside of the file's data", i)).AtOffset(offset)
			}
			left -= length + body
			m, err := f.block(offset, length, body)
			if err != nil {
				return err
			}
			if m.kind != blocks.kind {
				return f.fault(errs.ErrDamaged, fmt.Sprintf("block %d is another kind of message than the footer says", i)).AtOffset(offset)
			}
			if err := f.add(m, offset); err != nil {
				return err
			}
		}
	}
	if b.bad {
		return f.fault(errs.ErrDamaged, "the footer cannot be read").AtOffset(end)
	}
	return nil
}

// block reads a message that the footer names: its length counts what stands before the metadata.
func (f *file) block(offset, length, body int64) (*message, error) {
	all, err := f.metadata(offset, length)
	if err != nil {
		return nil, err
	}
	prefix := int64(4)
	if length >= 8 && binary.LittleEndian.Uint32(all) == goesOn {
		prefix = 8
	}
	if length < prefix {
		return nil, f.fault(errs.ErrDamaged, "a message without metadata").AtOffset(offset)
	}
	m, err := f.message(all[prefix:], offset)
	if err == nil && m.body.Bytes != body {
		err = f.fault(errs.ErrDamaged, fmt.Sprintf("a message of %d bytes, the footer says %d", m.body.Bytes, body)).AtOffset(offset)
	}
	if err != nil {
		return nil, err
	}
	m.body.Offset = offset + length
	return m, nil
}

// readStream reads messages up to the end.
func (f *file) readStream() error {
	size := f.Size()
	for at, first := int64(0), true; at < size; first = false {
		var start [8]byte
		prefix := min(size-at, int64(len(start)))
		if err := f.ReadFull(start[:prefix], at); err != nil {
			return err
		}
		length, whole := int64(int32(binary.LittleEndian.Uint32(start[4:]))), int64(8)
		if first := binary.LittleEndian.Uint32(start[:]); first != goesOn {
			length, whole = int64(int32(first)), 4
		}
		switch {
		case prefix < whole:
			return f.fault(errs.ErrDamaged, "the stream was cut inside of a message").AtOffset(at)
		case length < 0:
			return f.fault(errs.ErrDamaged, "no message begins here").AtOffset(at)
		}
		if at += whole; length == 0 {
			if at != size {
				return f.fault(errs.ErrUnsupported, "something stands behind the end of the stream: write one stream to a file").AtOffset(at)
			}
			break
		}
		if length > size-at {
			return f.fault(errs.ErrDamaged, "the stream was cut inside of a message").AtOffset(at)
		}
		all, err := f.metadata(at, length)
		if err != nil {
			return err
		}
		m, err := f.message(all, at)
		if err != nil {
			return err
		}
		m.body.Offset = at + length
		switch {
		case m.body.Bytes > size-m.body.Offset:
			return f.fault(errs.ErrDamaged, "the stream was cut inside of a message").AtOffset(at)
		case first != (m.kind == schemaMessage):
			return f.fault(errs.ErrDamaged, "a stream has one schema, which comes first").AtOffset(at)
		case first:
			err = f.schema(&m.flat, m.header, m.version)
		default:
			err = f.add(m, at)
		}
		if err != nil {
			return err
		}
		at = m.body.Offset + m.body.Bytes
	}
	return nil
}

// metadata reads bytes that are kept until the file is closed.
func (f *file) metadata(at, n int64) ([]byte, error) {
	if n > f.opts.Limits.Metadata {
		return nil, f.fault(errs.ErrLimit, fmt.Sprintf("metadata of %s, the limit is %s: raise limits={\"metadata\": ...}", errs.Bytes(int64(n)), errs.Bytes(f.opts.Limits.Metadata))).AtOffset(at)
	}
	if err := f.hold(n, "the metadata of Arrow"); err != nil {
		return nil, err
	}
	all := make([]byte, n)
	return all, f.ReadFull(all, at)
}

// hold takes memory of the budget until the file is closed.
func (f *file) hold(n int64, what string) error {
	if err := f.opts.Budget.Reserve(n, what); err != nil {
		var own *errs.Error
		if errors.As(err, &own) {
			return own.At(f.Path())
		}
		return err
	}
	f.layout.Held += n
	return nil
}

// message reads what a message's metadata say of it.
func (f *file) message(all []byte, at int64) (*message, error) {
	m := &message{flat: flat{b: all}}
	root := m.root()
	m.version, m.kind, m.header = m.integer(root, 0, 2, 0), m.integer(root, 1, 1, 0), m.table(root, 2)
	if m.body.Bytes = m.integer(root, 3, 8, 0); m.bad || m.header == 0 || m.body.Bytes < 0 {
		return nil, f.fault(errs.ErrDamaged, "a message that cannot be read").AtOffset(at)
	}
	return m, nil
}

// packedAs is the compression that a message's notes name: version 0.17 had no other place for it.
func (f *file) packedAs(m *message, at int64) (codec parquet.Codec, err error) {
	if m.version != version4 {
		return parquet.Stored, nil
	}
	for _, note := range m.tables(m.root(), 4) {
		if m.text(note, 0) != "ARROW:experimental_compression" {
			continue
		}
		switch name := strings.ToLower(m.text(note, 1)); name {
		case "lz4":
			return parquet.LZ4Frame, nil
		case "zstd":
			return parquet.Zstd, nil
		default:
			return codec, f.fault(errs.ErrUnsupported, fmt.Sprintf("compression %q", name)).AtOffset(at)
		}
	}
	return parquet.Stored, nil
}

// add takes a record batch or a dictionary.
func (f *file) add(m *message, at int64) error {
	switch m.kind {
	case batchMessage:
		b, err := f.batch(m, m.header, f.parts, at)
		if err != nil {
			return err
		}
		return f.addBatch(b)
	case dictionaryMessage:
		return f.addDictionary(m, at)
	default:
		return f.fault(errs.ErrUnsupported, fmt.Sprintf("a message of kind %d", m.kind)).AtOffset(at)
	}
}

func (f *file) addBatch(b *batch) error {
	g := parquet.Group{Rows: b.rows, Codec: b.codec, Fields: make([]parquet.Extent, len(f.fields))}
	if err := f.hold(int64(len(f.fields))*int64(unsafe.Sizeof(parquet.Extent{})), "the columns of record batches"); err != nil {
		return err
	}
	at := place{}
	for i := range f.fields {
		one := &f.fields[i]
		if length, _ := b.node(at.node); length != b.rows {
			return f.fault(errs.ErrDamaged, fmt.Sprintf("record batch %d: %d values for %d rows", len(f.batches), length, b.rows)).InColumn(one.Name)
		}
		next := b.behind(at, one)
		g.Fields[i] = b.extent(at.buffer, next.buffer)
		at = next
	}
	if f.rows += b.rows; f.rows > mostRows {
		return f.fault(errs.ErrDamaged, "more rows than a file can hold")
	}
	b.dictionaries, f.lent = f.dictionaries, true
	f.batches = append(f.batches, b)
	f.layout.Groups = append(f.layout.Groups, g)
	return nil
}

// addDictionary takes a dictionary or, if it is a delta, more of one. Batches before it keep what they had.
func (f *file) addDictionary(m *message, at int64) error {
	number := m.integer(m.header, 0, 8, 0)
	delta := m.integer(m.header, 2, 1, 0) != 0
	data := m.table(m.header, 1)
	if m.bad || data == 0 {
		return f.fault(errs.ErrDamaged, "a dictionary that cannot be read").AtOffset(at)
	}
	used := slices.IndexFunc(f.fields, func(one field) bool { return one.coded && one.dictionary == number && one.Why == "" })
	if used < 0 {
		return nil
	}
	one := &f.fields[used]
	b, err := f.batch(m, data, place{1, buffersOf[one.kind], one.valueViews}, at)
	if err != nil {
		return err
	}
	pieces := f.dictionaries[number]
	switch {
	case delta && pieces == nil:
		return f.fault(errs.ErrDamaged, "more of a dictionary that is not there").AtOffset(at)
	case !delta && pieces != nil && f.closed:
		return f.fault(errs.ErrUnsupported, "two dictionaries of the same columns: only a stream can replace one").AtOffset(at)
	case !delta:
		pieces = nil
	}
	if f.lent {
		f.dictionaries, f.lent = maps.Clone(f.dictionaries), false
	}
	f.dictionaries[number] = append(pieces, b)
	return nil
}

func (f *file) fault(kind error, text string) *errs.Error {
	return errs.New(kind, op, text).At(f.Path())
}
