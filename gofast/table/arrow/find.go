package arrow

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/internal/pool"
	"github.com/gofast-org/gofast/gofast/source"
	"github.com/gofast-org/gofast/gofast/table"
	"github.com/gofast-org/gofast/gofast/table/parquet"
)

const findRows = 1 << 16 // whose offsets are read at once

// find does what table.Finder has. Binaries lie in the file as they are; compressed buffers are refused.
func (f *file) find(ctx context.Context, name string, visit func(value *source.Extent) error) error {
	way, err := f.way([]string{name})
	if err != nil {
		return err
	}
	if top := way[0].field; top.kind == structure && !top.coded {
		if indexOf(top.children, "bytes") < 0 {
			return f.notBinary(name)
		}
		if way, err = f.way([]string{name, "bytes"}); err != nil {
			return err
		}
	}
	if leaf := way[len(way)-1].field; leaf.coded || leaf.kind != binaries && leaf.kind != largeBinary {
		return f.notBinary(name)
	}
	return f.visit(ctx, way, visit)
}

// Values visits the values of a column, or of a part of structs, in a part of a file, which is an Arrow file: as table.Finder's
// Find visits binaries, and texts like them; if numbers are asked for, whole ones of 64 bits.
func Values(ctx context.Context, path string, part source.Extent, names []string, numbers bool, visit func(value *source.Extent) error) (err error) {
	defer pool.Recover(&err, op, path)
	from, err := source.OpenRange(path, part.Offset, part.Length)
	if err != nil {
		return err
	}
	defer from.Close()
	asked := false // whoever visits knows offsets of the whole file
	defer func() {
		if known, ok := err.(*errs.Error); ok && known.Offset >= 0 && !asked {
			known.Offset += part.Offset
		}
	}()
	f := &file{File: from, opts: table.Options{}.WithDefaults(), dictionaries: map[int64][]*batch{}, layout: &parquet.Layout{Op: op, Group: "record batch"}}
	defer func() { f.opts.Budget.Release(f.layout.Held) }()
	if err := f.read(); err != nil {
		return err
	}
	name := strings.Join(names, ".")
	way, err := f.way(names)
	if err != nil {
		return err
	}
	switch leaf := way[len(way)-1].field; {
	case leaf.coded, numbers != (leaf.kind == integer && leaf.Type == parquet.Signed && leaf.Size == 8),
		!numbers && !slices.Contains([]kind{binaries, largeBinary, texts, largeTexts}, leaf.kind):
		return f.fault(errs.ErrSchema, "neither binaries, texts nor whole numbers of 64 bits, as is said of it").InColumn(name)
	default:
		err = f.visit(ctx, way, func(value *source.Extent) error {
			if value != nil {
				value.Offset += part.Offset
			}
			asked = true
			err := visit(value)
			asked = err != nil
			return err
		})
	}
	if err != nil {
		return err
	}
	return from.CheckUnchanged()
}

// step is a column, or a part of a struct, and those that stand before it.
type step struct {
	field  *field
	before []field
}

func indexOf(fields []field, name string) int {
	return slices.IndexFunc(fields, func(one field) bool { return one.Name == name })
}

// way leads to a column, to a part of it, and so on.
func (f *file) way(names []string) (way []step, err error) {
	whole, parts := strings.Join(names, "."), f.fields
	for _, name := range names {
		if len(way) > 0 {
			in := way[len(way)-1].field
			if in.kind != structure || in.coded {
				return nil, f.fault(errs.ErrUnsupported, "a part of a list, or of something else than a struct").InColumn(whole)
			}
			parts = in.children
		}
		i := indexOf(parts, name)
		if i < 0 {
			return nil, f.notBinary(whole)
		}
		if indexOf(parts[i+1:], name) >= 0 {
			return nil, f.fault(errs.ErrSchema, "two columns of this name: rename one").InColumn(whole)
		}
		way = append(way, step{&parts[i], parts[:i]})
	}
	if way == nil {
		return nil, f.notBinary(whole)
	}
	return way, nil
}

