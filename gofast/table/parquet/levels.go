package parquet

import (
	"bytes"
	"encoding/binary"
	"math/bits"

	"github.com/gofast-org/gofast/gofast/table/parquet/page"
)

// identity makes page.Runs8 write the values themselves.
var identity = func() (table [256]byte) {
	for i := range table {
		table[i] = byte(i)
	}
	return table
}()

// allMax says that src is one run of n times the highest level: what writers
// make of an optional column without nulls.
func allMax(src []byte, n int, highest uint8) bool {
	header, used := binary.Uvarint(src)
	return used > 0 && header&1 == 0 && header>>1 == uint64(n) && used < len(src) && src[used] == highest
}

// levels decodes n levels of 0..highest.
func (w *worker) levels(buffer *[]byte, src []byte, n int, highest uint8) ([]byte, error) {
	levels, err := grow(w, buffer, n)
	if err != nil {
		return nil, err
	}
	if s := page.Best.Runs8(src, bits.Len8(highest), levels, &identity, int(highest)+1); s != page.OK {
		return nil, damaged("bad levels: %v", s)
	}
	return levels, nil
}

// readLevels decodes the level sections. defs stays nil where every value is
// present, reps where every value is a row.
func (v *values) readLevels(reps, defs []byte) error {
	c, w := v.p.c, v.p.w
	var err error
	if c.maxRep > 0 {
		if v.reps, err = w.levels(&w.reps, reps, v.count, c.maxRep); err != nil {
			return err
		}
	}
	if c.maxDef > 0 && !allMax(defs, v.count, c.maxDef) {
		if v.defs, err = w.levels(&w.defs, defs, v.count, c.maxDef); err != nil {
			return err
		}
		if v.present = bytes.Count(v.defs, []byte{c.maxDef}); v.present == v.count {
			v.defs = nil
		}
	}
	return nil
}

// cutLevels takes a version 1 page's level section, which carries its length.
func cutLevels(data []byte, enc encoding) (section, rest []byte, err error) {
	if enc != encRuns {
		return nil, nil, unsupported("levels in encoding %d", enc)
	}
	if len(data) < 4 {
		return nil, nil, damaged("the page ends inside of its levels")
	}
	n := binary.LittleEndian.Uint32(data)
	if uint64(n) > uint64(len(data)-4) {
		return nil, nil, damaged("%d bytes of levels in a page of %d", n, len(data))
	}
	return data[4 : 4+n], data[4+n:], nil
}
