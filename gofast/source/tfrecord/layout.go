package tfrecord

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"slices"
	"unsafe"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/internal/store"
	"github.com/gofast-org/gofast/gofast/source"
)

// textAt is where 8 bytes say where the schema stands: behind the store's head. The arrays come next.
var textAt, headBytes = store.HeadBytes, store.HeadBytes + 8

// Schema says what an index holds, and where. It stands in the index itself, as JSON behind the arrays.
type Schema struct {
	Files   []FileSchema   `json:"files"`
	Columns []ColumnSchema `json:"columns"`
	First   []string       `json:"first"` // the names of the features of the first record, at most 100
	Size    int64          `json:"size"`
	Begin   int64          `json:"begin"`  // where the arrays begin
	End     int64          `json:"end"`    // behind them is the text of this
	Reused  bool           `json:"reused"` // it was there
	Stored  bool           `json:"stored"` // it lies where it was to be kept
}

// FileSchema is one file, with its stamp when it was read.
type FileSchema struct {
	Records int64        `json:"records"`
	Stamp   source.Stamp `json:"stamp"`
	Damage  string       `json:"damage"` // why the records behind were not read; "": all were
	// Inflated is where the content of a compressed file lies in the index, if it is one, and Bytes its length.
	Inflated int64 `json:"inflated"`
	Bytes    int64 `json:"bytes"`
	// Features is what a Table says of its columns, or a Tar in its member tarFeatures.
	Features string `json:"features"`
}

// ColumnSchema is one feature.
type ColumnSchema struct {
	Name   string `json:"name"`
	Kind   Kind   `json:"kind"`   // "": no record has it
	Values int64  `json:"values"` // of all records
	Starts int64  `json:"starts"` // where int64[records + 1] lie: each record's first value
	Has    int64  `json:"has"`    // where uint8[records] lie: 1 where a record has the feature
	At     int64  `json:"at"`     // where the values lie: source.Extent, float32 or int64
}

// file is a file that was read.
type file struct {
	object   source.Object
	stamp    source.Stamp
	records  int64
	columns  *columns
	first    []string
	damage   string
	features string
}

var native = binary.NativeEndian

func valueBytes(kind Kind) int64 {
	switch kind {
	case Bytes:
		return int64(unsafe.Sizeof(source.Extent{}))
	case Floats:
		return 4
	default:
		return 8
	}
}

// encode writes the index of files into the draft, which has at most so many bytes.
func (d *draft) encode(files []file, names []string, most int64) error {
	if names == nil {
		names = found(files)
	}
	if len(names) > mostColumns {
		return tooMany()
	}
	records, s := int64(0), Schema{Files: []FileSchema{}, Columns: []ColumnSchema{}, First: []string{}}
	for _, f := range files {
		described := FileSchema{Records: f.records, Stamp: f.stamp, Damage: f.damage, Features: f.features}
		if held, ok := f.object.(*content); ok {
			described.Inflated, described.Bytes = held.at, held.stamp.Size
		}
		s.Files = append(s.Files, described)
		s.First = append(s.First, f.first...)
		records += f.records
	}
	for _, name := range names {
		c := ColumnSchema{Name: name}
		for _, f := range files {
			own := f.columns.named(name)
			if own == nil || own.kind == "" {
				continue
			}
			if c.Kind == "" {
				c.Kind = own.kind
			}
			if own.kind != c.Kind {
				row := int64(0)
				for own.has.at(row) == 0 {
					row++
				}
				return differs(own.kind, c.Kind).At(f.object.Path()).AtRow(row, name)
			}
			c.Values += own.values()
		}
		c.Starts, c.Has = d.room(8*(records+1)), d.room(records)
		c.At = d.room(c.Values * valueBytes(c.Kind))
		s.Columns = append(s.Columns, c)
	}
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	at := d.end
	if at+int64(len(text)) > most {
		return fail(errs.ErrLimit, "the index of %d records and %d features needs %s, and there are %s for it: name the features that you use", records, len(names), errs.Bytes(int64(at)), errs.Bytes(int64(most)))
	}
	if err := d.mapped(at + int64(len(text))); err != nil {
		return err
	}
	native.PutUint64(d.data[textAt:], uint64(at))
	copy(d.data[at:], text)
	for _, c := range s.Columns {
		c.encode(d.data, files)
	}
	return nil
}

