package arrow

import (
	"fmt"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/table"
	"github.com/gofast-org/gofast/gofast/table/parquet"
)

// kind is a type of the format, by its number.
type kind uint8

const (
	null kind = iota + 1
	integer
	floating
	binaries
	texts
	boolean
	decimal
	date
	clock
	timestamp
	interval
	list
	structure
	union
	fixedBinary
	fixedList
	mapping
	duration
	largeBinary
	largeTexts
	largeList
	runEndEncoded
	binaryViews
	textViews
	listViews
	largeListViews
)

// field is a column, or a part of one.
type field struct {
	parquet.Field
	kind     kind
	length   int // values of each fixedList
	children []field

	coded          bool // the column holds indexes into a dictionary, of this size
	dictionary     int64
	index          int
	signed         bool
	nodes, buffers int // that a record batch has for it, its children's with them; without the buffers of views
	views          int // fields among them that have more buffers than that
	valueViews     int // the same of the dictionary's values
	at             place
}

const (
	deepest   = 64 // fields inside of one another
	version4  = 3
	version5  = 4
	bigEndian = 1
)

// schema reads the columns.
func (f *file) schema(b *flat, t ref, version int64) error {
	fields := b.tables(t, 1)
	for _, note := range b.tables(t, 2) {
		switch b.text(note, 0) {
		case "pandas":
			f.layout.Pandas = b.text(note, 1)
		case parquet.HuggingFaceKey:
			f.layout.Features = b.text(note, 1)
		}
	}
	switch {
	case b.bad || t == 0:
		return f.fault(errs.ErrDamaged, "the schema cannot be read")
	case version != version4 && version != version5:
		return f.fault(errs.ErrUnsupported, fmt.Sprintf("version %d of the format's metadata", version+1))
	case b.integer(t, 0, 2, 0) == bigEndian:
		return f.fault(errs.ErrUnsupported, "the values have the byte order of big-endian machines: write the file again on this one")
	}
	left := 4*f.opts.Limits.Columns + 1
	for _, one := range fields {
		read, err := f.field(b, one, &left, deepest, version)
		if err != nil {
			return err
		}
		read.at = f.parts
		f.fields = append(f.fields, read)
		f.layout.Fields = append(f.layout.Fields, read.Field)
		f.parts = place{f.parts.node + read.nodes, f.parts.buffer + read.buffers, f.parts.view + read.views}
	}
	switch n := int64(len(fields)); {
	case b.bad:
		return f.fault(errs.ErrDamaged, "the schema cannot be read")
	case !f.dictionariesFit():
		return f.fault(errs.ErrDamaged, "columns of different types have one dictionary")
	case n == 0:
		return f.fault(errs.ErrSchema, "the file has no columns")
	case n > f.opts.Limits.Columns:
		return f.fault(errs.ErrLimit, fmt.Sprintf("%d columns, the limit is %d: raise limits={\"columns\": ...}", n, f.opts.Limits.Columns))
	}
	return nil
}

// dictionariesFit says that columns with one dictionary agree on what it holds.
func (f *file) dictionariesFit() bool {
	first := map[int64]*field{}
	for i := range f.fields {
		one := &f.fields[i]
		if !one.coded || one.Why != "" {
			continue
		}
		other, there := first[one.dictionary]
		if !there {
			first[one.dictionary] = one
		} else if one.kind != other.kind || one.Type != other.Type || one.Size != other.Size ||
			one.Precision != other.Precision || one.Scale != other.Scale || one.Tick != other.Tick {
			return false
		}
	}
	return true
}

func (f *file) field(b *flat, t ref, left *int64, deep int, version int64) (made field, err error) {
	if *left--; *left < 0 {
		return made, f.fault(errs.ErrLimit, fmt.Sprintf("the schema has more than %d fields, the limit is %d columns: raise limits={\"columns\": ...}",
			4*f.opts.Limits.Columns, f.opts.Limits.Columns))
	}
	if deep == 0 {
		return made, f.fault(errs.ErrLimit, fmt.Sprintf("fields lie deeper than %d in one another", deepest))
	}
	made.Name = b.text(t, 0)
	made.kind = kind(b.integer(t, 2, 1, 0))
	made.setType(b, b.table(t, 3))
	children := b.tables(t, 5)
	if b.bad {
		return made, f.fault(errs.ErrDamaged, "the schema cannot be read")
	}
	made.nodes, made.buffers = 1, buffersOf[made.kind]
	if made.kind == union && version == version4 {
		made.buffers++
	}
	if made.kind == union && b.integer(b.table(t, 3), 0, 2, 0) == 1 { // dense
		made.buffers++
	}
	if made.kind == binaryViews || made.kind == textViews {
		made.views = 1
	}
	for _, one := range children {
		child, err := f.field(b, one, left, deep-1, version)
		if err != nil {
			return made, err
		}
		made.children = append(made.children, child)
		made.nodes, made.buffers, made.views = made.nodes+child.nodes, made.buffers+child.buffers, made.views+child.views
	}
	made.setList()
	if coding := b.table(t, 4); coding != 0 {
		made.setDictionary(b, coding)
	}
	return made, nil
}

