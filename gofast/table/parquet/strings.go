package parquet

import (
	"encoding/binary"
	"unicode/utf8"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/table"
)

// eachString visits n strings that are not a dictionary's.
func (v *values) eachString(n int, visit func(i int, s []byte) error) error {
	switch v.encoding {
	case encPlain:
		return eachText(v.data, n, visit)
	case encDeltaLengths:
		return v.p.w.eachDeltaLength(v.data, n, visit)
	case encDeltaStrings:
		return v.p.w.eachDeltaString(v.data, n, visit)
	default:
		return unsupported("encoding %d of text or decimals", v.encoding)
	}
}

// eachText visits n plain strings.
func eachText(src []byte, n int, visit func(i int, s []byte) error) error {
	for i := range n {
		if len(src) < 4 {
			return damaged("the page ends before string %d", i)
		}
		size := binary.LittleEndian.Uint32(src)
		if uint64(size) > uint64(len(src)-4) {
			return damaged("string %d has %d bytes, %d are left of the page", i, size, len(src)-4)
		}
		if err := visit(i, src[4:4+size]); err != nil {
			return err
		}
		src = src[4+size:]
	}
	return nil
}

// words numbers the strings of one chunk of a column.
type words struct {
	w       *worker
	dict    *table.Dictionary
	cache   *table.Cache
	entries [][]byte // the chunk's dictionary, views of w.dict
	numbers []int64  // of them, -1 until one is used
	ready   bool
}

// labels writes the numbers of a page of a label column to dst.
func (t *words) labels(v *values, dst []int64) error {
	if v.present == v.count {
		return t.ids(v, dst)
	}
	absent, why := t.dict.Missing()
	if absent == table.Unknown {
		at := firstNull(v)
		if err := t.ids(v, dst[:at]); err != nil { // a word that stands before it
			return err
		}
		return fault{kind: errs.ErrMissing, here: true, value: at, text: "null: " + why}
	}
	if err := t.ids(v, dst[:v.present]); err != nil {
		return v.atValue(err)
	}
	spread(v, dst, absent)
	return nil
}

// ids writes the numbers of the page's present strings to dst.
func (t *words) ids(v *values, dst []int64) error {
	if len(dst) == 0 {
		return nil
	}
	if v.encoding.dictionary() {
		return t.lookup(v, dst)
	}
	return v.eachString(len(dst), func(i int, s []byte) (err error) {
		dst[i], err = t.id(i, s)
		return err
	})
}

// id numbers one string.
func (t *words) id(at int, s []byte) (int64, error) {
	if limit := t.w.r.opts.Limits.Cell; int64(len(s)) > limit {
		return 0, fault{kind: errs.ErrLimit, here: true, value: at,
			text: "a text longer than the limit for one cell: raise limits={\"cell\": ...}"}
	}
	if !utf8.Valid(s) {
		return 0, fault{kind: errs.ErrValue, here: true, value: at, cell: string(s[:min(len(s), 80)]), text: "a text that is not UTF-8"}
	}
	id := t.cache.ID(s)
	if id == table.Unknown {
		text, kind := t.dict.Refuse()
		return 0, fault{kind: kind, here: true, value: at, cell: string(s[:min(len(s), 80)]), text: text}
	}
	return id, nil
}

// lookup numbers only the dictionary's entries that are used: an unused one
// would become a class without samples.
func (t *words) lookup(v *values, dst []int64) error {
	if !t.ready {
		if v.p.dictValues < 0 {
			return damaged("values refer to a dictionary that is not there")
		}
		var err error
		if t.entries, err = grow(t.w, &t.w.words, v.p.dictValues); err != nil {
			return err
		}
		if t.numbers, err = grow(t.w, &t.w.ids, v.p.dictValues); err != nil {
			return err
		}
		if err := eachText(v.p.dictionary, v.p.dictValues, func(i int, s []byte) error {
			t.entries[i], t.numbers[i] = s, -1
			return nil
		}); err != nil {
			return err
		}
		t.ready = true
	}
	indexes, err := v.indexes(len(dst))
	if err != nil {
		return err
	}
	for i, x := range indexes {
		if t.numbers[x] < 0 {
			if t.numbers[x], err = t.id(i, t.entries[x]); err != nil {
				return err
			}
		}
		dst[i] = t.numbers[x]
	}
	return nil
}

// binaries returns the present values of a fixed-length binary page, one behind
// the other.
func (v *values) binaries() ([]byte, error) {
	w, length := v.p.w, v.p.c.length
	switch {
	case v.present == 0:
		return nil, nil
	case v.encoding == encPlain:
		if v.present > len(v.data)/length {
			return nil, damaged("%d bytes of values, %d binaries of %d bytes are declared", len(v.data), v.present, length)
		}
		return v.data[:v.present*length], nil
	case v.encoding == encByteStreamSplit:
		return w.unsplit(v.data, v.present, length)
	case v.encoding.dictionary():
		if v.p.dictValues < 0 {
			return nil, damaged("values refer to a dictionary that is not there")
		}
		indexes, err := v.indexes(v.present)
		if err != nil {
			return nil, err
		}
		all, err := grow(w, &w.split, v.present*length)
		if err != nil {
			return nil, err
		}
		for i, x := range indexes {
			copy(all[i*length:(i+1)*length], v.p.dictionary[int(x)*length:])
		}
		return all, nil
	case v.encoding == encDeltaStrings:
		all, err := grow(w, &w.bits, v.present*length)
		if err != nil {
			return nil, err
		}
		return all, w.eachDeltaString(v.data, v.present, func(i int, s []byte) error {
			if len(s) != length {
				return damaged("binary %d has %d bytes instead of %d", i, len(s), length)
			}
			copy(all[i*length:], s)
			return nil
		})
	default:
		return nil, unsupported("encoding %d of a fixed-length binary", v.encoding)
	}
}