// named is the column of a name, or nil.
func (s *columns) named(name string) *column {
	if number, known := s.numbers[name]; known {
		return s.all[number]
	}
	return nil
}

// found is the names of all features, in the order in which they were seen first.
func found(files []file) []string {
	names, seen := []string{}, map[string]bool{}
	for _, f := range files {
		for _, c := range f.columns.all {
			if !seen[c.name] {
				seen[c.name] = true
				names = append(names, c.name)
			}
		}
	}
	return names
}

func (c *ColumnSchema) encode(data []byte, files []file) {
	starts, has, at, values := data[c.Starts:], data[c.Has:], data[c.At:], int64(0)
	for _, f := range files {
		own := f.columns.named(c.Name)
		for i := range f.records {
			start := values
			if own != nil {
				start += own.starts.at(i)
				has[i] = own.has.at(i)
			}
			native.PutUint64(starts[8*i:], uint64(start))
		}
		starts, has = starts[8*f.records:], has[f.records:]
		if own == nil {
			continue
		}
		values += own.values()
		at = put(put(put(at, own.places), own.floats), own.ints)
	}
	native.PutUint64(starts, uint64(values))
}

// put copies the values of a series, and gives what is left of data.
func put[T any](data []byte, values series[T]) []byte {
	for _, part := range values.parts() {
		data = data[copy(data, bytesOf(part)):]
	}
	return data
}

func bytesOf[T any](values []T) []byte {
	if len(values) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&values[0])), uintptr(len(values))*unsafe.Sizeof(values[0]))
}

// parse reads the schema of an index, and checks every number that is used to address memory.
func parse(data []byte, path string) (s Schema, err error) {
	bad := func() (Schema, error) {
		return Schema{}, fail(errs.ErrDamaged, "not a complete index of this version of gofast: delete it, or let it be built again").At(path)
	}
	size := int64(len(data))
	if size < headBytes {
		return bad()
	}
	text := int64(native.Uint64(data[textAt:]))
	if text < headBytes || text > size || json.Unmarshal(data[text:], &s) != nil {
		return bad()
	}
	within := func(at, count, each int64) bool {
		return count >= 0 && at >= headBytes && at%8 == 0 && at <= text && count <= (text-at)/each
	}
	records := int64(0)
	for _, f := range s.Files {
		if f.Records < 0 || f.Records > math.MaxInt64-1-records || f.Bytes != 0 && !within(f.Inflated, f.Bytes, 1) {
			return bad()
		}
		records += f.Records
	}
	for _, c := range s.Columns {
		if !slices.Contains([]Kind{"", Bytes, Floats, Ints}, c.Kind) || c.Kind == "" && c.Values > 0 {
			return bad()
		}
		if !within(c.Starts, records+1, 8) || !within(c.Has, records, 1) || !within(c.At, c.Values, valueBytes(c.Kind)) || !c.right(data, records, s.Files) {
			return bad()
		}
	}
	s.Size, s.Begin, s.End = size, headBytes, text
	return s, nil
}

// right says whether each record's values are some of the column's, and the bytes' places in files that there are.
func (c *ColumnSchema) right(data []byte, records int64, files []FileSchema) bool {
	before := uint64(0)
	if native.Uint64(data[c.Starts:]) != 0 || native.Uint64(data[c.Starts+8*records:]) != uint64(c.Values) {
		return false
	}
	for i := range records + 1 {
		start := native.Uint64(data[c.Starts+8*i:])
		if start < before || start > uint64(c.Values) {
			return false
		}
		before = start
	}
	if c.Kind != Bytes {
		return true
	}
	for i := range c.Values {
		place := data[c.At+i*valueBytes(Bytes):]
		object, packed := native.Uint32(place), native.Uint32(place[4:])
		if object >= uint32(len(files)) {
			return false
		}
		offset, length := int64(native.Uint64(place[8:])), int64(native.Uint64(place[16:]))
		if size := files[object].Stamp.Size; offset < 0 || length < 0 || offset > size || length > size-offset && (packed == 0 || packed == source.Pixels) {
			return false
		}
	}
	return true
}
