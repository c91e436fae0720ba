package parquet

import (
	"strings"

	"github.com/parquet-go/parquet-go/encoding/thrift"

	"github.com/gofast-org/gofast/gofast/table"
)

// What gofast reads of a footer: by the format's numbers, for parquet-go to fill, and
// as it is kept. The library's own structures have all fields, and with them lists
// whose memory nothing bounds, unions that hide an unknown member, and types that
// fastparquet does not keep to: one wrong field that nobody reads refuses the file.

// node is one node of the schema.
type node struct {
	Physical   physical   `thrift:"1"`
	Length     int32      `thrift:"2"` // of a fixed-length binary
	Repetition repetition `thrift:"3"`
	Name       string     `thrift:"4"`
	Children   int32      `thrift:"5"`
	Scale      int32      `thrift:"7"`
	Precision  int32      `thrift:"8"`
}

// storedElement is a node with what its values mean.
type storedElement struct {
	node
	Converted thrift.Null[int32] `thrift:"6"`
	Logical   struct {
		Decimal struct {
			Scale     int32 `thrift:"1,required"`
			Precision int32 `thrift:"2,required"`
		} `thrift:"5"`
		Time      storedTime `thrift:"7"`
		Timestamp storedTime `thrift:"8"`
		Integer   struct {
			Bits   int8 `thrift:"1"`
			Signed bool `thrift:"2"`
		} `thrift:"10"`
	} `thrift:"10"`
	member int16 // of the union Logical, by its number; 0 without one
}

// storedTime is a time or timestamp. Whether it is UTC or local changes no number.
type storedTime struct {
	Unit struct {
		Milli *struct{} `thrift:"1"`
		Micro *struct{} `thrift:"2"`
		Nano  *struct{} `thrift:"3"`
	} `thrift:"2"`
}

// read reads the next node. The library does not tell a member of the union that it
// does not know from none, so the walk notes it.
func (s *storedElement) read(t *metaReader) error {
	*s = storedElement{node: node{Physical: -1}}
	return t.structure(s, func(id int16, kind thrift.Type) error {
		if id != 10 || kind != thrift.STRUCT {
			return t.skip(id, kind)
		}
		return t.fields(func(id int16, kind thrift.Type) error {
			if s.member != 0 || id < 1 {
				return errThriftInvalid // a union has one member
			}
			s.member = id
			return t.skip(id, kind)
		})
	})
}

// element is a node of the schema, depth first.
type element struct {
	node
	leaf    bool
	logical logical
	tick    table.Unit // of dates and times; 0 for all others
	clock   bool       // times of a day
	bits    int        // of integers that are stored in wider ones; 0 where the file does not say
	why     string     // the values cannot be used; of a Layout
}

func (s *storedElement) element() element {
	e := element{node: s.node, leaf: s.Children == 0}
	e.Name = strings.Clone(s.Name)
	if e.Physical > fixedByteArray {
		e.Physical = -1 // unknown; those of a Layout are no file's
	}
	if n, ok := s.Converted.Get(); ok {
		e.logical, e.tick = convertedType(n)
		e.clock = n == 7 || n == 8
		if n >= 11 && n <= 18 { // UINT_8 to UINT_64, INT_8 to INT_64
			e.bits = 8 << ((n - 11) % 4)
		}
	}
	switch l := &s.Logical; s.member {
	case 0, 11: // of null, every value is missing
	case 1, 4, 12: // STRING, ENUM, JSON
		e.logical = logicalText
	case 3:
		e.logical = logicalList
	case 5:
		e.logical, e.Scale, e.Precision = logicalDecimal, l.Decimal.Scale, l.Decimal.Precision
	case 6:
		e.logical, e.tick = logicalTime, table.Day
	case 7:
		e.logical, e.tick, e.clock = logicalTime, l.Time.tick(), true
	case 8:
		e.logical, e.tick, e.clock = logicalTime, l.Timestamp.tick(), false
	case 10:
		e.logical = logicalUnsigned
		if l.Integer.Signed {
			e.logical = logicalSigned
		}
		switch b := l.Integer.Bits; b {
		case 8, 16, 32, 64:
			e.bits = int(b)
		}
	case 15:
		e.logical = logicalHalf
	default:
		e.logical = logicalOther
	}
	return e
}

// tick is 0 for a unit that is not known.
func (t *storedTime) tick() table.Unit {
	switch {
	case t.Unit.Milli != nil:
		return table.Millisecond
	case t.Unit.Micro != nil:
		return table.Microsecond
	case t.Unit.Nano != nil:
		return table.Nanosecond
	default:
		return 0
	}
}

// convertedType maps the older annotation, by the format's numbers.
func convertedType(n int32) (logical, table.Unit) {
	switch n {
	case 0, 4, 19: // UTF8, ENUM, JSON
		return logicalText, 0
	case 3:
		return logicalList, 0
	case 5:
		return logicalDecimal, 0
	case 6:
		return logicalTime, table.Day
	case 7, 9:
		return logicalTime, table.Millisecond
	case 8, 10:
		return logicalTime, table.Microsecond
	case 11, 12, 13, 14:
		return logicalUnsigned, 0
	case 15, 16, 17, 18:
		return logicalSigned, 0
	case 21: // an interval is three numbers
		return logicalTime, 0
	default:
		return logicalOther, 0
	}
}

// storedChunk is one column of one row group.
type storedChunk struct {
	File string `thrift:"1"`
	Meta struct {
		Physical   physical `thrift:"1,required"`
		Codec      codec    `thrift:"4,required"`
		Values     int64    `thrift:"5,required"`
		Compressed int64    `thrift:"7,required"`
		Offset     int64    `thrift:"9,required"`
		Dictionary int64    `thrift:"11"`
	} `thrift:"3"`
	Encryption *struct{} `thrift:"8"`
	Encrypted  []byte    `thrift:"9"`
}

// chunk is one column of one row group.
type chunk struct {
	offset     int64 // of the first page
	compressed int64 // bytes of all pages with their headers
	values     int64 // with nulls; more than rows in a list
	codec      codec
	physical   physical
	foreign    bool // lies in another file, or is encrypted
}

func (s *storedChunk) chunk() chunk {
	m := &s.Meta
	k := chunk{offset: m.Offset, compressed: m.Compressed, values: m.Values, codec: m.Codec, physical: m.Physical,
		foreign: s.File != "" || s.Encryption != nil || s.Encrypted != nil}
	// Some writers store 0 for "none".
	if m.Dictionary > 0 && m.Dictionary < k.offset {
		k.offset = m.Dictionary
	}
	return k
}
