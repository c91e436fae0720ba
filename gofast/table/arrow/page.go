package arrow

import (
	"encoding/binary"
	"math/bits"

	"github.com/gofast-org/gofast/gofast/table"
	"github.com/gofast-org/gofast/gofast/table/parquet"
)

// part reads the buffers of a column of one batch, one after the other.
type part struct {
	memory *parquet.Memory
	b      *batch
	body   []byte // from offset base of the batch's body on
	base   int64
	place
}

// page makes the page of a column of a record batch.
func (f *file) page(m *parquet.Memory, group, number int, body []byte) (page parquet.Page, err error) {
	b, one := f.batches[group], &f.fields[number]
	at := b.of(one)
	next := b.behind(at, one)
	p := &part{m, b, body, b.extent(at.buffer, next.buffer).Offset - b.body, at}
	if one.Why != "" {
		for p.buffer < next.buffer && err == nil {
			_, err = p.next()
		}
		return page, err
	}
	if !one.coded {
		return p.values(one)
	}
	if page, err = p.indexes(one); err != nil {
		return page, err
	}
	page.Indexed = true
	if page.Present > 0 { // a dictionary may come later than rows that are all null
		page.Dictionary, page.Entries, err = f.entries(m, one, b.dictionaries[one.dictionary])
	}
	if limit := 1 << (8*one.index - 1); one.signed && one.index < 8 {
		page.Entries = min(page.Entries, limit) // what is beyond would be read for negative indexes
	}
	if err == nil && one.index == 8 {
		page.Values, err = p.narrow(page.Values, page.Entries)
	}
	if err == nil {
		page.Values, err = p.run(page.Values, page.Present)
	}
	return page, err
}

// next is the next buffer, unpacked.
func (p *part) next() ([]byte, error) {
	offset, length := p.b.buffer(p.buffer)
	p.buffer++
	if length == 0 {
		return nil, nil
	}
	stored := p.body[offset-p.base:][:length]
	if p.b.codec == parquet.Stored {
		return stored, nil
	}
	if length < 8 {
		return nil, parquet.Damaged("a compressed buffer of %d bytes", length)
	}
	size := int64(binary.LittleEndian.Uint64(stored))
	stored = stored[8:]
	switch {
	case size == -1: // it is smaller as it is
		return stored, nil
	case size < 0 || size > 1<<40:
		return nil, parquet.Damaged("a compressed buffer that holds %d bytes", size)
	}
	dst, err := p.memory.Bytes(int(size))
	if err != nil {
		return nil, err
	}
	return dst, p.memory.Unpack(p.b.codec, stored, dst)
}

// uncounted stands for a number of nulls that the writer did not know.
const uncounted = -1

// part begins a field: its values, and which of them are there.
func (p *part) begin() (page parquet.Page, err error) {
	n, nulls := p.b.node(p.node)
	p.node++
	valid, err := p.next()
	switch {
	case err != nil:
		return page, err
	case n < 0 || n > mostRows || nulls < uncounted || nulls > n:
		return page, parquet.Damaged("%d values, %d of them null", n, nulls)
	}
	page = parquet.Page{Count: int(n), Present: int(n - nulls)}
	if nulls == 0 {
		return page, nil
	}
	if len(valid) < (page.Count+7)/8 {
		return page, parquet.Damaged("%d bytes say which of %d values are null", len(valid), n)
	}
	present := 0
	page.Defs, present, err = p.levels(valid, page.Count)
	if nulls == uncounted {
		page.Present = present
	}
	if err == nil && present != page.Present {
		err = parquet.Damaged("%d of %d values are null, %d are declared", page.Count-present, n, nulls)
	}
	return page, err
}

// spread has the bits of a byte as bytes.
var spread = func() (all [256]uint64) {
	for b := range all {
		for i := range 8 {
			all[b] |= uint64(b>>i&1) << (8 * i)
		}
	}
	return all
}()

// levels makes bytes, NullLevel and PresentLevel, of n bits.
func (p *part) levels(valid []byte, n int) (levels []byte, present int, err error) {
	whole := (n + 7) / 8
	if levels, err = p.memory.Bytes(8 * whole); err != nil {
		return nil, 0, err
	}
	for i, b := range valid[:whole] {
		if i == n/8 {
			b &= 1<<(n%8) - 1
		}
		binary.LittleEndian.PutUint64(levels[8*i:], spread[b])
		present += bits.OnesCount8(b)
	}
	return levels[:n], present, nil
}

// values makes the page of a field that has no dictionary.
func (p *part) values(f *field) (page parquet.Page, err error) {
	switch f.kind {
	case null:
		return p.nothing()
	case list, largeList, fixedList:
		return p.lists(f)
	}
	if page, err = p.begin(); err != nil {
		return page, err
	}
	switch f.kind {
	case texts, binaries:
		page.Values, err = p.texts(4, &page)
	case largeTexts, largeBinary:
		page.Values, err = p.texts(8, &page)
	case textViews, binaryViews:
		page.Values, err = p.viewed(&page)
	case boolean:
		page.Values, err = p.booleans(&page)
	default:
		page.Values, err = p.fixed(f.Size, &page)
	}
	if err == nil && f.kind == decimal && f.Size > 8 {
		page.Values, err = p.swap(page.Values, f.Size)
	}
	return page, err
}

// nothing is a column of the type without values.
func (p *part) nothing() (page parquet.Page, err error) {
	n, _ := p.b.node(p.node)
	page.Count = int(min(n, mostRows))
	if page.Defs, err = p.memory.Bytes(page.Count); err == nil {
		clear(page.Defs)
	}
	return page, err
}

