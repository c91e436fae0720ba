package parquet

import (
	"context"
	"unsafe"

	"github.com/gofast-org/gofast/gofast/internal/pool"
	"github.com/gofast-org/gofast/gofast/source"
	"github.com/gofast-org/gofast/gofast/table"
)

// Layout is a file of another format whose columns become pages of plain values: Arrow's. A row group, which is a
// record batch there, has one page of each column. All that follows, from values to errors, is then this package's.
type Layout struct {
	Op    string // of errors: "arrow"
	Group string // what a row group is called in them: "record batch"
	// Pandas is the description of a frame that the file has; "" without.
	Pandas string
	Fields []Field
	Groups []Group
	// Page makes the page of a field in a group, whose bytes are body; empty where the field has a reason in Why.
	// What it needs is the worker's memory. It is called by several goroutines.
	Page func(m *Memory, group, field int, body []byte) (Page, error)
	// Find is what table.Finder has, and Features of it.
	Find     func(ctx context.Context, column string, visit func(value *source.Extent) error) error
	Features string
	// Held is memory of the options' budget that the reader gives back at Close.
	Held int64
}

// Group is some rows, and where each field's bytes lie.
type Group struct {
	Rows   int64
	Codec  Codec
	Fields []Extent
}

// Extent is a stretch of the file.
type Extent struct{ Offset, Bytes int64 }

// Codec is a compression.
type Codec = codec

// The compressions of a Layout.
const (
	Stored   = codecNone
	Zstd     = codecZstd
	LZ4Frame = codecLZ4Frame
)

// FieldType is what a field's values are.
type FieldType uint8

// The types of fields. Null is a column without values, Binary and Text have any length.
const (
	Null FieldType = iota
	Signed
	Unsigned
	Float
	Bool
	Text
	Binary
	FixedBinary
	Decimal // a signed integer, the highest byte first where it has more than 8
	Time
)

// Field is a column.
type Field struct {
	Name             string
	Type             FieldType
	Size             int // bytes of a value; 0 for Null, Bool, Text and Binary
	Precision, Scale int // of decimals
	Tick             table.Unit
	Clock            bool
	List             bool   // a row is a list of such values
	Why              string // it cannot be used: the reason, for the error
}

// Page is what a group has of a field.
type Page struct {
	Count, Present int    // values with and without nulls; an empty or null list counts as one that is null
	Values         []byte // those that are present; a Text or Binary has its length before it, in 4 bytes
	// Defs has for each value NullLevel or PresentLevel, of lists one of those below; nil: all are present.
	Defs []byte
	// Reps has for each value of lists whether it follows another one in its list.
	Reps []byte
	// Indexed says that Values are a run of indexes into Dictionary, as Parquet has it, which has so many Entries.
	Indexed    bool
	Dictionary []byte
	Entries    int
}

// The levels of Page.Defs.
const (
	NullLevel, PresentLevel                        = 0, 1
	NullList, EmptyList, NullInList, PresentInList = 0, 1, 2, 3
)

// Memory is the memory of one goroutine. What it gave is valid until the next page.
type Memory struct {
	w    *worker
	used int
}

// Bytes gives so many bytes of undefined content.
func (m *Memory) Bytes(n int) ([]byte, error) {
	if m.used == len(m.w.slots) {
		m.w.slots = append(m.w.slots, nil)
	}
	m.used++
	return grow(m.w, &m.w.slots[m.used-1], n)
}

// Unpack fills dst with what src, which is compressed, holds.
func (m *Memory) Unpack(c Codec, src, dst []byte) error { return m.w.decompress(c, src, dst) }

// Damaged is an error of a page, which says no place yet.
func Damaged(format string, args ...any) error { return damaged(format, args...) }

// Unsupported is the same of what is not read.
func Unsupported(format string, args ...any) error { return unsupported(format, args...) }

