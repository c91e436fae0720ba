package tfrecord

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"slices"
	"unicode/utf8"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/source"
)

// MDS is the form of mosaicml-streaming's shards. A sample is a record, and its columns are features.
//
// A shard is a number n, n+1 offsets, all uint32, the columns in JSON, and the samples. A sample is the lengths of its columns
// that have no fixed one, uint32 each, and all columns' bytes.
const MDS = "mds"

// mdsWidths are the bytes of a value, by how it is encoded; 0: each has its own length.
var mdsWidths = map[string]int64{
	"bytes": 0, "str": 0, "jpeg": 0, "png": 0,
	"int": 8, "int8": 1, "int16": 2, "int32": 4, "int64": 8, "uint8": 1, "uint16": 2, "uint32": 4,
}

// mdsColumn is a column of a shard.
type mdsColumn struct {
	to       *column // nil: nobody asked for it
	width    int64   // 0: each value has its own
	unsigned bool
}

// mdsFile reads a shard.
type mdsFile struct {
	w       window
	count   int64
	offsets int64 // where they stand
	begin   int64 // of the first sample
	columns []mdsColumn
	lengths int64 // bytes of the lengths of a sample
}

// mdsColumns fills the columns. All that a shard says of places is checked against it before it is used.
func (o *Options) mdsColumns(ctx context.Context, f *file) error {
	held, err := source.Held(ctx, f.object)
	if err != nil {
		return err
	}
	defer held.Close()
	m := mdsFile{w: window{file: held, path: f.object.Path(), size: f.object.Stamp().Size}}
	if err := m.open(ctx, f); err != nil {
		return err
	}
	table := window{file: held, path: m.w.path, size: m.w.size} // offsets, while the other window is among samples
	at := m.begin
	for f.records = 0; f.records < m.count; f.records++ {
		word, err := table.bytes(ctx, m.offsets+4*(f.records+1), 4)
		if err != nil {
			return err
		}
		end := int64(binary.LittleEndian.Uint32(word))
		if end < at || end > m.w.size {
			return m.fail(errs.ErrDamaged, m.offsets+4*(f.records+1), "sample %d ends at %d: it begins at %d, and the file has %d bytes", f.records, end, at, m.w.size)
		}
		if err := m.sample(ctx, f, at, end); err != nil {
			return err
		}
		at = end
	}
	if at != m.w.size {
		return m.fail(errs.ErrDamaged, at, "the last sample ends %d bytes before the file does", m.w.size-at)
	}
	return nil
}

