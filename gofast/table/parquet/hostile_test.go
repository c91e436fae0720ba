package parquet

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	pq "github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/thrift"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/internal/limits"
	"github.com/gofast-org/gofast/gofast/source"
	"github.com/gofast-org/gofast/gofast/table"
	"github.com/gofast-org/gofast/gofast/table/tabletest"
)

// smallFiles are valid files of a few rows over the features that have code of
// their own.
func smallFiles(tb testing.TB) map[string][]byte {
	rng := rand.New(rand.NewPCG(9, 9))
	files := map[string][]byte{}
	numbers := func(codec string, version int, optional bool) []byte {
		tab := fileOf{perRows: 12, options: []pq.WriterOption{pq.DataPageVersion(version), pq.PageBufferSize(32), pq.DataPageStatistics(false)}}
		for i, c := range []struct{ kind, encoding string }{{"byte64", "dict"}, {"short32", "plain"}, {"byte64", "delta"}, {"double", "split"}, {"bool", "rle"}} {
			node := encoded(map[string]pq.Node{"byte64": pq.Leaf(pq.Int64Type), "short32": pq.Leaf(pq.Int32Type),
				"double": pq.Leaf(pq.DoubleType), "bool": pq.Leaf(pq.BooleanType)}[c.kind], c.encoding)
			if optional {
				node = pq.Optional(node)
			}
			tab.add(fmt.Sprint("c", i), pq.Compressed(node, codecs[codec]), draw(rng, c.kind, 16, optional))
		}
		return tab.bytes(tb)
	}
	files["snappy"] = numbers("snappy", 1, true)
	files["plain"] = numbers("none", 2, true)
	files["zstd"] = numbers("zstd", 2, false)
	files["images"] = imageFile(tb, 12)
	files["times"], _, _ = timeFile(tb, 6)
	return files
}

