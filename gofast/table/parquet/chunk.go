package parquet

import (
	"errors"
	"hash/crc32"
)

// streamWindow is how much of a chunk is read at once when it is not read
// together with its neighbours.
const streamWindow = 1 << 20

// pages walks the pages of one column chunk. It owns nothing: its buffers are
// the worker's, so only one walk of a worker is alive at a time.
type pages struct {
	w     *worker
	c     *column
	k     *chunk
	group int

	window []byte // bytes of the file from offset at on
	at     int64
	end    int64 // of the chunk
	left   int64 // values not yet seen
	start  int64 // offset of the current page, for errors

	dictValues int // entries of the dictionary, -1 without one
	dictionary []byte
	dictAt     int64 // where it is stored, in so many bytes
	dictStored int

	packed []byte // the current page, without levels, if it is compressed; it ends at at
}

// open starts the walk. window may hold the chunk's bytes already; otherwise
// they are read page by page.
func (w *worker) open(c *column, g int, window []byte) (*pages, error) {
	k := &w.r.meta.groups[g].chunks[c.leaf]
	p := &pages{w: w, c: c, k: k, group: g, window: window, at: k.offset, end: k.offset + k.compressed,
		left: k.values, start: k.offset, dictValues: -1}
	switch {
	case k.foreign:
		return nil, w.r.place(unsupported("the column is encrypted or lies in another file"), c, g, k.offset, nil)
	case k.physical != c.physical:
		return nil, w.r.place(damaged("the chunk's type is not the schema's"), c, g, k.offset, nil)
	case c.maxRep == 0 && k.values != w.r.meta.groups[g].rows:
		return nil, w.r.place(damaged("%d values for %d rows", k.values, w.r.meta.groups[g].rows), c, g, k.offset, nil)
	}
	return p, nil
}

// need makes the next n bytes of the chunk available.
func (p *pages) need(n int) ([]byte, error) {
	if n <= len(p.window) {
		return p.window[:n], nil
	}
	left := p.end - p.at
	if int64(n) > left {
		return nil, damaged("needs %d bytes, %d are left of the chunk", n, left)
	}
	window, err := grow(p.w, &p.w.window, int(min(left, max(int64(n), streamWindow))))
	if err != nil {
		return nil, err
	}
	if err := p.w.r.file.ReadFull(window, p.at); err != nil {
		return nil, err
	}
	p.window = window
	return window[:n], nil
}

func (p *pages) advance(n int) {
	p.window = p.window[n:]
	p.at += int64(n)
}

// header parses the next page's header, reading more when it is cut.
func (p *pages) header() (pageHeader, error) {
	for want := min(int64(512), p.end-p.at); ; want = min(want*8, p.end-p.at) {
		if _, err := p.need(int(want)); err != nil {
			return pageHeader{}, err
		}
		h, length, err := p.w.parsePageHeader(p.window[:min(len(p.window), maxPageHeaderInBytes)])
		if err == nil {
			p.advance(length)
			return h, nil
		}
		if !errors.Is(err, errThriftShort) || want == p.end-p.at || want >= maxPageHeaderInBytes {
			return pageHeader{}, damaged("bad page header: %v", err)
		}
	}
}

// page reads the next page as it is stored.
func (p *pages) page() (h pageHeader, body []byte, err error) {
	p.start, p.packed = p.at, nil
	if p.at >= p.end {
		return h, nil, damaged("the chunk ends %d values early", p.left)
	}
	if h, err = p.header(); err != nil {
		return h, nil, err
	}
	if err := h.check(p.c, p.end-p.at, p.left, p.w.r.opts.Limits.Page); err != nil {
		return h, nil, err
	}
	if body, err = p.need(int(h.compressed)); err != nil {
		return h, nil, err
	}
	p.advance(len(body))
	if h.hasCRC && crc32.ChecksumIEEE(body) != h.crc {
		return h, nil, damaged("the page's checksum does not match")
	}
	return h, body, nil
}

// next moves to the next data page; false when all values were seen.
func (p *pages) next(v *values) (bool, error) {
	for p.left > 0 {
		if p.w.r.layout != nil {
			return true, p.laid(v)
		}
		h, body, err := p.page()
		if err != nil {
			return false, err
		}
		switch h.kind {
		case indexPage:
		case dictionaryPage:
			if err := p.readDictionary(&h, body); err != nil {
				return false, err
			}
		default:
			p.left -= int64(h.values)
			return true, v.read(p, &h, body)
		}
	}
	return false, nil
}

// readDictionary keeps the decompressed dictionary for the chunk's pages.
func (p *pages) readDictionary(h *pageHeader, body []byte) error {
	if p.dictValues >= 0 || p.left != p.k.values {
		return damaged("a second dictionary, or one behind the data")
	}
	if h.encoding != encPlain && h.encoding != encPlainDictionary {
		return unsupported("a dictionary in encoding %d", h.encoding)
	}
	dictionary, err := grow(p.w, &p.w.dict, int(h.uncompressed))
	if err != nil {
		return err
	}
	if err := p.w.decompress(p.k.codec, body, dictionary); err != nil {
		return err
	}
	p.dictionary, p.dictValues = dictionary, int(h.values)
	p.dictAt, p.dictStored = p.at-int64(len(body)), len(body)
	// Every entry takes at least this much, so the count is bounded by the bytes.
	size := p.c.physical.size()
	switch p.c.physical {
	case fixedByteArray:
		size = p.c.length
	case byteArray:
		size = 4
	}
	if size == 0 || p.dictValues > len(dictionary)/size {
		return damaged("a dictionary of %d bytes claims %d entries", len(dictionary), h.values)
	}
	return nil
}