// open reads what stands before the samples.
func (m *mdsFile) open(ctx context.Context, f *file) *errs.Error {
	m.offsets = 4
	if m.w.size < 8 {
		return m.fail(errs.ErrDamaged, 0, "the file has %d bytes: no shard has so few", m.w.size)
	}
	head, err := m.w.bytes(ctx, 0, 8)
	if err != nil {
		return err
	}
	m.count, m.begin = int64(binary.LittleEndian.Uint32(head)), int64(binary.LittleEndian.Uint32(head[4:]))
	text := m.offsets + 4*(m.count+1)
	if text > m.begin || m.begin > m.w.size {
		return m.fail(errs.ErrDamaged, 0, "%d samples begin at %d: their offsets end at %d, and the file at %d: is this a shard of MDS?", m.count, m.begin, text, m.w.size)
	}
	if m.begin-text > mostFeatures {
		return m.fail(errs.ErrLimit, text, "%d bytes say what the columns are: at most %d do", m.begin-text, mostFeatures)
	}
	told, err := m.w.bytes(ctx, text, m.begin-text)
	if err != nil {
		return err
	}
	var s struct {
		Names     []string `json:"column_names"`
		Encodings []string `json:"column_encodings"`
		Sizes     []*int64 `json:"column_sizes"`
	}
	if wrong := json.Unmarshal(told, &s); wrong != nil || !utf8.Valid(told) {
		return m.fail(errs.ErrDamaged, text, "what the columns are cannot be read").Because(wrong)
	}
	if len(s.Names) > mostColumns {
		return tooMany().At(m.w.path)
	}
	if len(s.Encodings) != len(s.Names) || len(s.Sizes) != len(s.Names) {
		return m.fail(errs.ErrDamaged, text, "there are %d columns, %d encodings and %d sizes", len(s.Names), len(s.Encodings), len(s.Sizes))
	}
	f.first = s.Names[:min(len(s.Names), 100)]
	for i, name := range s.Names {
		made := mdsColumn{to: f.columns.named(name), unsigned: s.Encodings[i][:min(1, len(s.Encodings[i]))] == "u"}
		if s.Sizes[i] == nil {
			m.lengths += 4
		} else if made.width = *s.Sizes[i]; made.width <= 0 {
			return m.fail(errs.ErrDamaged, text, "the column %.200q has values of %d bytes", name, made.width)
		}
		if slices.Contains(s.Names[:i], name) {
			return m.fail(errs.ErrDamaged, text, "two columns are called %.200q", name)
		}
		if made.to != nil {
			width, known := mdsWidths[s.Encodings[i]]
			if !known {
				return m.fail(errs.ErrUnsupported, text, "the column %.200q is encoded as %.40q: of pictures bytes, jpeg and png are read, of labels str and whole numbers", name, s.Encodings[i]).InColumn(name)
			}
			if made.width != width {
				return m.fail(errs.ErrDamaged, text, "the column %.200q, encoded as %q, has values of %d bytes", name, s.Encodings[i], made.width).InColumn(name)
			}
		}
		m.columns = append(m.columns, made)
	}
	return nil
}

// sample adds the values of a sample to the columns.
func (m *mdsFile) sample(ctx context.Context, f *file, begin, end int64) *errs.Error {
	at := begin + m.lengths
	if at > end {
		return m.fail(errs.ErrDamaged, begin, "sample %d has %d bytes, and the lengths of its columns %d", f.records, end-begin, m.lengths)
	}
	block, err := m.w.bytes(ctx, begin, m.lengths)
	if err != nil {
		return err
	}
	lengths := slices.Clone(block) // of at most 16 kB; a number's place may be read in between
	for _, c := range m.columns {
		length := c.width
		if length == 0 {
			length, lengths = int64(binary.LittleEndian.Uint32(lengths)), lengths[4:]
		}
		if length > end-at {
			return m.fail(errs.ErrDamaged, at, "sample %d ends after %d of a column's %d bytes", f.records, end-at, length)
		}
		if c.to != nil {
			if err := m.value(ctx, f, c, at, length); err != nil {
				return err
			}
		}
		at += length
	}
	if at != end {
		return m.fail(errs.ErrDamaged, at, "sample %d has %d bytes behind its columns", f.records, end-at)
	}
	return nil
}

func (m *mdsFile) value(ctx context.Context, f *file, c mdsColumn, at, length int64) *errs.Error {
	if err := f.columns.take(33); err != nil {
		return err
	}
	c.to.reach(f.records + 1)
	c.to.lists(1)
	if c.width == 0 {
		c.to.kind = Bytes
		c.to.places.add(source.Extent{Object: f.columns.object, Offset: at, Length: length})
		return nil
	}
	word, err := m.w.bytes(ctx, at, length)
	if err != nil {
		return err
	}
	number := [8]byte{}
	if copy(number[:], word); !c.unsigned && word[length-1]&0x80 != 0 {
		for i := length; i < 8; i++ {
			number[i] = 0xff
		}
	}
	c.to.kind = Ints
	c.to.ints.add(int64(binary.LittleEndian.Uint64(number[:])))
	return nil
}

func (m *mdsFile) fail(kind error, at int64, format string, args ...any) *errs.Error {
	e := fail(kind, format, args...)
	e.Op = MDS
	return e.At(m.w.path).AtOffset(at)
}
