package tfrecord

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/source"
)

// MDS is the form of mosaicml-streaming's shards, and LitData that of litData's chunks. A sample is a record, and its columns are
// features.
//
// Both are a number n, n+1 offsets, all uint32, and the samples; between them a shard of MDS has its columns in JSON. A sample is
// the lengths of its columns, uint32 each, and all columns' bytes. In MDS, columns of a fixed length have none there.
const (
	MDS     = "mds"
	LitData = "litdata"
)

// Leaf is a column of LitData, whose index says it.
type Leaf struct {
	Name     string   `json:"name"`
	Path     []string `json:"path"` // the keys that lead to it, in one another
	Encoding string   `json:"encoding"`
	size     *int64   // of MDS; nil: each value has its own length
}

// mdsWidths are the bytes of a value, by form and by how it is encoded; 0: each has its own length.
var mdsWidths = map[string]map[string]int64{
	MDS: {
		"bytes": 0, "str": 0, "jpeg": 0, "png": 0, "pil": 0,
		"int": 8, "int8": 1, "int16": 2, "int32": 4, "int64": 8, "uint8": 1, "uint16": 2, "uint32": 4,
	},
	LitData: {"bytes": 0, "str": 0, "jpeg": 0, "file": 0, "image": 0, "pil": 0, "int": 8},
}

// mdsColumn is a column of a shard.
type mdsColumn struct {
	to       *column // nil: nobody asked for it
	path     []string
	name     string
	width    int64 // 0: each value has its own
	seen     bool  // its values are visited
	picture  bool  // they are pictures, as the shard says
	told     bool  // samples say how long the value is
	unsigned bool
	pixels   bool // a picture without a file format
}

// mdsFile reads a shard.
type mdsFile struct {
	form    string
	w       window
	count   int64
	offsets int64 // where they stand
	begin   int64 // of the first sample
	end     int64 // behind the last one
	columns []mdsColumn
	lengths int64 // bytes of the lengths of a sample
	visit   visit
}

// mdsColumns fills the columns. All that a shard says of places is checked against it before it is used.
func (o *Options) mdsColumns(ctx context.Context, f *file) error {
	held, err := source.Held(ctx, f.object)
	if err != nil {
		return err
	}
	defer held.Close()
	m := mdsFile{form: o.Form, w: window{file: held, path: f.object.Path(), size: f.object.Stamp().Size}, visit: visit{o: o, content: held}}
	return m.visit.end(ctx, m.samples(ctx, held, f, o))
}

func (m *mdsFile) samples(ctx context.Context, held io.ReaderAt, f *file, o *Options) error {
	if err := m.open(ctx, f, o); err != nil {
		return err
	}
	table := window{file: held, path: m.w.path, size: m.w.size} // offsets, while the other window is among samples
	at := m.begin
	if m.begin == m.end && m.end < m.w.size {
		return m.rows(ctx, f, o)
	}
	for f.records = 0; f.records < m.count; f.records++ {
		word, err := table.bytes(ctx, m.offsets+4*(f.records+1), 4)
		if err != nil {
			return err
		}
		end := int64(binary.LittleEndian.Uint32(word))
		if end < at || end > m.end {
			return m.fail(errs.ErrDamaged, m.offsets+4*(f.records+1), "sample %d ends at %d: it begins at %d, and the last one ends at %d", f.records, end, at, m.end)
		}
		if err := m.sample(ctx, f, at, end); err != nil {
			return err
		}
		at = end
	}
	if at != m.end {
		return m.fail(errs.ErrDamaged, at, "the last sample ends %d bytes before the file does", m.end-at)
	}
	return nil
}

// rows fills the columns of a chunk that has an Arrow file in the place of samples, as newer versions of litData write it
// where no value is a picture to them: a column is a leaf, or a struct of leaves.
func (m *mdsFile) rows(ctx context.Context, f *file, o *Options) error {
	if bySuffix(m.w.path) != "plain" {
		return m.fail(errs.ErrUnsupported, 0, "it is compressed, and has rows of Arrow: unpack it beside itself, as litData does")
	}
	for i, c := range m.columns {
		if c.to == nil && !c.seen {
			continue
		}
		f.records = 0
		err := o.Rows(ctx, m.w.path, source.Extent{Offset: m.end, Length: m.w.size - rowsTail - m.end}, c.path, c.width > 0, func(value *source.Extent) error {
			if f.records == m.count {
				return m.fail(errs.ErrDamaged, 0, "it has more rows than %d, which it is said to have", m.count)
			}
			if value != nil {
				if err := m.value(ctx, f, m.columns[i], value.Offset, value.Length); err != nil {
					return err
				}
			}
			f.records++
			return nil
		})
		if err != nil {
			return err
		}
		if f.records < m.count {
			return m.fail(errs.ErrDamaged, 0, "it has %d rows, and is said to have %d", f.records, m.count)
		}
	}
	f.records = m.count
	return nil
}

