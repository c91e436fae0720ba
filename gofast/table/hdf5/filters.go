package hdf5

import (
	"bytes"
	"encoding/binary"
	"io"

	"github.com/klauspost/compress/zlib"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/internal/inflate"
)

// Filter is one that chunks went through, by HDF5's number. Width is what shuffle took for the bytes of a value.
type Filter struct {
	ID    int64 `json:"id"`
	Width int64 `json:"width"`
}

// The filters that are undone here.
const (
	deflate    = 1
	shuffle    = 2
	fletcher32 = 3
	lzf        = 32000
)

const checksumBytes = 4

func (f Filter) packs() bool { return f.ID == deflate || f.ID == lzf }

// checkFilters refuses a chain whose sizes are not known beforehand.
func (w *decoding) checkFilters() error {
	if len(w.Filters) > 32 {
		return w.fail(errs.ErrDamaged, "%d filters", len(w.Filters))
	}
	packed, summed := false, 0
	for _, f := range w.Filters {
		switch {
		case f.packs() && packed:
			return w.fail(errs.ErrUnsupported, "it is compressed twice")
		case f.ID == shuffle && f.Width < 1:
			return w.fail(errs.ErrDamaged, "values of %d bytes were shuffled", f.Width)
		case !f.packs() && f.ID != shuffle && f.ID != fletcher32:
			return w.fail(errs.ErrUnsupported, "the filter number %d", f.ID)
		}
		packed = packed || f.packs()
		if f.ID == fletcher32 {
			summed++
		}
	}
	if summed > 1 {
		return w.fail(errs.ErrUnsupported, "it has several checksums")
	}
	return nil
}

// undoing is what one thread decodes chunks with. Each step writes into another buffer than it reads.
type undoing struct {
	*decoding
	raw, one, two []byte
	source        bytes.Reader
	codes         inflate.Codes // of correct streams
	inflater      io.ReadCloser // of the others: it knows what is wrong
}

// values are those of a chunk, in memory that the next chunk will have.
func (u *undoing) values(c *chunk) ([]byte, error) {
	u.raw = grown(u.raw, c.stored)
	if err := u.file.ReadFull(u.raw, c.offset); err != nil {
		return nil, err
	}
	// What went into each filter: known until one has compressed it.
	var sizes [33]int64
	size := u.bytes
	for i, f := range u.Filters {
		sizes[i] = size
		switch {
		case c.skipped&(1<<i) != 0:
		case f.packs():
			size = -1
		case f.ID == fletcher32 && size >= 0:
			size += checksumBytes
		}
	}
	data := u.raw
	for i := len(u.Filters) - 1; i >= 0; i-- {
		if c.skipped&(1<<i) != 0 {
			continue
		}
		var err error
		if data, err = u.undo(c, u.Filters[i], data, sizes[i]); err != nil {
			return nil, err
		}
	}
	if int64(len(data)) != u.bytes {
		return nil, u.damaged(c, "%d bytes of values, which are %d", len(data), u.bytes)
	}
	return data, nil
}

// undo gives what a filter was given, of size bytes.
func (u *undoing) undo(c *chunk, f Filter, data []byte, size int64) ([]byte, error) {
	if f.ID == fletcher32 {
		at := len(data) - checksumBytes
		if at < 0 || !isSum(binary.LittleEndian.Uint32(data[at:]), fletcher(data[:at])) {
			return nil, u.damaged(c, "its checksum is another one: it was damaged after it was written")
		}
		return data[:at], nil
	}
	if f.ID == shuffle {
		size = int64(len(data))
	}
	u.one = grown(u.one, size)
	into := u.one
	u.one, u.two = u.two, u.one
	switch f.ID {
	case shuffle:
		unshuffle(into, data, f.Width)
	case lzf:
		if !unlzf(into, data) {
			return nil, u.damaged(c, "it cannot be decompressed (lzf)")
		}
	default:
		if err := u.inflate(into, data); err != nil {
			return nil, u.damaged(c, "it cannot be decompressed (gzip)").Because(err)
		}
	}
	return into, nil
}

// slack is what inflating needs behind its bytes.
const slack = max(inflate.InSlack, inflate.OutSlack)

// grown is b with n bytes, whatever is in them, and the slack.
func grown(b []byte, n int64) []byte {
	if int64(cap(b)) < n+slack {
		return make([]byte, n, n+slack)
	}
	return b[:n]
}

// inflate fills into with the content of a zlib stream; what follows its end does not matter to HDF5.
func (u *undoing) inflate(into, stream []byte) (err error) {
	if u.codes.Exactly(into, stream) {
		return nil
	}
	u.source.Reset(stream)
	if u.inflater == nil {
		u.inflater, err = zlib.NewReader(&u.source)
	} else {
		err = u.inflater.(zlib.Resetter).Reset(&u.source, nil)
	}
	if err != nil {
		return err
	}
	if _, err := io.ReadFull(u.inflater, into); err != nil {
		return err
	}
	var more [1]byte
	if _, err := io.ReadFull(u.inflater, more[:]); err != io.EOF { // which says that the stream's checksum is right
		if err == nil {
			err = zlib.ErrChecksum
		}
		return err
	}
	return nil
}

// unshuffle undoes a transposition: the first bytes of all values, then their second bytes. What is left over beyond
// whole values stayed where it was.
func unshuffle(into, data []byte, width int64) {
	count := int64(len(data)) / width
	if count < 2 { // whatever the width, which the file says
		copy(into, data)
		return
	}
	for i := range width {
		plane := data[i*count : (i+1)*count]
		at := i
		for _, v := range plane {
			into[at] = v
			at += width
		}
	}
	copy(into[count*width:], data[count*width:])
}

// fletcher is HDF5's form of Fletcher's checksum: of big-endian words, with a last odd byte as the high one.
func fletcher(data []byte) uint32 {
	a, b := uint32(0), uint32(0)
	fold := func(v uint32) uint32 { return v&0xffff + v>>16 }
	for words := len(data) / 2; words > 0; {
		n := min(words, 360) // the sums stay below 2^32
		for i := range n {
			a += uint32(binary.BigEndian.Uint16(data[2*i:]))
			b += a
		}
		data, words, a, b = data[2*n:], words-n, fold(a), fold(b)
	}
	if len(data) > 0 {
		a += uint32(data[0]) << 8
		b += a
		a, b = fold(a), fold(b)
	}
	return fold(b)<<16 | fold(a)
}

// isSum compares a stored sum; versions of HDF5 before 1.6.3 swapped the bytes of its halves.
func isSum(stored, sum uint32) bool {
	return stored == sum || stored == sum>>8&0x00ff00ff|sum<<8&0xff00ff00
}

// unlzf fills into with the content of an LZF stream, and reports whether that is all of it.
func unlzf(into, stream []byte) bool {
	to, at := 0, 0
	for at < len(stream) {
		control := int(stream[at])
		at++
		if control < 32 { // so many bytes as they are, and one
			n := control + 1
			if at+n > len(stream) || to+n > len(into) {
				return false
			}
			copy(into[to:], stream[at:at+n])
			to, at = to+n, at+n
			continue
		}
		n := control >> 5
		if n == 7 {
			if at >= len(stream) {
				return false
			}
			n += int(stream[at])
			at++
		}
		if at >= len(stream) {
			return false
		}
		back := (control&31)<<8 + int(stream[at]) + 1
		at++
		n += 2
		if back > to || to+n > len(into) {
			return false
		}
		for range n { // they may overlap
			into[to] = into[to-back]
			to++
		}
	}
	return to == len(into)
}
