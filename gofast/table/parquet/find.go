package parquet

import (
	"context"
	"encoding/binary"
	"slices"
	"sort"
	"unsafe"

	"github.com/gofast-org/gofast/gofast/internal/pool"
	"github.com/gofast-org/gofast/gofast/source"
	"github.com/gofast-org/gofast/gofast/table"
)

// Features implements table.Finder.
func (r *Reader) Features() string { return r.meta.features }

// Find implements table.Finder. A value lies in its page as it is, or in Snappy's elements: what pandas, pyarrow and older
// datasets write. These can be entered every 64 KiB. Other compressions cannot.
func (r *Reader) Find(ctx context.Context, name string, visit func(value *source.Extent) error) (err error) {
	defer pool.Recover(&err, r.op, r.path)
	i := slices.IndexFunc(r.columns, func(c column) bool { return c.Name == name })
	switch {
	case r.layout != nil:
		return r.layout.Find(ctx, name, visit)
	case i < 0 || r.columns[i].binary == nil:
		return table.NotBinary(r.Columns(), name).At(r.path)
	}
	w := &worker{r: r}
	defer w.close()
	f := finder{w: w, visit: visit}
	for g := range r.meta.groups {
		f.dictionary, f.dictionaryOf = f.dictionary[:0], nil
		if err := w.walk(ctx, r.columns[i].binary, g, nil, f.page); err != nil {
			return r.finish(err)
		}
	}
	return nil
}

type finder struct {
	w     *worker
	visit func(value *source.Extent) error

	places       []source.Extent // of a page's values
	dictionary   []source.Extent
	dictionaryOf *pages
	entries      []entry
}

// entry is where Snappy's elements can be entered: no later one leads back to what stands before.
type entry struct{ packed, plain int }

// page visits the values of a page.
func (f *finder) page(v *values, _ int64) (err error) {
	if v.encoding.dictionary() {
		err = f.indexed(v)
	} else {
		stored, whole := v.data, v.data
		if v.p.packed != nil {
			stored, whole = v.p.packed, f.w.plain // with the levels, if they are packed too
		}
		f.places, err = f.find(f.places[:0], v, v.p.at-int64(len(stored)), v.p.packed, whole, v.present)
	}
	if err != nil {
		return err
	}
	places := f.places
	for i := range v.count {
		var value *source.Extent
		if v.defs == nil || v.defs[i] == v.p.c.maxDef {
			value, places = &places[0], places[1:]
		}
		if err := f.visit(value); err != nil {
			return err
		}
	}
	return nil
}

// indexed finds values of the dictionary.
func (f *finder) indexed(v *values) error {
	if v.present == 0 {
		return nil
	}
	if v.p.dictValues < 0 {
		return damaged("values refer to a dictionary that is not there")
	}
	if f.dictionaryOf != v.p {
		var packed []byte
		var err error
		if v.p.k.codec != codecNone {
			packed = make([]byte, v.p.dictStored)
			err = f.w.r.file.ReadFull(packed, v.p.dictAt)
		}
		if err != nil {
			return err
		}
		whole := values{p: v.p, encoding: encPlain, data: v.p.dictionary}
		if f.dictionary, err = f.find(f.dictionary[:0], &whole, v.p.dictAt, packed, v.p.dictionary, v.p.dictValues); err != nil {
			return err
		}
		f.dictionaryOf = v.p
	}
	indexes, err := v.indexes(v.present)
	f.places = f.places[:0]
	for _, x := range indexes {
		if f.places, err = f.room(f.places); err != nil {
			return err
		}
		f.places = append(f.places, f.dictionary[x])
	}
	return err
}

// room lets places have room for one more, of the budget: a page of 4 MB may hold 64 million of them.
func (f *finder) room(places []source.Extent) ([]source.Extent, error) {
	if len(places) < cap(places) {
		return places, nil
	}
	more := max(1024, cap(places))
	if err := f.w.r.reserve(int64(more)*int64(unsafe.Sizeof(source.Extent{})), "the places of values"); err != nil {
		return nil, err
	}
	return slices.Grow(places, more), nil
}

// find appends the places of n values. Data is what lies at an offset of the file, or what the packed bytes there hold.
func (f *finder) find(places []source.Extent, v *values, at int64, packed, data []byte, n int) (_ []source.Extent, err error) {
	if v.encoding == encDeltaStrings {
		return nil, unsupported("binaries that share what they begin with: write the column in another encoding")
	}
	if packed != nil {
		if v.p.k.codec != codecSnappy {
			return nil, unsupported("the binaries are compressed (%s), and one cannot be read without the others: write the column uncompressed, or with snappy",
				codecNames[v.p.k.codec])
		}
		if err := f.enter(packed); err != nil {
			return nil, err
		}
	}
	err = v.eachString(n, func(_ int, s []byte) error {
		from := cap(data) - cap(s)
		e := source.Extent{Offset: at + int64(from), Length: int64(len(s))}
		switch {
		case packed == nil:
		case len(s) == 0: // where it lies says nothing of the file
			e.Offset = at
		default:
			near := f.entries[sort.Search(len(f.entries), func(i int) bool { return f.entries[i].plain > from })-1]
			e.Offset, e.Packed = at+int64(near.packed), uint32(from-near.plain)+1
		}
		if places, err = f.room(places); err != nil {
			return err
		}
		places = append(places, e)
		return nil
	})
	return places, err
}

const between = 4 << 10 // bytes from one entry to the next, at least

// enter finds the entries of a block. Whoever decompressed it takes S2's elements too, which are not here.
func (f *finder) enter(packed []byte) error {
	whole, at := binary.Uvarint(packed)
	f.entries = append(f.entries[:0], entry{at, 0})
	plain := 0
	for at < len(packed) {
		if last := f.entries[len(f.entries)-1]; plain-last.plain >= between {
			f.entries = append(f.entries, entry{at, plain})
		}
		tag, size := packed[at], int(packed[at]>>2)+1
		extra := int(tag & 3)
		switch {
		case extra == 0 && size > 60:
			extra = size - 60
		case extra == 3:
			extra = 4
		}
		if at+1+extra > len(packed) {
			return damaged("the page's elements end early")
		}
		number := 0
		for i := range extra {
			number |= int(packed[at+1+i]) << (8 * i)
		}
		at += 1 + extra
		switch tag & 3 {
		case 0:
			if extra > 0 {
				size = number + 1
			}
			at += size
		case 1:
			size, number = int(tag>>2&7)+4, int(tag>>5)<<8|number
			fallthrough
		default:
			if number == 0 || number > plain {
				return damaged("the page's elements lead back to what is not there")
			}
			for f.entries[len(f.entries)-1].plain > plain-number {
				f.entries = f.entries[:len(f.entries)-1]
			}
		}
		plain += size
		if uint64(plain) > whole {
			break
		}
	}
	if uint64(plain) != whole || at != len(packed) {
		return damaged("the page's elements hold other than %d bytes", whole)
	}
	return nil
}
