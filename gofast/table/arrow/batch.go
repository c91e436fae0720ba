package arrow

import (
	"fmt"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/table/parquet"
)

// batch is a record batch, or a piece of a dictionary.
type batch struct {
	meta         flat // stays in memory: what lies where
	rows         int64
	body         int64 // its offset in the file
	codec        parquet.Codec
	nodes        int // the position of the first, in meta
	buffers      int
	count        int // of buffers
	variadic     int
	dictionaries map[int64][]*batch // that hold for a record batch
}

// place is where the parts of a column begin in a batch.
type place struct{ node, buffer, view int }

const (
	nodeSize   = 16
	bufferSize = 16
	mostRows   = 1 << 40 // no sum of rows, and no size of a column, overflows
)

// batch reads the metadata at t, which must have so many parts, each within the body and behind the one before.
func (f *file) batch(m *message, t ref, parts place, at int64) (b *batch, err error) {
	b = &batch{meta: flat{b: m.b}, rows: m.integer(t, 0, 8, 0), body: m.body.Offset}
	var hasNodes, hasBuffers, hasViews int
	b.nodes, hasNodes = m.vector(t, 1, nodeSize)
	b.buffers, hasBuffers = m.vector(t, 2, bufferSize)
	b.variadic, hasViews = m.vector(t, 4, 8)
	if packed := m.table(t, 3); packed != 0 {
		codecs := [...]parquet.Codec{parquet.LZ4Frame, parquet.Zstd}
		number, method := m.integer(packed, 0, 1, 0), m.integer(packed, 1, 1, 0)
		if number < 0 || number >= int64(len(codecs)) || method != 0 {
			return nil, f.fault(errs.ErrUnsupported, fmt.Sprintf("compression number %d, method %d", number, method)).AtOffset(at)
		}
		b.codec = codecs[number]
	} else if b.codec, err = f.packedAs(m, at); err != nil {
		return nil, err
	}
	bad := func(text string) error { return f.fault(errs.ErrDamaged, "a record batch "+text).AtOffset(at) }
	switch {
	case m.bad:
		return nil, bad("that cannot be read")
	case b.rows < 0 || b.rows > mostRows:
		return nil, bad(fmt.Sprintf("of %d rows", b.rows))
	case hasNodes != parts.node || hasViews != parts.view:
		return nil, bad(fmt.Sprintf("with %d and %d parts, the schema has %d and %d", hasNodes, hasViews, parts.node, parts.view))
	}
	buffers := parts.buffer
	for i := range hasViews {
		n := b.meta.i64(b.variadic + 8*i)
		if n < 0 || n > int64(hasBuffers) {
			return nil, bad(fmt.Sprintf("of %d buffers says that a column has %d", hasBuffers, n))
		}
		if buffers += int(n); buffers > hasBuffers {
			break
		}
	}
	if buffers != hasBuffers {
		return nil, bad(fmt.Sprintf("with %d buffers, the schema has %d", hasBuffers, buffers))
	}
	b.count = hasBuffers
	end := int64(0)
	for i := range hasBuffers {
		offset, length := b.buffer(i)
		if length == 0 {
			continue // writers point anywhere
		}
		if offset < end || length < 0 || length > m.body.Bytes || offset > m.body.Bytes-length {
			return nil, bad(fmt.Sprintf("whose buffer %d, of %d bytes at %d, overlaps another one or lies outside of the body's %d", i, length, offset, m.body.Bytes))
		}
		end = offset + length
	}
	return b, nil
}

// node is how many values a part has, and how many of them are null.
func (b *batch) node(i int) (values, nulls int64) {
	at := b.nodes + nodeSize*i
	return b.meta.i64(at), b.meta.i64(at + 8)
}

// buffer is where one lies in the body.
func (b *batch) buffer(i int) (offset, length int64) {
	at := b.buffers + bufferSize*i
	return b.meta.i64(at), b.meta.i64(at + 8)
}

// behind is where the next column begins.
func (b *batch) behind(at place, f *field) place {
	for view := range f.views {
		at.buffer += int(b.meta.i64(b.variadic + 8*(at.view+view)))
	}
	return place{at.node + f.nodes, at.buffer + f.buffers, at.view + f.views}
}

// of is where a column begins.
func (b *batch) of(f *field) place {
	at := f.at
	for view := range at.view {
		at.buffer += int(b.meta.i64(b.variadic + 8*view))
	}
	return at
}

// extent is where buffers from..to-1 lie in the file.
func (b *batch) extent(from, to int) (e parquet.Extent) {
	e.Offset = b.body
	first := true
	for i := from; i < to; i++ {
		offset, length := b.buffer(i)
		if length == 0 {
			continue
		}
		if first {
			e.Offset, first = b.body+offset, false
		}
		e.Bytes = b.body + offset + length - e.Offset
	}
	return e
}