// fixed are values of so many bytes, those that are present.
func (p *part) fixed(size int, page *parquet.Page) ([]byte, error) {
	data, err := p.next()
	if err != nil {
		return nil, err
	}
	if page.Count > len(data)/size {
		return nil, parquet.Damaged("%d bytes of values, %d values of %d bytes are declared", len(data), page.Count, size)
	}
	return p.packed(data[:page.Count*size], size, page.Defs)
}

// packed leaves the values out that are null.
func (p *part) packed(data []byte, size int, defs []byte) ([]byte, error) {
	if defs == nil {
		return data, nil
	}
	dst, err := p.memory.Bytes(len(data) + size)
	if err != nil {
		return nil, err
	}
	n := 0
	switch size {
	case 1:
		n = pack(dst, data, defs)
	case 2:
		n = pack(table.View[uint16](dst), table.View[uint16](data), defs)
	case 4:
		n = pack(table.View[uint32](dst), table.View[uint32](data), defs)
	case 8:
		n = pack(table.View[uint64](dst), table.View[uint64](data), defs)
	default:
		for i, d := range defs {
			copy(dst[n*size:], data[i*size:(i+1)*size])
			n += int(d)
		}
	}
	return dst[:n*size], nil
}

// pack needs room for one value more.
func pack[T any](dst, src []T, defs []byte) (n int) {
	for i, d := range defs {
		dst[n] = src[i]
		n += int(d)
	}
	return n
}

// booleans are bits, those that are present.
func (p *part) booleans(page *parquet.Page) ([]byte, error) {
	data, err := p.next()
	if err != nil {
		return nil, err
	}
	if page.Count > 8*len(data) {
		return nil, parquet.Damaged("%d bytes of values, %d booleans are declared", len(data), page.Count)
	}
	if page.Defs == nil {
		return data, nil
	}
	return p.packedBits(data, page.Defs)
}

// packedBits leaves the bits out that are null.
func (p *part) packedBits(data, defs []byte) ([]byte, error) {
	dst, err := p.memory.Bytes(len(defs)/8 + 1)
	if err != nil {
		return nil, err
	}
	clear(dst)
	n := 0
	for i, d := range defs {
		dst[n>>3] |= data[i>>3] >> (i & 7) & d << (n & 7)
		n += int(d)
	}
	return dst, nil
}

// swap puts the highest byte first, as Parquet has wide decimals.
func (p *part) swap(src []byte, size int) ([]byte, error) {
	dst, err := p.memory.Bytes(len(src))
	if err != nil {
		return nil, err
	}
	for at := 0; at < len(src); at += size {
		for i := range size {
			dst[at+i] = src[at+size-1-i]
		}
	}
	return dst, nil
}

// indexes are those into a dictionary.
func (p *part) indexes(f *field) (page parquet.Page, err error) {
	if page, err = p.begin(); err == nil {
		page.Values, err = p.fixed(f.index, &page)
	}
	return page, err
}

// narrow makes 4 bytes of each index of 8.
func (p *part) narrow(src []byte, entries int) ([]byte, error) {
	dst, err := p.memory.Bytes(len(src) / 2)
	if err != nil {
		return nil, err
	}
	into := table.View[uint32](dst)
	for i, v := range table.View[uint64](src) {
		if v >= uint64(entries) {
			return nil, parquet.Damaged("index %d into a dictionary of %d values", int64(v), entries)
		}
		into[i] = uint32(v)
	}
	return dst, nil
}

// run makes one run of bits of the indexes, as a page of Parquet has them: their width, and for how many times 8 of them.
func (p *part) run(src []byte, n int) ([]byte, error) {
	if n == 0 {
		return nil, nil
	}
	width, groups := len(src)/n, (n+7)/8
	dst, err := p.memory.Bytes(1 + binary.MaxVarintLen64 + 8*groups*width)
	if err != nil {
		return nil, err
	}
	dst[0] = byte(8 * width)
	at := 1 + binary.PutUvarint(dst[1:], uint64(groups)<<1|1)
	dst = dst[:at+8*groups*width]
	clear(dst[at+copy(dst[at:], src):])
	return dst, nil
}

// entries are the values of a dictionary, piece after piece.
func (f *file) entries(m *parquet.Memory, one *field, pieces []*batch) (all []byte, n int, err error) {
	if pieces == nil {
		return nil, 0, parquet.Damaged("dictionary %d is not there", one.dictionary)
	}
	parts, size := make([][]byte, len(pieces)), 0
	for i, b := range pieces {
		e := b.extent(0, b.count)
		body, err := m.Bytes(int(e.Bytes))
		if err != nil {
			return nil, 0, err
		}
		if err := f.ReadFull(body, e.Offset); err != nil {
			return nil, 0, err
		}
		page, err := (&part{m, b, body, e.Offset - b.body, place{}}).values(one)
		switch {
		case err != nil:
			return nil, 0, err
		case page.Defs != nil:
			return nil, 0, parquet.Unsupported("a null in dictionary %d", one.dictionary)
		}
		parts[i], n, size = page.Values, n+page.Count, size+len(page.Values)
	}
	if len(parts) == 1 {
		return parts[0], n, nil
	}
	if all, err = m.Bytes(size); err != nil {
		return nil, 0, err
	}
	for at, i := 0, 0; i < len(parts); i++ {
		at += copy(all[at:], parts[i])
	}
	return all, n, nil
}
