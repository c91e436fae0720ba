package arrow

import (
	"encoding/binary"
	"math"

	"github.com/gofast-org/gofast/gofast/table"
	"github.com/gofast-org/gofast/gofast/table/parquet"
)

// bounds are where n texts or lists begin, and the last ends, in the order of what they are of. size is that of one.
func (p *part) bounds(n, size int) ([]int64, error) {
	stored, err := p.next()
	switch {
	case err != nil:
		return nil, err
	case n == 0: // there may be none at all
		return []int64{0}, nil
	case n >= len(stored)/size:
		return nil, parquet.Damaged("%d bytes of offsets, %d values are declared", len(stored), n)
	}
	room, err := p.memory.Bytes(8 * (n + 1))
	if err != nil {
		return nil, err
	}
	bounds, before := table.View[int64](room), int64(0)
	for i := range bounds {
		if size == 4 {
			bounds[i] = int64(int32(binary.LittleEndian.Uint32(stored[4*i:])))
		} else {
			bounds[i] = int64(binary.LittleEndian.Uint64(stored[8*i:]))
		}
		if bounds[i] < before {
			return nil, parquet.Damaged("offset %d is %d, behind one of %d", i, bounds[i], before)
		}
		before = bounds[i]
	}
	return bounds, nil
}

// texts puts the length of each text that is present before it.
func (p *part) texts(size int, page *parquet.Page) ([]byte, error) {
	bounds, err := p.bounds(page.Count, size)
	if err != nil {
		return nil, err
	}
	all, err := p.next()
	if err != nil {
		return nil, err
	}
	end := bounds[page.Count]
	if end > int64(len(all)) {
		return nil, parquet.Damaged("texts of %d bytes, there are %d", end, len(all))
	}
	dst, err := p.memory.Bytes(int(end-bounds[0]) + 4*page.Present)
	if err != nil {
		return nil, err
	}
	dst = dst[:0]
	for i := range page.Count {
		if page.Defs == nil || page.Defs[i] == parquet.PresentLevel {
			if dst, err = put(dst, all[bounds[i]:bounds[i+1]]); err != nil {
				return nil, err
			}
		}
	}
	return dst, nil
}

func put(dst, text []byte) ([]byte, error) {
	if len(text) > math.MaxUint32 {
		return nil, parquet.Unsupported("a text of %d bytes", len(text))
	}
	return append(binary.LittleEndian.AppendUint32(dst, uint32(len(text))), text...), nil
}

// viewSize is that of a view: the text's length, and the text itself where it has up to so many bytes. Else its first
// four, and the number of a buffer with the place in it.
const (
	viewSize = 16
	inline   = 12
)

// viewed does what texts does for views.
func (p *part) viewed(page *parquet.Page) ([]byte, error) {
	views, err := p.next()
	if err != nil {
		return nil, err
	}
	if page.Count > len(views)/viewSize {
		return nil, parquet.Damaged("%d bytes of views, %d are declared", len(views), page.Count)
	}
	buffers := make([][]byte, p.b.meta.i64(p.b.variadic+8*p.view))
	for i := range buffers {
		if buffers[i], err = p.next(); err != nil {
			return nil, err
		}
	}
	p.view++
	each := func(use func(text []byte) error) error {
		for i := range page.Count {
			if page.Defs != nil && page.Defs[i] != parquet.PresentLevel {
				continue
			}
			view := views[viewSize*i:][:viewSize]
			n := int64(int32(binary.LittleEndian.Uint32(view)))
			text := view[4:]
			if n > inline {
				buffer, at := uint64(binary.LittleEndian.Uint32(view[8:])), int64(int32(binary.LittleEndian.Uint32(view[12:])))
				if buffer >= uint64(len(buffers)) || at < 0 || at > int64(len(buffers[buffer])) {
					return parquet.Damaged("view %d leads to byte %d of buffer %d, of %d", i, at, buffer, len(buffers))
				}
				text = buffers[buffer][at:]
			}
			if n < 0 || n > int64(len(text)) {
				return parquet.Damaged("view %d has %d bytes, of %d", i, n, len(text))
			}
			if err := use(text[:n]); err != nil {
				return err
			}
		}
		return nil
	}
	size := 0 // several views may have the same bytes
	if err := each(func(text []byte) error { size += 4 + len(text); return nil }); err != nil {
		return nil, err
	}
	dst, err := p.memory.Bytes(size)
	if err != nil {
		return nil, err
	}
	dst = dst[:0]
	err = each(func(text []byte) (err error) {
		dst, err = put(dst, text)
		return err
	})
	return dst, err
}
