package parquet

import "encoding/binary"

// Delta encodings: integers as packed differences, strings as packed lengths
// (with the prefix they share with their predecessor).

// unpackDelta decodes exactly len(dst) integers and returns what follows them.
func unpackDelta(src []byte, dst []int64) (rest []byte, err error) {
	bad := func() ([]byte, error) { return nil, damaged("bad delta-encoded values") }
	var header [3]uint64
	for i := range header {
		v, n := binary.Uvarint(src)
		if n <= 0 {
			return bad()
		}
		header[i], src = v, src[n:]
	}
	first, n := binary.Varint(src)
	if n <= 0 {
		return bad()
	}
	src = src[n:]
	block, minis, total := header[0], header[1], header[2]
	if total != uint64(len(dst)) {
		return nil, damaged("%d delta-encoded values, the page declares %d", total, len(dst))
	}
	// 2^20 is far above what writers use (128 to 1024) and keeps products small.
	if block == 0 || block > 1<<20 || minis == 0 || minis > block || block%minis != 0 || block/minis%8 != 0 {
		return bad()
	}
	if len(dst) == 0 {
		return src, nil
	}
	dst[0] = first
	last, perMini := first, int(block/minis)
	for at := 1; at < len(dst); {
		smallest, n := binary.Varint(src)
		if n <= 0 || len(src)-n < int(minis) {
			return bad()
		}
		widths := src[n : n+int(minis)]
		src = src[n+int(minis):]
		for _, width := range widths {
			if at == len(dst) {
				break // the mini blocks behind the last value are not stored
			}
			count, w := min(perMini, len(dst)-at), int(width)
			if w > 64 || (count*w+7)/8 > len(src) {
				return bad()
			}
			for i := range count {
				last += smallest + int64(bitsAt(src, i*w, w))
				dst[at+i] = last
			}
			at += count
			src = src[min(perMini*w/8, len(src)):]
		}
	}
	return src, nil
}

// bitsAt reads width bits, lowest first.
func bitsAt(src []byte, bit, width int) uint64 {
	if width == 0 {
		return 0
	}
	var word [9]byte
	tail := src[bit>>3:]
	if len(tail) < len(word) {
		copy(word[:], tail)
		tail = word[:]
	}
	shift := bit & 7
	v := binary.LittleEndian.Uint64(tail) >> shift
	if shift+width > 64 {
		v |= uint64(tail[8]) << (64 - shift)
	}
	return v & (1<<width - 1)
}

// lengthsOf decodes n lengths of a delta-encoded string page.
func (w *worker) lengthsOf(src []byte, buffer *[]int64, n int) (lengths []int64, rest []byte, err error) {
	if lengths, err = grow(w, buffer, n); err != nil {
		return nil, nil, err
	}
	if rest, err = unpackDelta(src, lengths); err != nil {
		return nil, nil, err
	}
	for _, l := range lengths {
		if l != int64(int32(l)) || l < 0 {
			return nil, nil, damaged("a string of %d bytes", l)
		}
	}
	return lengths, rest, nil
}

// eachDeltaLength visits n strings stored as lengths, then bytes.
func (w *worker) eachDeltaLength(src []byte, n int, visit func(i int, s []byte) error) error {
	lengths, rest, err := w.lengthsOf(src, &w.lengths, n)
	if err != nil {
		return err
	}
	for i, l := range lengths {
		if l > int64(len(rest)) {
			return damaged("the page ends inside of string %d", i)
		}
		if err := visit(i, rest[:l]); err != nil {
			return err
		}
		rest = rest[l:]
	}
	return nil
}

// eachDeltaString visits n strings stored as prefix lengths, suffix lengths and
// suffixes. A string is only valid during its visit. All together must not be
// longer than a page may be: prefixes let 3 bytes repeat a long string.
func (w *worker) eachDeltaString(src []byte, n int, visit func(i int, s []byte) error) error {
	prefixes, rest, err := w.lengthsOf(src, &w.ints, n)
	if err != nil {
		return err
	}
	current, total := 0, int64(0)
	return w.eachDeltaLength(rest, n, func(i int, suffix []byte) error {
		prefix := int(prefixes[i])
		if prefix > current {
			return damaged("string %d shares %d bytes with one of %d", i, prefix, current)
		}
		size := prefix + len(suffix)
		if total += int64(size); total > w.r.opts.Limits.Page {
			return tooLarge(total, w.r.opts.Limits.Page)
		}
		old := w.split[:prefix]
		s, err := grow(w, &w.split, size)
		if err != nil {
			return err
		}
		if prefix > 0 && &s[0] != &old[0] {
			copy(s, old)
		}
		copy(s[prefix:], suffix)
		current = size
		return visit(i, s)
	})
}