// visit visits the values of the leaf at the end of a way.
func (f *file) visit(ctx context.Context, way []step, visit func(value *source.Extent) error) error {
	name, leaf, row := way[0].field.Name, way[len(way)-1].field, int64(0)
	for number, b := range f.batches {
		s := sought{f: f, b: b, size: 4, fixed: leaf.kind == integer}
		if s.fixed || leaf.kind == largeBinary || leaf.kind == largeTexts {
			s.size = 8
		}
		at, nodes := b.of(way[0].field), []int{}
		for i, one := range way {
			if i > 0 { // within the one before
				at = place{at.node + 1, at.buffer + 1, at.view}
				for k := range one.before {
					at = b.behind(at, &one.before[k])
				}
			}
			nodes, s.valid = append(nodes, at.node), append(s.valid, at.buffer)
		}
		s.offsets = at.buffer + 1
		for _, node := range nodes {
			if n, _ := b.node(node); n != b.rows {
				return f.fault(errs.ErrDamaged, fmt.Sprintf("record batch %d: %d values for %d rows", number, n, b.rows)).InColumn(name)
			}
		}
		if b.codec != parquet.Stored {
			return f.fault(errs.ErrUnsupported, "the binaries are compressed, and one cannot be read without the others: write the file uncompressed").InColumn(name)
		}
		for first := int64(0); first < b.rows; first += findRows {
			if err := ctx.Err(); err != nil {
				return err
			}
			if at, err := s.part(first, min(findRows, b.rows-first), visit); err != nil {
				if known, ok := err.(*errs.Error); ok && known.Row < 0 {
					return known.AtRow(row+first+at, name)
				}
				return err
			}
		}
		row += b.rows
	}
	return nil
}

func (f *file) notBinary(name string) error {
	columns := make([]table.Column, len(f.fields))
	for i := range f.fields {
		columns[i].Name = f.fields[i].Name
	}
	return table.NotBinary(columns, name).At(f.Path())
}

// sought is the binaries of one batch.
type sought struct {
	f       *file
	b       *batch
	valid   []int // buffers with a bit for each value: whether it is there
	offsets int   // the buffer; the values' is the next one
	size    int64 // of an offset
	fixed   bool  // there are no offsets: the buffer is that of values of this size
}

// read is n bytes of a buffer.
func (s *sought) read(buffer int, from, n int64) ([]byte, error) {
	offset, length := s.b.buffer(buffer)
	if from > length || n > length-from {
		return nil, s.f.fault(errs.ErrDamaged, fmt.Sprintf("buffer %d has %d bytes, and those up to %d are needed", buffer, length, from+n))
	}
	bytes := make([]byte, n)
	return bytes, s.f.ReadFull(bytes, s.b.body+offset+from)
}

// part visits n values from one on, a multiple of 8. With an error it gives the value that has it, from there on.
func (s *sought) part(first, n int64, visit func(value *source.Extent) error) (int64, error) {
	var valid [][]byte
	for _, buffer := range s.valid {
		if _, length := s.b.buffer(buffer); length > 0 { // none: all are there
			bits, err := s.read(buffer, first/8, (n+7)/8)
			if err != nil {
				return 0, err
			}
			valid = append(valid, bits)
		}
	}
	extents := s.extents
	if s.fixed {
		extents = s.numbers
	}
	extent, err := extents(first, n)
	if err != nil {
		return 0, err
	}
	for i := range n {
		value, err := extent(i)
		if err != nil {
			return i, err
		}
		for _, bits := range valid {
			if bits[i/8]>>(i%8)&1 == 0 {
				value = nil
				break
			}
		}
		if err := visit(value); err != nil {
			return i, err
		}
	}
	return 0, nil
}

// numbers says where each of n values of a fixed size lies.
func (s *sought) numbers(first, n int64) (func(i int64) (*source.Extent, error), error) {
	begins, all := s.b.buffer(s.offsets)
	if first+n > all/s.size {
		return nil, s.f.fault(errs.ErrDamaged, fmt.Sprintf("buffer %d has %d bytes, and those up to %d are needed", s.offsets, all, (first+n)*s.size))
	}
	return func(i int64) (*source.Extent, error) {
		return &source.Extent{Offset: s.b.body + begins + (first+i)*s.size, Length: s.size}, nil
	}, nil
}

// extents says where each of n binaries lies.
func (s *sought) extents(first, n int64) (func(i int64) (*source.Extent, error), error) {
	stored, err := s.read(s.offsets, first*s.size, (n+1)*s.size)
	if err != nil {
		return nil, err
	}
	offset := func(i int64) int64 {
		if s.size == 4 {
			return int64(int32(binary.LittleEndian.Uint32(stored[4*i:])))
		}
		return int64(binary.LittleEndian.Uint64(stored[8*i:]))
	}
	begins, all := s.b.buffer(s.offsets + 1)
	return func(i int64) (*source.Extent, error) {
		from, to := offset(i), offset(i+1)
		if from < 0 || to < from || to > all {
			return nil, s.f.fault(errs.ErrDamaged, fmt.Sprintf("a value from byte %d to %d of %d", from, to, all))
		}
		if to == from { // a buffer without bytes may point anywhere
			return &source.Extent{Offset: s.b.body}, nil
		}
		return &source.Extent{Offset: s.b.body + begins + from, Length: to - from}, nil
	}, nil
}