// buffersOf are those of a type itself: whether values are there, offsets or lengths, values.
var buffersOf = [256]int{integer: 2, floating: 2, binaries: 3, texts: 3, boolean: 2, decimal: 2, date: 2, clock: 2, timestamp: 2, interval: 2,
	list: 2, structure: 1, union: 1, fixedBinary: 2, fixedList: 1, mapping: 2, duration: 2, largeBinary: 3, largeTexts: 3, largeList: 2,
	binaryViews: 2, textViews: 2, listViews: 3, largeListViews: 3}

var units = [...]table.Unit{table.Second, table.Millisecond, table.Microsecond, table.Nanosecond}

// unit is a unit of time; 0 for one that is not known.
func unit(b *flat, t ref, absent int64) table.Unit {
	if n := b.integer(t, 0, 2, absent); n >= 0 && n < int64(len(units)) {
		return units[n]
	}
	return 0
}

// setType says what the values are.
func (f *field) setType(b *flat, t ref) {
	size := func(number int, absent int64) int { return int(b.integer(t, number, 4, absent)) }
	bits := func(n int) {
		if f.Size = n / 8; n%8 != 0 || f.Size < 1 || f.Size > 32 || f.Size&(f.Size-1) != 0 {
			f.Why = fmt.Sprintf("numbers of %d bits", n)
		}
	}
	switch f.kind {
	case null:
		f.Type = parquet.Null
	case integer:
		f.Type = parquet.Unsigned
		if b.integer(t, 1, 1, 0) != 0 {
			f.Type = parquet.Signed
		}
		if bits(size(0, 0)); f.Size > 8 {
			f.Why = "integers of more than 64 bits"
		}
	case floating:
		precision := b.integer(t, 0, 2, 0)
		if f.Type, f.Size = parquet.Float, 2<<(precision&3); precision < 0 || precision > 2 {
			f.Why = "floats of an unknown precision"
		}
	case boolean:
		f.Type = parquet.Bool
	case texts, largeTexts, textViews:
		f.Type = parquet.Text
	case binaries, largeBinary, binaryViews:
		f.Type = parquet.Binary
	case fixedBinary:
		if f.Type, f.Size = parquet.FixedBinary, size(0, 0); f.Size < 1 {
			f.Why = fmt.Sprintf("binaries of %d bytes", f.Size)
		}
	case decimal:
		f.Type, f.Precision, f.Scale = parquet.Decimal, size(0, 0), size(1, 0)
		if bits(size(2, 128)); f.Size < 4 {
			f.Why = "decimals of an unknown size"
		}
	case date:
		f.Type, f.Tick, f.Size = parquet.Time, table.Day, 4
		if b.integer(t, 0, 2, 1) != 0 {
			f.Tick, f.Size = table.Millisecond, 8
		}
	case clock:
		f.Type, f.Tick, f.Clock = parquet.Time, unit(b, t, 1), true
		if bits(size(1, 32)); f.Size != 4 && f.Size != 8 {
			f.Why = "times of an unknown size"
		}
	case timestamp:
		f.Type, f.Tick, f.Size = parquet.Time, unit(b, t, 0), 8
	case duration: // no date, yet a count in a unit that only dates= can ask for
		f.Type, f.Tick, f.Size = parquet.Time, unit(b, t, 1), 8
	case list, largeList:
		f.length = -1
	case fixedList:
		f.length = size(0, 0)
	case structure, union, mapping, listViews, largeListViews:
		f.Why = "a struct, a map or a list of lists"
	default:
		f.Why = "values of a type that gofast does not read"
	}
}

// setList makes lists of the one child's values.
func (f *field) setList() {
	if f.kind != list && f.kind != largeList && f.kind != fixedList {
		return
	}
	f.Why = "a struct, a map or a list of lists"
	if len(f.children) != 1 {
		return
	}
	child := &f.children[0]
	switch {
	case child.children != nil: // the reason stands
	case child.Why != "":
		f.Why = child.Why
	case child.Type == parquet.Text || child.Type == parquet.Binary:
		f.Why = "a list of strings or binaries"
	case child.coded || child.Type == parquet.Null || child.Type == parquet.FixedBinary:
		f.Why = "a list of categories, binaries or nothing"
	default:
		name := f.Name
		f.Field = child.Field
		f.Name, f.List = name, true
	}
}

// setDictionary makes a column of indexes: what was read so far is the type of the dictionary's values.
func (f *field) setDictionary(b *flat, coding ref) {
	f.coded, f.dictionary = true, b.integer(coding, 0, 8, 0)
	t := b.table(coding, 1)
	f.index, f.signed = 4, true // as the format says where it is not told
	if t != 0 {
		bits := int(b.integer(t, 0, 4, 0))
		f.index, f.signed = bits/8, b.integer(t, 1, 1, 0) != 0
		if bits != 8 && bits != 16 && bits != 32 && bits != 64 {
			f.Why = fmt.Sprintf("indexes of %d bits into a dictionary", bits)
		}
	}
	switch {
	case f.Why == "" && (f.List || f.Type == parquet.Null || f.Type == parquet.Bool):
		f.Why = "a dictionary of other values than numbers, dates and texts"
	}
	f.nodes, f.buffers, f.views, f.valueViews = 1, 2, 0, f.views
}