// open reads what stands before the samples.
func (m *mdsFile) open(ctx context.Context, f *file, o *Options) *errs.Error {
	m.offsets, m.end = 4, m.w.size
	if m.w.size < 8 {
		return m.fail(errs.ErrDamaged, 0, "the file has %d bytes: no shard has so few", m.w.size)
	}
	if m.form == LitData && m.w.size >= rowsTail {
		tail, err := m.w.bytes(ctx, m.w.size-rowsTail, rowsTail)
		if err != nil {
			return err
		}
		if string(tail[4:]) == rowsMagic {
			m.end -= rowsTail + int64(binary.LittleEndian.Uint32(tail))
		}
	}
	head, err := m.w.bytes(ctx, 0, 8)
	if err != nil {
		return err
	}
	m.count, m.begin = int64(binary.LittleEndian.Uint32(head)), int64(binary.LittleEndian.Uint32(head[4:]))
	text := m.offsets + 4*(m.count+1)
	if text > m.begin || m.begin > m.end {
		return m.fail(errs.ErrDamaged, 0, "%d samples begin at %d: their offsets end at %d, and the last one at %d: is this a shard?", m.count, m.begin, text, m.end)
	}
	leaves := o.Leaves
	if m.form == MDS {
		if leaves, err = m.leaves(ctx, text); err != nil {
			return err
		}
	} else if m.begin > text {
		return m.fail(errs.ErrDamaged, text, "%d bytes stand between the offsets and the samples", m.begin-text)
	}
	if len(leaves) > mostColumns {
		return tooMany().At(m.w.path)
	}
	seen := map[string]bool{}
	for _, leaf := range leaves {
		if err := m.column(f, leaf, text); err != nil {
			return err
		}
		if seen[leaf.Name] {
			return m.fail(errs.ErrDamaged, text, "two columns are called %.200q", leaf.Name)
		}
		seen[leaf.Name] = true
	}
	return nil
}

// leaves are the columns that a shard of MDS says it has.
func (m *mdsFile) leaves(ctx context.Context, text int64) ([]Leaf, *errs.Error) {
	if m.begin-text > mostFeatures {
		return nil, m.fail(errs.ErrLimit, text, "%d bytes say what the columns are: at most %d do", m.begin-text, mostFeatures)
	}
	told, err := m.w.bytes(ctx, text, m.begin-text)
	if err != nil {
		return nil, err
	}
	var parts map[string]json.RawMessage // whose keys are told apart by case, as a struct's are not
	wrong := json.Unmarshal(told, &parts)
	names, encodings, sizes := []string(nil), []string(nil), []*int64(nil)
	for key, part := range map[string]any{"column_names": &names, "column_encodings": &encodings, "column_sizes": &sizes} {
		if wrong == nil {
			wrong = json.Unmarshal(parts[key], part)
		}
	}
	if wrong != nil || !utf8.Valid(told) {
		return nil, m.fail(errs.ErrDamaged, text, "what the columns are cannot be read").Because(wrong)
	}
	if len(encodings) != len(names) || len(sizes) != len(names) {
		return nil, m.fail(errs.ErrDamaged, text, "there are %d columns, %d encodings and %d sizes", len(names), len(encodings), len(sizes))
	}
	made := make([]Leaf, len(names))
	for i, name := range names {
		made[i] = Leaf{Name: name, Encoding: encodings[i], size: sizes[i]}
	}
	return made, nil
}

// column adds a column, the next one.
func (m *mdsFile) column(f *file, leaf Leaf, text int64) *errs.Error {
	encoding, _, _ := strings.Cut(leaf.Encoding, ":") // "file:jpg", "image:jpeg"
	c := mdsColumn{name: leaf.Name, path: leaf.Path, to: f.columns.named(leaf.Name), told: leaf.size == nil, unsigned: strings.HasPrefix(encoding, "u"), pixels: encoding == "pil"}
	c.picture = slices.Contains([]string{"jpeg", "png", "image"}, encoding)
	c.seen = m.visit.wanted() && (c.picture || c.pixels || encoding == "bytes" || encoding == "file")
	if len(f.first) < 100 {
		f.first = append(f.first, leaf.Name)
	}
	if c.told {
		m.lengths += 4
	} else if c.width = *leaf.size; c.width <= 0 {
		return m.fail(errs.ErrDamaged, text, "the column %.200q has values of %d bytes", leaf.Name, c.width)
	}
	if c.to != nil {
		width, known := mdsWidths[m.form][encoding]
		if !known {
			return m.fail(errs.ErrUnsupported, text, "the column %.200q is encoded as %.40q: files of pictures are read, of labels str and whole numbers", leaf.Name, leaf.Encoding).InColumn(leaf.Name)
		}
		if m.form == LitData {
			c.width = width
		}
		if c.width != width {
			return m.fail(errs.ErrDamaged, text, "the column %.200q, encoded as %q, has values of %d bytes", leaf.Name, encoding, c.width).InColumn(leaf.Name)
		}
	}
	m.columns = append(m.columns, c)
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
		if c.told {
			length, lengths = int64(binary.LittleEndian.Uint32(lengths)), lengths[4:]
		}
		if length > end-at || c.width > 0 && length != c.width {
			return m.fail(errs.ErrDamaged, at, "sample %d ends after %d bytes, and a column has %d", f.records, end-at, length)
		}
		if c.to != nil || c.seen {
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
	if c.pixels {
		if err := m.pixels(ctx, at, length); err != nil {
			return err
		}
	}
	if c.seen {
		name := fmt.Sprintf("sample %d, column %.200q", f.records, c.name)
		if err := m.visit.see(ctx, Member{Name: name, At: at, Size: length, Picture: c.picture, Pixels: c.pixels}); err != nil {
			return unread(err)
		}
	}
	if c.to == nil {
		return nil
	}
	if err := f.columns.take(33); err != nil {
		return err
	}
	c.to.reach(f.records + 1)
	c.to.lists(1)
	if c.width == 0 {
		c.to.kind = Bytes
		place := source.Extent{Object: f.columns.object, Offset: at, Length: length}
		if c.pixels {
			place.Packed = source.Pixels
		}
		c.to.places.add(place)
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
	e.Op = m.form
	return e.At(m.w.path).AtOffset(at)
}
