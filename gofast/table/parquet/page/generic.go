package page

import "encoding/binary"

// The twins: what the C kernels must produce, in plain Go. On an error the
// contents of dst do not matter, and neither does which of several errors is
// reported.

// Runs8Generic is the twin of Level.Runs8.
func Runs8Generic(src []byte, width int, dst []byte, table *[256]byte, size int) Status {
	top := uint32(0)
	status := eachRun(src, width, len(dst), func(at, count int, values runValues) Status {
		for i := range count {
			v := values.at(i)
			top = max(top, v)
			dst[at+i] = table[v&255]
		}
		return OK
	})
	if status == OK && len(dst) > 0 && int(top) >= size {
		return OutOfRange
	}
	return status
}

// Runs32Generic is the twin of Level.Runs32.
func Runs32Generic(src []byte, width int, dst []uint32, size uint64) Status {
	top := uint32(0)
	status := eachRun(src, width, len(dst), func(at, count int, values runValues) Status {
		for i := range count {
			v := values.at(i)
			top = max(top, v)
			dst[at+i] = v
		}
		return OK
	})
	if status == OK && len(dst) > 0 && uint64(top) >= size {
		return OutOfRange
	}
	return status
}

// runValues are the values of one run: packed bits, or one value repeated.
type runValues struct {
	packed bool
	bits   []byte
	width  int
	value  uint32
}

func (r runValues) at(i int) uint32 {
	if !r.packed {
		return r.value
	}
	bit := i * r.width
	var word [8]byte
	copy(word[:], r.bits[bit>>3:])
	return uint32(binary.LittleEndian.Uint64(word[:]) >> (bit & 7) & (1<<r.width - 1))
}

func eachRun(src []byte, width, n int, run func(at, count int, values runValues) Status) Status {
	for at := 0; at < n; {
		header, used := binary.Uvarint(src[:min(len(src), 5)])
		if used <= 0 {
			if len(src) < 5 {
				return Short
			}
			return Overrun
		}
		src = src[used:]
		var count int
		var values runValues
		if header&1 == 1 {
			groups := int(header >> 1)
			count = min(8*groups, n-at)
			need := (count*width + 7) / 8
			if need > len(src) {
				return Short
			}
			values = runValues{packed: true, bits: src[:need], width: width}
			src = src[min(groups*width, len(src)):]
		} else {
			bytes := (width + 7) / 8
			if bytes > len(src) {
				return Short
			}
			count = int(header >> 1)
			// parquet-go rounds the last run of booleans up to a multiple of eight.
			if count > n-at+7 {
				return Overrun
			}
			count = min(count, n-at)
			var word [4]byte
			copy(word[:], src[:bytes])
			values.value = binary.LittleEndian.Uint32(word[:])
			src = src[bytes:]
		}
		if status := run(at, count, values); status != OK {
			return status
		}
		at += count
	}
	return OK
}

// Narrow32Generic is the twin of Level.Narrow32.
func Narrow32Generic(src, dst []byte) bool {
	all := uint32(0)
	for i := range dst {
		v := binary.LittleEndian.Uint32(src[4*i:])
		all |= v
		dst[i] = byte(v)
	}
	return all <= 255
}

// Narrow64Generic is the twin of Level.Narrow64.
func Narrow64Generic(src, dst []byte) bool {
	all := uint64(0)
	for i := range dst {
		v := binary.LittleEndian.Uint64(src[8*i:])
		all |= v
		dst[i] = byte(v)
	}
	return all <= 255
}

// RowsGeneric is the twin of Level.Rows.
func RowsGeneric(t Tile, dst []byte, rowBytes int) {
	if !t.check(dst, rowBytes) {
		return
	}
	for r := range t.Rows {
		for c := range t.Cols {
			copy(dst[r*rowBytes+c*t.Size:][:t.Size], t.Data[c*t.ColumnBytes+r*t.Size:])
		}
	}
}
