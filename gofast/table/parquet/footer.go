package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"unsafe"

	"github.com/parquet-go/parquet-go/encoding/thrift"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/source"
)

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
	// features is what Hugging Face's datasets wrote about the columns
	features string
}

var (
	magic          = []byte("PAR1")
	magicEncrypted = []byte("PARE")
)

// tail is the length of the footer's size and the magic behind it.
const tail = 8

// readFooter checks the file's ends and decodes the footer. The memory that the
// result holds is reserved in r.opts.Budget.
func (r *Reader) readFooter(f *source.File) (*metadata, error) {
	footer, end, err := r.footer(f)
	if err != nil {
		return nil, err
	}
	defer r.release(int64(len(footer)))
	return r.parseFooter(footer, end)
}

// footer checks the file's ends and reads the footer, whose memory the caller
// releases. end is the offset where the pages end.
func (r *Reader) footer(f *source.File) (footer []byte, end int64, err error) {
	size := f.Size()
	if size < int64(len(magic))+tail {
		return nil, 0, r.fault(errs.ErrDamaged, fmt.Sprintf("%d bytes are too few for a Parquet file", size))
	}
	var head, foot [tail]byte
	if err := f.ReadFull(head[:4], 0); err != nil {
		return nil, 0, err
	}
	if err := f.ReadFull(foot[:], size-tail); err != nil {
		return nil, 0, err
	}
	if string(head[:4]) == string(magicEncrypted) || string(foot[4:]) == string(magicEncrypted) {
		return nil, 0, r.fault(errs.ErrUnsupported, "the file is encrypted: write it again without encryption")
	}
	if string(head[:4]) != string(magic) || string(foot[4:]) != string(magic) {
		return nil, 0, r.fault(errs.ErrDamaged, "no PAR1 at both ends: the file was cut or is not Parquet")
	}
	length := int64(binary.LittleEndian.Uint32(foot[:4]))
	if length > size-int64(len(magic))-tail {
		return nil, 0, r.fault(errs.ErrDamaged, fmt.Sprintf("a footer of %d bytes in a file of %d", length, size))
	}
	if length > r.opts.Limits.Metadata {
		return nil, 0, r.fault(errs.ErrLimit, fmt.Sprintf(
			"the footer has %s, the limit is %s: write fewer row groups, or raise limits={\"metadata\": ...}", errs.Bytes(int64(length)), errs.Bytes(r.opts.Limits.Metadata)))
	}
	if err := r.reserve(length, "the Parquet footer"); err != nil {
		return nil, 0, err
	}
	footer = make([]byte, length)
	if err := f.ReadFull(footer, size-tail-length); err != nil {
		r.release(length)
		return nil, 0, err
	}
	return footer, size - tail - length, nil
}

// parseFooter decodes the metadata; end is the offset where the pages end.
func (r *Reader) parseFooter(footer []byte, end int64) (*metadata, error) {
	meta, t := &metadata{rows: -1}, newMetaReader(footer)
	err := t.fields(func(id int16, kind thrift.Type) (err error) {
		switch id {
		case 2:
			return r.parseSchema(t, kind, meta)
		case 3:
			meta.rows, err = t.integer(kind)
			return err
		case 4:
			return r.parseGroups(t, kind, meta, end)
		case 5:
			return r.parseNotes(t, kind, meta)
		case 8:
			return r.fault(errs.ErrUnsupported, "the file is encrypted: write it again without encryption")
		}
		return t.skip(id, kind)
	})
	var known *errs.Error
	switch {
	case errors.As(err, &known):
		return nil, err
	case err != nil:
		return nil, r.fault(errs.ErrDamaged, "bad footer: "+inWords(err).Error())
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
func (r *Reader) parseSchema(t *metaReader, kind thrift.Type, meta *metadata) error {
	if meta.schema != nil {
		return r.fault(errs.ErrDamaged, "two schemas")
	}
	n, err := t.list(kind)
	switch {
	case err != nil:
		return err
	case int64(n) > 4*r.opts.Limits.Columns+1:
		return r.fault(errs.ErrLimit, fmt.Sprintf("the schema has %d nodes, the limit is %d columns: raise limits={\"columns\": ...}", n, r.opts.Limits.Columns))
	}
	if err := r.reserve(int64(n)*int64(unsafe.Sizeof(element{})), "the Parquet schema"); err != nil {
		return err
	}
	meta.schema = make([]element, n)
	var stored storedElement
	for i := range meta.schema {
		if err := stored.read(t); err != nil {
			return err
		}
		meta.schema[i] = stored.element()
		if meta.schema[i].leaf {
			meta.leaves++
		}
	}
	if n == 1 && meta.schema[0].leaf { // of a frame whose columns were all dropped
		return r.fault(errs.ErrSchema, "the file has no columns")
	}
	if int64(meta.leaves) > r.opts.Limits.Columns {
		return r.fault(errs.ErrLimit, fmt.Sprintf("%d columns, the limit is %d: raise limits={\"columns\": ...}", meta.leaves, r.opts.Limits.Columns))
	}
	return nil
}

// parseGroups reads the row groups. Every chunk must lie in the file before the
// footer, and all together must not be longer than it: a footer cannot make the
// same bytes be decoded a thousand times.
func (r *Reader) parseGroups(t *metaReader, kind thrift.Type, meta *metadata, end int64) error {
	if meta.schema == nil {
		return r.fault(errs.ErrDamaged, "row groups stand before the schema")
	}
	n, err := t.list(kind)
	if err != nil {
		return err
	}
	if err := r.reserve(int64(n)*int64(unsafe.Sizeof(group{})), "the Parquet row groups"); err != nil {
		return err
	}
	meta.groups = make([]group, n)
	rows, bytes := int64(0), int64(0)
	for i := range meta.groups {
		g := &meta.groups[i]
		g.rows = -1
		if err := t.fields(func(id int16, kind thrift.Type) (err error) {
			switch id {
			case 1:
				return r.parseChunks(t, kind, g, meta.leaves)
			case 3:
				g.rows, err = t.integer(kind)
				return err
			}
			return t.skip(id, kind)
		}); err != nil {
			return err
		}
		if err := r.checkGroup(g, i, meta.leaves, end); err != nil {
			return err
		}
		for c := range g.chunks {
			bytes += g.chunks[c].compressed // each is below the file's size, and there are few enough
			if bytes > end {
				return r.fault(errs.ErrDamaged, fmt.Sprintf("row group %d: the column chunks are longer than the file", i))
			}
		}
		if g.rows > math.MaxInt64-rows {
			return r.fault(errs.ErrDamaged, "more rows than a file can hold")
		}
		rows += g.rows
	}
	return nil
}

func (r *Reader) parseChunks(t *metaReader, kind thrift.Type, g *group, leaves int) error {
	n, err := t.list(kind)
	switch {
	case err != nil:
		return err
	case n != leaves || g.chunks != nil:
		return r.fault(errs.ErrDamaged, fmt.Sprintf("a row group has %d columns, the schema has %d", n, leaves))
	}
	if err := r.reserve(int64(n)*int64(unsafe.Sizeof(chunk{})), "the Parquet column chunks"); err != nil {
		return err
	}
	g.chunks = make([]chunk, n)
	var stored storedChunk
	for i := range g.chunks {
		stored = storedChunk{}
		if err := t.structure(&stored, t.skip); err != nil {
			return err
		}
		g.chunks[i] = stored.chunk()
	}
	return nil
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

// fault starts an error of this file.
func (r *Reader) fault(kind error, text string) *errs.Error {
	return errs.New(kind, r.op, text).At(r.path)
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
