package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"unsafe"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/source"
	"github.com/gofast-org/gofast/gofast/table"
)

// element is one node of the schema, as it is stored: depth first.
type element struct {
	name       string
	physical   physical
	length     int32 // of a fixed-length binary
	repetition repetition
	children   int32
	leaf       bool
	logical    logical
	scale      int32
	precision  int32
	tick       table.Unit // of dates and times; 0 for all others
	clock      bool       // times of a day
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

// group is one row group; its chunks are in the order of the schema's leaves.
type group struct {
	first  int64 // its first row in the file
	rows   int64
	chunks []chunk
}

// metadata is what gofast reads of a footer.
type metadata struct {
	schema []element
	leaves int
	rows   int64
	groups []group
	index  map[string]bool // columns that pandas reads as the frame's index
}

var (
	magic          = []byte("PAR1")
	magicEncrypted = []byte("PARE")
)

// tail is the length of the footer's size and the magic behind it.
const tail = 8

// readFooter checks the file's ends and decodes the footer. It returns the bytes
// of memory that the result holds, reserved in r.opts.Budget.
func (r *Reader) readFooter(f *source.File) (*metadata, error) {
	size := f.Size()
	if size < int64(len(magic))+tail {
		return nil, r.fault(errs.ErrDamaged, fmt.Sprintf("%d bytes are too few for a Parquet file", size))
	}
	var head, end [tail]byte
	if err := f.ReadFull(head[:4], 0); err != nil {
		return nil, err
	}
	if err := f.ReadFull(end[:], size-tail); err != nil {
		return nil, err
	}
	if string(head[:4]) == string(magicEncrypted) || string(end[4:]) == string(magicEncrypted) {
		return nil, r.fault(errs.ErrUnsupported, "the file is encrypted: write it again without encryption")
	}
	if string(head[:4]) != string(magic) || string(end[4:]) != string(magic) {
		return nil, r.fault(errs.ErrDamaged, "no PAR1 at both ends: the file was cut or is not Parquet")
	}
	length := int64(binary.LittleEndian.Uint32(end[:4]))
	if length > size-int64(len(magic))-tail {
		return nil, r.fault(errs.ErrDamaged, fmt.Sprintf("a footer of %d bytes in a file of %d", length, size))
	}
	if length > r.opts.Limits.Metadata {
		return nil, r.fault(errs.ErrLimit, fmt.Sprintf(
			"the footer has %d bytes, the limit is %d: write fewer row groups, or raise limits={\"metadata\": ...}", length, r.opts.Limits.Metadata))
	}
	if err := r.reserve(length, "the Parquet footer"); err != nil {
		return nil, err
	}
	defer r.release(length)
	footer := make([]byte, length)
	if err := f.ReadFull(footer, size-tail-length); err != nil {
		return nil, err
	}
	return r.parseFooter(footer, size-tail-length)
}

// parseFooter decodes the metadata; end is the offset where the pages end.
func (r *Reader) parseFooter(footer []byte, end int64) (*metadata, error) {
	meta, t := &metadata{rows: -1}, &thrift{b: footer}
	var failed error
	stop := func(err error) {
		if failed == nil {
			failed = err
		}
		t.fail(errThriftInvalid)
	}
	t.fields(func(id int16, kind byte) {
		switch id {
		case 2:
			if err := r.parseSchema(t, kind, meta); err != nil {
				stop(err)
			}
		case 3:
			meta.rows = t.i64(kind)
		case 4:
			if meta.schema == nil {
				stop(r.fault(errs.ErrDamaged, "row groups stand before the schema"))
				return
			}
			if err := r.parseGroups(t, kind, meta, end); err != nil {
				stop(err)
			}
		case 5:
			if err := r.parseNotes(t, kind, meta); err != nil {
				stop(err)
			}
		case 8:
			stop(r.fault(errs.ErrUnsupported, "the file is encrypted: write it again without encryption"))
		default:
			t.skip(kind)
		}
	})
	if failed == nil && t.err != nil {
		failed = r.fault(errs.ErrDamaged, "bad footer: "+t.err.Error())
	}
	if failed != nil {
		return nil, failed
	}
	total := int64(0)
	for i := range meta.groups {
		meta.groups[i].first = total
		total += meta.groups[i].rows // parseGroups bounds the sum
	}
	if meta.schema == nil || total != meta.rows {
		return nil, r.fault(errs.ErrDamaged, fmt.Sprintf("%d rows declared, the row groups hold %d", meta.rows, total))
	}
	return meta, nil
}

// parseSchema reads the list of nodes. A column needs up to four (a list of
// numbers); more than that cannot be a table of Limits.Columns columns.
func (r *Reader) parseSchema(t *thrift, kind byte, meta *metadata) error {
	if meta.schema != nil {
		return r.fault(errs.ErrDamaged, "two schemas")
	}
	var failed error
	t.structures(kind, func(n int) bool {
		if int64(n) > 4*r.opts.Limits.Columns+1 {
			failed = r.fault(errs.ErrLimit, fmt.Sprintf("the schema has %d nodes, the limit is %d columns: raise limits={\"columns\": ...}", n, r.opts.Limits.Columns))
			return false
		}
		if failed = r.reserve(int64(n)*int64(unsafe.Sizeof(element{})), "the Parquet schema"); failed != nil {
			return false
		}
		meta.schema = make([]element, n)
		return true
	}, func(i int) {
		meta.schema[i] = parseElement(t)
		if meta.schema[i].leaf {
			meta.leaves++
		}
	})
	if failed == nil && int64(meta.leaves) > r.opts.Limits.Columns {
		failed = r.fault(errs.ErrLimit, fmt.Sprintf("%d columns, the limit is %d: raise limits={\"columns\": ...}", meta.leaves, r.opts.Limits.Columns))
	}
	return failed
}

func parseElement(t *thrift) element {
	e := element{leaf: true, physical: -1}
	t.fields(func(id int16, kind byte) {
		switch id {
		case 1:
			e.physical = physical(t.i32(kind))
		case 2:
			e.length = t.i32(kind)
		case 3:
			e.repetition = repetition(t.i32(kind))
		case 4:
			e.name = string(t.text(kind))
		case 5:
			e.children = t.i32(kind)
			e.leaf = e.children == 0
		case 6:
			if converted := t.i32(kind); e.logical == logicalNone {
				e.logical, e.tick, e.clock = convertedType(converted), convertedTick(converted), converted == 7 || converted == 8
			}
		case 7:
			e.scale = t.i32(kind)
		case 8:
			e.precision = t.i32(kind)
		case 10:
			if l := parseLogical(t, kind, &e); l != logicalNone {
				e.logical = l
			}
		default:
			t.skip(kind)
		}
	})
	return e
}

// parseGroups reads the row groups. Every chunk must lie in the file before the
// footer, and all together must not be longer than it: a footer cannot make the
// same bytes be decoded a thousand times.
func (r *Reader) parseGroups(t *thrift, kind byte, meta *metadata, end int64) error {
	var failed error
	rows, bytes := int64(0), int64(0)
	t.structures(kind, func(n int) bool {
		if failed = r.reserve(int64(n)*int64(unsafe.Sizeof(group{})), "the Parquet row groups"); failed != nil {
			return false
		}
		meta.groups = make([]group, n)
		return true
	}, func(i int) {
		g := &meta.groups[i]
		g.rows = -1
		t.fields(func(id int16, kind byte) {
			switch id {
			case 1:
				if err := r.parseChunks(t, kind, g, meta.leaves); err != nil && failed == nil {
					failed = err
				}
			case 3:
				g.rows = t.i64(kind)
			default:
				t.skip(kind)
			}
		})
		if t.err == nil && failed == nil {
			failed = r.checkGroup(g, i, meta.leaves, end)
		}
		if failed != nil {
			t.fail(errThriftInvalid)
			return
		}
		for c := range g.chunks {
			bytes += g.chunks[c].compressed // each is below the file's size, and there are few enough
			if bytes > end {
				failed = r.fault(errs.ErrDamaged, fmt.Sprintf("row group %d: the column chunks are longer than the file", i))
				return
			}
		}
		if g.rows > math.MaxInt64-rows {
			failed = r.fault(errs.ErrDamaged, "more rows than a file can hold")
			return
		}
		rows += g.rows
	})
	return failed
}

// checkGroup holds one row group against the schema and the file.
func (r *Reader) checkGroup(g *group, i, leaves int, end int64) error {
	if g.rows < 0 || len(g.chunks) != leaves {
		return r.fault(errs.ErrDamaged, fmt.Sprintf("row group %d has %d rows and %d of %d columns", i, g.rows, len(g.chunks), leaves))
	}
	for c := range g.chunks {
		k := &g.chunks[c]
		if g.rows == 0 {
			// Writers point anywhere for no rows: pyarrow to the file's first byte.
			k.offset, k.compressed, k.values = int64(len(magic)), 0, 0
		}
		if k.foreign {
			continue // refused when the column is used
		}
		if k.offset < int64(len(magic)) || k.compressed < 0 || k.compressed > end-int64(len(magic)) || k.offset > end-k.compressed {
			return r.fault(errs.ErrDamaged, fmt.Sprintf("row group %d, column %d: %d bytes at offset %d lie outside the file's data", i, c, k.compressed, k.offset))
		}
		if k.values < 0 {
			return r.fault(errs.ErrDamaged, fmt.Sprintf("row group %d, column %d has %d values", i, c, k.values))
		}
	}
	return nil
}

func (r *Reader) parseChunks(t *thrift, kind byte, g *group, leaves int) (failed error) {
	t.structures(kind, func(n int) bool {
		if n != leaves || g.chunks != nil {
			failed = r.fault(errs.ErrDamaged, fmt.Sprintf("a row group has %d columns, the schema has %d", n, leaves))
			t.fail(errThriftInvalid)
			return false
		}
		if failed = r.reserve(int64(n)*int64(unsafe.Sizeof(chunk{})), "the Parquet column chunks"); failed != nil {
			t.fail(errThriftInvalid)
			return false
		}
		g.chunks = make([]chunk, n)
		return true
	}, func(i int) { g.chunks[i] = parseChunk(t) })
	return failed
}

func parseChunk(t *thrift) chunk {
	k := chunk{codec: -1, physical: -1, values: -1, offset: -1}
	dictionary := int64(0)
	t.fields(func(id int16, kind byte) {
		switch id {
		case 1: // the path of another file
			k.foreign = k.foreign || len(t.text(kind)) > 0
		case 3:
			t.structure(kind, func(id int16, kind byte) {
				switch id {
				case 1:
					k.physical = physical(t.i32(kind))
				case 4:
					k.codec = codec(t.i32(kind))
				case 5:
					k.values = t.i64(kind)
				case 7:
					k.compressed = t.i64(kind)
				case 9:
					k.offset = t.i64(kind)
				case 11:
					dictionary = t.i64(kind)
				default:
					t.skip(kind)
				}
			})
		case 8, 9: // encryption
			k.foreign = true
			t.skip(kind)
		default:
			t.skip(kind)
		}
	})
	// Some writers store 0 for "none".
	if dictionary > 0 && dictionary < k.offset {
		k.offset = dictionary
	}
	return k
}

// fault starts an error of this file.
func (r *Reader) fault(kind error, text string) *errs.Error {
	return errs.New(kind, op, text).At(r.path)
}

// reserve takes memory that the reader holds until Close.
func (r *Reader) reserve(n int64, what string) error {
	if err := r.opts.Budget.Reserve(n, what); err != nil {
		var e *errs.Error
		if errors.As(err, &e) {
			return e.At(r.path)
		}
		return err
	}
	r.reserved += n
	return nil
}

func (r *Reader) release(n int64) {
	r.opts.Budget.Release(n)
	r.reserved -= n
}