// New makes the reader of a file with such a layout. The reader owns f when there is no error.
func New(f *source.File, opts table.Options, layout *Layout) (reader table.Reader, err error) {
	defer pool.Recover(&err, layout.Op, f.Path())
	r := &Reader{file: f, path: f.Path(), opts: opts.WithDefaults(), op: layout.Op, group: layout.Group, layout: layout, reserved: layout.Held}
	defer func() {
		if reader == nil {
			r.release(r.reserved - layout.Held) // the caller has what it held
		}
	}()
	meta := &metadata{leaves: len(layout.Fields), features: layout.Features, groups: make([]group, len(layout.Groups)),
		schema: []element{{node: node{Children: int32(len(layout.Fields))}}}}
	for _, f := range layout.Fields {
		meta.schema = append(meta.schema, f.elements()...)
	}
	if layout.Pandas != "" {
		if err := r.parsePandas(layout.Pandas, meta); err != nil {
			return nil, err
		}
	}
	if err := r.reserve(int64(len(layout.Groups)*len(layout.Fields))*int64(unsafe.Sizeof(chunk{})), "the columns of "+layout.Group+"es"); err != nil {
		return nil, err
	}
	for i, g := range layout.Groups {
		own := &meta.groups[i]
		*own = group{first: meta.rows, rows: g.Rows, chunks: make([]chunk, len(g.Fields))}
		meta.rows += g.Rows
		for k, e := range g.Fields {
			own.chunks[k] = chunk{offset: e.Offset, compressed: e.Bytes, values: g.Rows, codec: g.Codec, physical: layout.Fields[k].physical()}
		}
	}
	layout.Groups, r.meta = nil, meta
	return r.ready()
}

// elements are the field's nodes as Parquet's schema would have them: every value may be null.
func (f *Field) elements() []element {
	leaf := element{leaf: true, why: f.Why, node: node{Name: f.Name, Physical: f.physical(), Length: int32(f.Size), Repetition: optional,
		Scale: int32(f.Scale), Precision: int32(f.Precision)}}
	switch f.Type {
	case Unsigned:
		leaf.logical = logicalUnsigned
	case Float:
		if f.Size == 2 {
			leaf.logical = logicalHalf
		}
	case Text:
		leaf.logical = logicalText
	case Decimal:
		leaf.logical = logicalDecimal
	case Time:
		leaf.logical, leaf.tick, leaf.clock = logicalTime, f.Tick, f.Clock
	}
	if !f.List {
		return []element{leaf}
	}
	return []element{{logical: logicalList, node: node{Name: f.Name, Repetition: optional, Children: 1}},
		{node: node{Name: "list", Repetition: repeated, Children: 1}}, leaf}
}

// physical is how the values are stored.
func (f *Field) physical() physical {
	switch f.Type {
	case Bool:
		return boolean
	case Text, Binary:
		return byteArray
	case FixedBinary:
		return fixedByteArray
	case Float:
		return map[int]physical{2: fixedByteArray, 4: floats, 8: doubles}[f.Size]
	case Null:
		return int32s // of which there are none
	}
	if p, ok := map[int]physical{1: int8s, 2: int16s, 4: int32s, 8: int64s}[f.Size]; ok {
		return p
	}
	return fixedByteArray // a wide decimal
}

// laid reads the only page of a chunk.
func (p *pages) laid(v *values) error {
	p.left = 0
	body, err := p.need(int(p.end - p.at))
	if err != nil {
		return err
	}
	made, err := p.w.r.layout.Page(&Memory{w: p.w}, p.w.r.before+p.group, p.c.leaf, body)
	if err != nil {
		return err
	}
	*v = values{p: p, encoding: encPlain, count: made.Count, present: made.Present, data: made.Values, reps: made.Reps, defs: made.Defs, offset: p.start}
	if made.Indexed {
		v.encoding, p.dictionary, p.dictValues = encRunsDictionary, made.Dictionary, made.Entries
	}
	return nil
}