// imageFile holds a fixed-length binary, a list and a text label.
func imageFile(tb testing.TB, rows int) []byte {
	type row struct {
		Binary [5]byte `parquet:"binary"`
		Label  string  `parquet:"label,dict"`
		List   []int32 `parquet:"list,list,snappy"`
		Text   string  `parquet:"text,delta"`
		Image  struct {
			Path  string `parquet:"path,optional"`
			Bytes []byte `parquet:"bytes,optional,snappy"`
		} `parquet:"image"`
	}
	var out bytes.Buffer
	w := pq.NewGenericWriter[row](&out, pq.PageBufferSize(40))
	for i := range rows {
		r := row{Label: []string{"cat", "dog", "bird"}[i%3], Text: fmt.Sprint("text ", i%4)}
		r.Image.Bytes = bytes.Repeat([]byte{byte(i)}, i)
		for k := range r.Binary {
			r.Binary[k] = byte(i*7 + k)
			r.List = append(r.List, int32(i+k))
		}
		if _, err := w.Write([]row{r}); err != nil {
			tb.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return out.Bytes()
}

// TestFlippedBytes changes every byte of small files, in one of five ways by
// turns (in each of them with GOFAST_SOAK=1: 40 s more), and cuts them at every
// length.
func TestFlippedBytes(t *testing.T) { tabletest.Flip(t, Open, smallFiles(t)) }

func FuzzOpen(f *testing.F) { tabletest.Fuzz(f, Open, smallFiles(f)) }

// Where a page's values lie is memory of the budget: a small page may hold very many.
func TestPlacesHaveABudget(t *testing.T) {
	made, values := fileOf{options: []pq.WriterOption{pq.PageBufferSize(8 << 20)}}, make([]any, 300_000)
	for i := range values {
		values[i] = ""
	}
	made.add("image", pq.Leaf(pq.ByteArrayType), values)
	content := made.bytes(t)
	for memory, kind := range map[int64]error{32 << 20: nil, 6 << 20: errs.ErrLimit} {
		r, err := open(t, content, table.Options{Threads: 1, Budget: limits.NewBudget(memory)})
		if err == nil {
			err = r.(table.Finder).Find(t.Context(), "image", func(*source.Extent) error { return nil })
		}
		if !errors.Is(err, kind) {
			t.Errorf("%d bytes: %v", memory, err)
		}
	}
}

// The compact protocol's types.
const (
	thriftI32    = byte(thrift.I32)
	thriftI64    = byte(thrift.I64)
	thriftBinary = byte(thrift.BINARY)
	thriftList   = byte(thrift.LIST)
	thriftStruct = byte(thrift.STRUCT)
)

// compact writes thrift for hand-made files.
type compact struct {
	bytes.Buffer
	last []int16
}

// oneColumn begins a footer whose schema has one column, which is begun too.
func (c *compact) oneColumn() {
	c.begin()
	c.i32(1, 1)
	c.list(2, 2, thriftStruct)
	c.begin()
	c.text(4, "root")
	c.i32(5, 1)
	c.end()
	c.begin()
}

func (c *compact) field(id int16, kind byte) {
	n := len(c.last) - 1
	c.WriteByte(byte(id-c.last[n])<<4 | kind)
	c.last[n] = id
}
func (c *compact) begin()           { c.last = append(c.last, 0) }
func (c *compact) end()             { c.WriteByte(0); c.last = c.last[:len(c.last)-1] }
func (c *compact) uvarint(v uint64) { c.Write(binary.AppendUvarint(nil, v)) }
func (c *compact) i32(id int16, v int32) {
	c.field(id, thriftI32)
	c.Write(binary.AppendVarint(nil, int64(v)))
}
func (c *compact) i64(id int16, v int64) {
	c.field(id, thriftI64)
	c.Write(binary.AppendVarint(nil, v))
}
func (c *compact) text(id int16, s string) {
	c.field(id, thriftBinary)
	c.uvarint(uint64(len(s)))
	c.WriteString(s)
}
func (c *compact) list(id int16, n int, kind byte) {
	c.field(id, thriftList)
	c.WriteByte(0xf0 | kind)
	c.uvarint(uint64(n))
}

// forged is a hand-made file of one INT32 column "x": what the headers claim is
// free.
type forged struct {
	rows, groupRows, values int64
	codec                   codec
	pages                   []forgedPage
	optional                bool
}

type forgedPage struct {
	kind         pageKind
	values       int32
	uncompressed int32 // 0: as long as the body
	encoding     encoding
	body         []byte
}

func (f forged) bytes() []byte {
	var out bytes.Buffer
	out.Write(magic)
	for _, p := range f.pages {
		h := &compact{}
		h.begin()
		h.i32(1, int32(p.kind))
		if p.uncompressed == 0 {
			p.uncompressed = int32(len(p.body))
		}
		h.i32(2, p.uncompressed)
		h.i32(3, int32(len(p.body)))
		h.field(map[pageKind]int16{dataPage: 5, dictionaryPage: 7}[p.kind], thriftStruct)
		h.begin()
		h.i32(1, p.values)
		h.i32(2, int32(p.encoding))
		if p.kind == dataPage {
			h.i32(3, int32(encRuns))
			h.i32(4, int32(encRuns))
		}
		h.end()
		h.end()
		out.Write(h.Bytes())
		out.Write(p.body)
	}
	end := out.Len()
	m := &compact{}
	m.oneColumn()
	m.i32(1, int32(int32s))
	repetition := int32(required)
	if f.optional {
		repetition = int32(optional)
	}
	m.i32(3, repetition)
	m.text(4, "x")
	m.end()
	m.i64(3, f.rows)
	m.list(4, 1, thriftStruct)
	m.begin()
	m.list(1, 1, thriftStruct)
	m.begin()
	m.i64(2, 4)
	m.field(3, thriftStruct)
	m.begin()
	m.i32(1, int32(int32s))
	m.i32(4, int32(f.codec))
	m.i64(5, f.values)
	m.i64(6, int64(end))
	m.i64(7, int64(end-4))
	m.i64(9, 4)
	m.end()
	m.end()
	m.i64(2, int64(end))
	m.i64(3, f.groupRows)
	m.end()
	m.end()
	return seal(out.Bytes(), m.Bytes())
}

// seal puts the footer behind the pages.
func seal(pages, footer []byte) []byte {
	out := append(bytes.Clone(pages), footer...)
	out = binary.LittleEndian.AppendUint32(out, uint32(len(footer)))
	return append(out, magic...)
}

// one is a file of 1000 rows with the given pages.
func one(pages ...forgedPage) forged {
	return forged{rows: 1000, groupRows: 1000, values: 1000, pages: pages}
}

var dictionaryOf4 = forgedPage{kind: dictionaryPage, values: 4, encoding: encPlain, body: make([]byte, 16)}

func TestHostile(t *testing.T) {
	plain := forgedPage{values: 1000, encoding: encPlain, body: make([]byte, 4000)}
	good := one(plain)
	if err := tabletest.Try(t, Open, good.bytes()); err != nil {
		t.Fatal(err)
	}
	with := func(f forged, change func(f *forged)) []byte { change(&f); return f.bytes() }
	indexes := func(body ...byte) forgedPage {
		return forgedPage{values: 1000, encoding: encRunsDictionary, body: body}
	}
	zeros := bytes.Repeat([]byte{0}, 1<<20)
	bomb := pq.Zstd.Encode
	bombBody, err := bomb(nil, zeros)
	if err != nil {
		t.Fatal(err)
	}
	long := good.bytes()
	binary.LittleEndian.PutUint32(long[len(long)-8:], 1<<31)
	cases := []struct {
		name    string
		content []byte
		kind    error
		text    string
	}{
		{"empty", nil, errs.ErrDamaged, "too few"},
		{"footer of 2 GiB", long, errs.ErrDamaged, "footer of"},
		{"footer of 512 MiB in 12 bytes", append(append([]byte("PAR1"), 0, 0, 0, 32), "PAR1"...), errs.ErrDamaged, "footer of"},
		{"encrypted", append(append([]byte("PAR1"), 0, 0, 0, 0), "PARE"...), errs.ErrUnsupported, "encrypted"},
		{"7 bytes ask for 2^31 values", one(dictionaryOf4, indexes(2, 0xfe, 0xff, 0xff, 0xff, 0x1f, 0)).bytes(), errs.ErrDamaged, "longer"},
		{"packed run beyond its input", one(dictionaryOf4, indexes(2, 0xff, 0xff, 0x7f, 0)).bytes(), errs.ErrDamaged, "too early"},
		{"index outside", one(dictionaryOf4, indexes(3, 0xd0, 0x0f, 4)).bytes(), errs.ErrDamaged, "outside"},
		{"index width 33", one(dictionaryOf4, indexes(33, 0xd0, 0x0f, 4)).bytes(), errs.ErrDamaged, "width"},
		{"no dictionary", one(indexes(2, 0xd0, 0x0f, 0)).bytes(), errs.ErrDamaged, "dictionary"},
		{"dictionary claims 2^30 entries", one(forgedPage{kind: dictionaryPage, values: 1 << 30, encoding: encPlain, body: make([]byte, 16)}, indexes(2, 0xd0, 0x0f, 0)).bytes(), errs.ErrDamaged, "claims"},
		{"two dictionaries", one(dictionaryOf4, dictionaryOf4, indexes(2, 0xd0, 0x0f, 0)).bytes(), errs.ErrDamaged, "second dictionary"},
		{"1010 of 1000 values", one(forgedPage{values: 1010, encoding: encPlain, body: make([]byte, 4040)}).bytes(), errs.ErrDamaged, "1010"},
		{"1000 values in 3996 bytes", one(forgedPage{values: 1000, encoding: encPlain, body: make([]byte, 3996)}).bytes(), errs.ErrDamaged, "declared"},
		{"too few values", one(forgedPage{values: 990, encoding: encPlain, body: make([]byte, 3960)}).bytes(), errs.ErrDamaged, "10 values early"},
		{"rows of the file", with(good, func(f *forged) { f.rows = 1001 }), errs.ErrDamaged, "1001 rows"},
		{"rows of the group", with(good, func(f *forged) { f.rows, f.groupRows = 999, 999 }), errs.ErrDamaged, "1000 values for 999 rows"},
		{"negative rows", with(good, func(f *forged) { f.rows, f.groupRows = -1, -1 }), errs.ErrDamaged, "rows"},
		{"2^62 rows", with(good, func(f *forged) { f.rows, f.groupRows, f.values = 1<<62, 1<<62, 1<<62 }), tabletest.ErrTooLarge, ""},
		{"bomb of 1 MiB in a page of 1000 values", with(one(forgedPage{values: 1000, encoding: encPlain, uncompressed: 1 << 20, body: bombBody}), func(f *forged) { f.codec = codecZstd }), errs.ErrDamaged, "can be needed"},
		{"bomb that claims 4000 bytes", with(one(forgedPage{values: 1000, encoding: encPlain, uncompressed: 4000, body: bombBody}), func(f *forged) { f.codec = codecZstd }), errs.ErrDamaged, "decompress"},
		{"page beyond the limit", with(forged{rows: 1 << 22, groupRows: 1 << 22, values: 1 << 22}, func(f *forged) {
			f.codec, f.pages = codecZstd, []forgedPage{{values: 1 << 22, encoding: encPlain, uncompressed: 1 << 24, body: bombBody}}
		}), errs.ErrLimit, "limits="},
		{"LZO", with(good, func(f *forged) { f.codec = codecLZO }), errs.ErrUnsupported, "LZO"},
		{"Hadoop LZ4", with(good, func(f *forged) { f.codec = codecLZ4Hadoop }), errs.ErrDamaged, "LZ4"},
		{"codec 99", with(good, func(f *forged) { f.codec = 99 }), errs.ErrUnsupported, "99"},
		{"encoding 77", one(forgedPage{values: 1000, encoding: 77, body: make([]byte, 4000)}).bytes(), errs.ErrUnsupported, "77"},
		{"levels longer than the page", with(one(forgedPage{values: 1000, encoding: encPlain, body: []byte{0xff, 0xff, 0xff, 0x7f, 0}}), func(f *forged) { f.optional = true }), errs.ErrDamaged, "levels"},
		{"levels of 2", with(one(forgedPage{values: 1000, encoding: encPlain, body: append([]byte{3, 0, 0, 0, 0xd0, 0x0f, 2}, make([]byte, 4000)...)}), func(f *forged) { f.optional = true }), errs.ErrDamaged, "levels"},
		{"delta of another count", one(forgedPage{values: 1000, encoding: encDelta, body: []byte{128, 1, 4, 0x80, 0x80, 0x80, 0x80, 8, 0}}).bytes(), errs.ErrDamaged, "delta"},
		{"schema of 2^31 nodes", seal(magic, []byte{0x15, 2, 0x19, 0xfc, 0xff, 0xff, 0xff, 0xff, 7, 0}), errs.ErrDamaged, "footer"},
		{"100,000 columns", wideSchema(100_000), errs.ErrLimit, "columns"},
		{"schema 200 deep", deepSchema(200), errs.ErrUnsupported, "struct"},
		{"schema 100,000 deep", deepSchema(100_000), errs.ErrLimit, "columns"},
		{"thrift nested without end", seal(magic, bytes.Repeat([]byte{0x1c}, 100_000)), errs.ErrDamaged, "thrift"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if err := tabletest.Try(t, Open, c.content); err != nil {
				t.Fatal(err)
			}
			r, err := open(t, c.content, table.Options{Limits: limits.Limits{Memory: tabletest.Memory, Page: 4 << 20, Columns: 1000}})
			if err == nil {
				_, err = tabletest.Decode(t.Context(), r, all(r), nil, tabletest.Memory)
			}
			if !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.text) {
				t.Fatalf("got %v, want %v with %q", err, c.kind, c.text)
			}
		})
	}
}

// wideSchema is a footer of n columns without row groups.
func wideSchema(n int) []byte {
	m := &compact{}
	m.begin()
	m.i32(1, 1)
	m.list(2, n+1, thriftStruct)
	m.begin()
	m.text(4, "root")
	m.i32(5, int32(n))
	m.end()
	for i := range n {
		m.begin()
		m.i32(1, int32(int32s))
		m.i32(3, int32(required))
		m.text(4, fmt.Sprint("c", i))
		m.end()
	}
	m.i64(3, 0)
	m.list(4, 0, thriftStruct)
	m.end()
	return seal(magic, m.Bytes())
}

// deepSchema is a footer of one column, n structs deep.
func deepSchema(n int) []byte {
	m := &compact{}
	m.begin()
	m.i32(1, 1)
	m.list(2, n+2, thriftStruct)
	for range n + 1 {
		m.begin()
		m.text(4, "s")
		m.i32(5, 1)
		m.end()
	}
	m.begin()
	m.i32(1, int32(int32s))
	m.text(4, "x")
	m.end()
	m.i64(3, 0)
	m.list(4, 0, thriftStruct)
	m.end()
	return seal(magic, m.Bytes())
}
