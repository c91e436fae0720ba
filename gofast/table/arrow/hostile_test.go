package arrow

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/internal/limits"
	"github.com/gofast-org/gofast/gofast/table"
	"github.com/gofast-org/gofast/gofast/table/parquet"
	"github.com/gofast-org/gofast/gofast/table/tabletest"
)

// smallFiles are those that testdata/make.py wrote.
func smallFiles(tb testing.TB) map[string][]byte {
	files := map[string][]byte{}
	paths, err := filepath.Glob("testdata/*.arrow*")
	if err != nil || len(paths) != 6 {
		tb.Fatal(paths, err)
	}
	for _, path := range paths {
		if files[filepath.Base(path)], err = os.ReadFile(path); err != nil {
			tb.Fatal(err)
		}
	}
	return files
}

func TestFlippedBytes(t *testing.T) { tabletest.Flip(t, Open, smallFiles(t)) }

func FuzzOpen(f *testing.F) { tabletest.Fuzz(f, Open, smallFiles(f)) }

func open(t *testing.T, content []byte) (table.Reader, error) {
	f := tabletest.File(t, content)
	t.Cleanup(func() { f.Close() })
	return Open(f, table.Options{})
}

// decode reads one column of a file.
func decode(t *testing.T, content []byte, name string, fill *float64) (*tabletest.Decoded, error) {
	r, err := open(t, content)
	if err != nil {
		return nil, err
	}
	for i, c := range r.Columns() {
		if c.Name == name {
			sel := table.Selection{Features: []int{i}, Fill: fill}
			if c.Text {
				sel = table.Selection{Labels: []int{i}}
			}
			return tabletest.Decode(t.Context(), r, sel, nil, 1<<20)
		}
	}
	t.Fatal("no column", name)
	return nil, nil
}

func TestValues(t *testing.T) {
	files, nine := smallFiles(t), 9.0
	for _, c := range []struct {
		file, column string
		want         []float64
	}{
		{"numbers.arrow", "a", []float64{0, 1, 2, 3, 4, 5}},
		{"numbers.arrow", "b", []float64{1, 9, 3, 9, -5, 6}},
		{"numbers.arrow", "c", []float64{0.5, 1.5, 9, 3.5, 4.5, 5.5}},
		{"numbers.arrow", "d", []float64{1, 9, 0, 1, 1, 0}},
		{"numbers.arrow", "e", []float64{1.25, 9, 1.25, 9, 1.25, 9}},
		{"numbers.arrow", "n", []float64{9, 9, 9, 9, 9, 9}},
		{"lists.arrow", "f", []float64{0, 1, 7, 1, 2, 7, 2, 3, 7, 3, 4, 7, 4, 5, 7, 5, 6, 7}},
		{"lists.arrow", "l", []float64{1, 2, 9, 9, 3, 9, 4, 5, 6, 7, 8, 9}},
		{"lists.arrow", "p", []float64{0, 9, 1, 9, 2, 9, 3, 9, 4, 9, 5, 9}},
		{"texts.arrow", "i", []float64{5, 70000, 5, 9, 5, 5}},
		{"texts.arrows", "i", []float64{5, 70000, 5, 9, 5, 5}},
		{"old.arrows", "i", []float64{5, 70000, 5, 9, 5, 5}},
	} {
		d, err := decode(t, files[c.file], c.column, &nine)
		if err != nil {
			t.Errorf("%s of %s: %v", c.column, c.file, err)
			continue
		}
		got := d.Float64s()
		for i, want := range c.want {
			if len(got) != len(c.want) || got[i] != want {
				t.Errorf("%s of %s: %v, want %v", c.column, c.file, got, c.want)
				break
			}
		}
	}
}

// first is the first record batch of a file, and where its metadata lie.
func first(t *testing.T, content []byte) (b *batch, at int) {
	f := &file{File: tabletest.File(t, content), opts: table.Options{}.WithDefaults(), layout: &parquet.Layout{}, dictionaries: map[int64][]*batch{}}
	defer f.Close()
	if err := f.readFile(); err != nil {
		t.Fatal(err)
	}
	return f.batches[0], bytes.Index(content, f.batches[0].meta.b)
}

