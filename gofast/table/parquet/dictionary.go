package parquet

import (
	"unsafe"

	"github.com/gofast-org/gofast/gofast/table"
	"github.com/gofast-org/gofast/gofast/table/parquet/page"
)

// dictionary is a chunk's dictionary as the target type. Entries that the type
// cannot hold only matter when a value uses them: some writers keep unused ones.
type dictionary[T table.Cell] struct {
	ready   bool
	entries []T
	bad     []bool    // nil when all fit
	bytes   [256]byte // the entries again, when they are few bytes and all fit
	fast    bool
}

// build converts the dictionary of the chunk that v belongs to, once.
func (d *numbers[T]) build(p *pages) error {
	if d.dict.ready {
		return nil
	}
	if p.dictValues < 0 {
		return damaged("values refer to a dictionary that is not there")
	}
	entries, err := cellsOf[T](d.w, &d.w.table, p.dictValues)
	if err != nil {
		return err
	}
	if d.c.physical == byteArray {
		if p.dictionary, err = d.evenDecimals(&d.w.evenDict, p.dictValues, func(visit func(int, []byte) error) error {
			return eachText(p.dictionary, p.dictValues, visit)
		}); err != nil {
			return err
		}
	}
	d.dict.entries, d.dict.bad, d.dict.fast = entries, nil, false
	if err := d.plain(p.dictionary, entries); err != nil {
		if d.dict.bad, err = grow(d.w, &d.w.bad, len(entries)); err != nil {
			return err
		}
		for i := range entries {
			d.dict.bad[i] = d.entry(p, i) != nil
		}
	} else if bytes, ok := any(entries).([]byte); ok && len(bytes) <= 256 {
		clear(d.dict.bytes[copy(d.dict.bytes[:], bytes):])
		d.dict.fast = true
	}
	d.dict.ready = true
	return nil
}

// entry converts one entry, for its error.
func (d *numbers[T]) entry(p *pages, i int) error {
	size := d.plainSize()
	return d.plain(p.dictionary[i*size:], d.dict.entries[i:i+1])
}

// lookup decodes a page of indexes.
func (d *numbers[T]) lookup(v *values, dst []T) error {
	if err := d.build(v.p); err != nil {
		return err
	}
	if len(v.data) > 0 && v.data[0] <= 8 && d.dict.fast {
		bytes := any(dst).([]byte)
		if s := page.Best.Runs8(v.data[1:], int(v.data[0]), bytes, &d.dict.bytes, len(d.dict.entries)); s != page.OK {
			return damaged("bad dictionary indexes: %v", s)
		}
		return nil
	}
	if err := v.indexed(); err != nil {
		return err
	}
	if s := page.Best.Entries(v.data[1:], int(v.data[0]), table.Bytes(dst), table.Bytes(d.dict.entries), int(unsafe.Sizeof(dst[0]))); s != page.OK {
		return damaged("bad dictionary indexes: %v", s)
	}
	if d.dict.bad != nil {
		indexes, err := v.indexes(len(dst))
		if err != nil {
			return err
		}
		for i, x := range indexes {
			if d.dict.bad[x] {
				err := d.entry(v.p, int(x))
				if f, ok := err.(fault); ok && f.here {
					f.value = i
					return f
				}
				return err
			}
		}
	}
	return nil
}

// indexes decodes n dictionary indexes, each checked against the dictionary.
func (v *values) indexes(n int) ([]uint32, error) {
	if err := v.indexed(); err != nil {
		return nil, err
	}
	indexes, err := grow(v.p.w, &v.p.w.indexes, n)
	if err != nil {
		return nil, err
	}
	if s := page.Best.Runs32(v.data[1:], int(v.data[0]), indexes, uint64(v.p.dictValues)); s != page.OK {
		return nil, damaged("bad dictionary indexes: %v", s)
	}
	return indexes, nil
}

// indexed checks the width of the page's indexes.
func (v *values) indexed() error {
	if len(v.data) == 0 || v.data[0] > 32 {
		return damaged("dictionary indexes without a valid width")
	}
	return nil
}