// What a file claims is refused before memory is taken for it, or its bytes are read twice.
func TestClaims(t *testing.T) {
	files := smallFiles(t)
	with := func(name string, at int, v any) []byte {
		content := append([]byte{}, files[name]...)
		if at < 0 {
			at += len(content)
		}
		if _, err := binary.Encode(content[at:], binary.LittleEndian, v); err != nil {
			t.Fatal(err)
		}
		return content
	}
	numbers, at := first(t, files["numbers.arrow"])
	node := func(i int) int { return at + numbers.nodes + nodeSize*i }
	buffer := func(i int) int { return at + numbers.buffers + bufferSize*i }
	texts, textsAt := first(t, files["texts.arrow"])
	offsets, _ := texts.buffer(1)
	lists, _ := first(t, files["lists.arrow"])
	packed, _ := lists.buffer(3) // the first values of lists
	end := len(files["numbers.arrow"])
	whole, stream := files["numbers.arrow"], files["texts.arrows"]
	for _, c := range []struct {
		name    string
		content []byte
		column  string // "" where the file is refused at once
		kind    error
		text    string
	}{
		{"a footer longer than the file", with("numbers.arrow", -10, int32(1<<30)), "", errs.ErrDamaged, "a footer of 1073741824 bytes in a file of"},
		{"a negative footer", with("numbers.arrow", -10, int32(-8)), "", errs.ErrDamaged, "a footer of -8 bytes"},
		{"a file that was never closed", whole[:end-4], "", errs.ErrDamaged, "no ARROW1 at the end"},
		{"a message longer than the stream", with("texts.arrows", 4, int32(1<<30)), "", errs.ErrDamaged, "cut inside of a message"},
		{"a stream that was cut", stream[:len(stream)-20], "", errs.ErrDamaged, "cut inside of a message"},
		{"two streams", append(append([]byte{}, stream...), stream...), "", errs.ErrUnsupported, "behind the end of the stream"},
		{"no message", with("texts.arrows", 4, int32(-1)), "", errs.ErrDamaged, "no message begins here"},
		{"a column of other rows", with("numbers.arrow", node(1), int64(5)), "", errs.ErrDamaged, "5 values for 4 rows"},
		{"a buffer behind the body", with("numbers.arrow", buffer(1)+8, int64(1<<40)), "", errs.ErrDamaged, "lies outside of the body"},
		{"a buffer before the body", with("numbers.arrow", buffer(1), int64(-8)), "", errs.ErrDamaged, "overlaps another one"},
		{"a buffer in another one", with("numbers.arrow", buffer(3), int64(0)), "", errs.ErrDamaged, "overlaps another one"},
		{"values that are not there", with("numbers.arrow", buffer(1)+8, int64(3)), "a", errs.ErrDamaged, "3 bytes of values, 4 values of 1 bytes are declared"},
		{"more nulls than values", with("numbers.arrow", node(1)+8, int64(5)), "b", errs.ErrDamaged, "4 values, 5 of them null"},
		{"nulls that are not there", with("numbers.arrow", node(1)+8, int64(3)), "b", errs.ErrDamaged, "2 of 4 values are null, 3 are declared"},
		{"texts behind their bytes", with("texts.arrow", int(texts.body+offsets)+16, int32(1<<30)), "t", errs.ErrDamaged, "texts of 1073741824 bytes"},
		{"texts from back to front", with("texts.arrow", int(texts.body+offsets)+4, int32(1<<30)), "t", errs.ErrDamaged, "behind one of 1073741824"},
		{"views without buffers", with("texts.arrow", textsAt+texts.variadic, int64(-1)), "", errs.ErrDamaged, "says that a column has -1"},
		{"a packed buffer of terabytes", with("lists.arrow", int(lists.body+packed), int64(1<<50)), "l", errs.ErrDamaged, "holds 1125899906842624 bytes"},
		{"a packed buffer of gigabytes", with("lists.arrow", int(lists.body+packed), int64(1<<39)), "l", errs.ErrLimit, "memory"},
	} {
		var err error
		if c.column == "" {
			_, err = open(t, c.content)
		} else {
			_, err = decode(t, c.content, c.column, new(float64))
		}
		if !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// A schema of a few hundred bytes has any number of fields: here each one has two children, which are the same.
func TestFieldsAreCounted(t *testing.T) {
	const vtable, size = 16, 16 + 8 + 12 // a vtable, a table, a vector
	var b []byte
	for level := range 80 {
		for _, v := range []uint16{vtable, 8, 0, 0, 0, 0, 0, 4} {
			b = binary.LittleEndian.AppendUint16(b, v)
		}
		table := size*level + vtable
		for _, v := range []int{vtable, 4, 2, table + size - (table + 12), table + size - (table + 16)} {
			b = binary.LittleEndian.AppendUint32(b, uint32(v))
		}
	}
	for _, columns := range []int64{10, 1 << 20} { // too many, too deep
		f := &file{File: tabletest.File(t, []byte("x")), opts: table.Options{Limits: limits.Limits{Columns: columns}}.WithDefaults()}
		left := 4*columns + 1
		if _, err := f.field(&flat{b: b}, vtable, &left, deepest, version5); !errors.Is(err, errs.ErrLimit) {
			t.Errorf("%d columns: %v", columns, err)
		}
		f.Close()
	}
}

// Columns that share a dictionary read its bytes as their own type's.
func TestColumnsOfOneDictionaryAreOfOneType(t *testing.T) {
	wide := field{Field: parquet.Field{Type: parquet.Signed, Size: 8}, kind: integer, coded: true, dictionary: 7}
	narrow, texts, other, refused := wide, wide, wide, wide
	narrow.Size = 4
	texts.kind = textViews
	other.Size, other.dictionary = 4, 8
	refused.Size, refused.Why = 4, "it is not read"
	for _, second := range []field{narrow, texts} {
		if (&file{fields: []field{wide, second}}).dictionariesFit() {
			t.Errorf("%+v beside %+v", second, wide)
		}
	}
	if !(&file{fields: []field{wide, wide, other, refused}}).dictionariesFit() {
		t.Error("columns that fit are refused")
	}
}

// A small file may let all of its tables share one long text.
func TestSharedPartsAreCounted(t *testing.T) {
	b := make([]byte, 64)
	for at, v := range map[int]uint32{0: 16, 16: 8, 20: 4, 24: 32} {
		binary.LittleEndian.PutUint32(b[at:], v)
	}
	binary.LittleEndian.PutUint16(b[8:], 6)
	binary.LittleEndian.PutUint16(b[12:], 4)
	f, read := flat{b: b}, 0
	for f.text(f.root(), 0) != "" && !f.bad {
		read++
	}
	if read < mostShared || read > 2*mostShared+1 || !f.bad {
		t.Errorf("a text of half of the file was read %d times, bad: %v", read, f.bad)
	}
}
