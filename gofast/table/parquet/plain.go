package parquet

import (
	"encoding/binary"

	"github.com/gofast-org/gofast/gofast/table"
	"github.com/gofast-org/gofast/gofast/table/parquet/page"
)

// plain converts plain values into dst.
func (d *numbers[T]) plain(src []byte, dst []T) error {
	if d.c.kind == booleans {
		return unpackBooleans(src, dst)
	}
	size := d.plainSize()
	if len(dst) > len(src)/size {
		return damaged("%d bytes of values, %d values of %d bytes are declared", len(src), len(dst), size)
	}
	src = src[:len(dst)*size]
	if d.c.bigEndian() {
		return d.bytesDecimals(src, dst)
	}
	if numbers := d.c.numbers(); numbers != nil {
		return d.copied(src, dst, numbers)
	}
	switch d.c.kind {
	case times:
		return d.ticks(src, dst)
	default: // decimals
		for i := range dst {
			var unscaled int64
			if size == 4 {
				unscaled = int64(int32(binary.LittleEndian.Uint32(src[4*i:])))
			} else {
				unscaled = int64(binary.LittleEndian.Uint64(src[8*i:]))
			}
			if err := d.decimal(unscaled, dst, i); err != nil {
				return err
			}
		}
		return nil
	}
}

// numbers is how plain values are stored; nil where that is more than a number.
func (c *column) numbers() *table.Cells {
	switch c.kind {
	case signedInts:
		return table.CellsNamed('i', c.physical.size())
	case unsignedInts:
		return table.CellsNamed('u', c.physical.size())
	case float16s:
		return table.CellsNamed('f', c.length)
	case float32s, float64s:
		return table.CellsNamed('f', c.physical.size())
	}
	return nil
}

// copied converts numbers. Pixels arrive here as wide integers when a writer does
// without a dictionary, so bytes have their own kernels.
func (d *numbers[T]) copied(src []byte, dst []T, from *table.Cells) error {
	if bytes, ok := any(dst).([]byte); ok {
		// A negative or large value has a bit above the eighth in either sign.
		switch {
		case len(src) == 8*len(dst) && page.Best.Narrow64(src, bytes), len(src) == 4*len(dst) && page.Best.Narrow32(src, bytes):
			return nil
		} // find out why below
	}
	convert := from.To(table.TypeOf[T]())
	if d.rounds {
		convert = from.Near(table.TypeOf[T]())
	}
	if convert(table.Bytes(dst), src) {
		return nil
	}
	if at := from.Beyond(src); at >= 0 {
		if d.beyond {
			return table.ErrNarrow
		}
		return tooBig(at, table.View[uint64](src)[at])
	}
	return table.ErrNarrow
}

// integers converts decoded integers, whose upper half does not count where the
// column stores 32 bits.
func (d *numbers[T]) integers(src []int64, dst []T) error {
	from := table.CellsOf(table.Int64)
	switch {
	case d.c.physical == int64s && d.c.kind == unsignedInts:
		from = d.c.numbers()
	case d.c.physical == int64s:
	case d.c.kind == unsignedInts:
		for i, v := range src {
			src[i] = int64(uint32(v))
		}
	default:
		for i, v := range src {
			src[i] = int64(int32(v))
		}
	}
	put := d.decimal
	switch d.c.kind {
	case times:
		put = d.putTime
	case decimals:
	default:
		return d.copied(table.Bytes(src), dst, from)
	}
	for i, v := range src {
		if err := put(v, dst, i); err != nil {
			return err
		}
	}
	return nil
}

func unpackBooleans[T table.Cell](src []byte, dst []T) error {
	if len(dst) > 8*len(src) {
		return damaged("%d bytes of values, %d booleans are declared", len(src), len(dst))
	}
	for i := range dst {
		dst[i] = T(src[i>>3] >> (i & 7) & 1)
	}
	return nil
}

// unsplit puts n values of size bytes together whose bytes are stored in one
// stream for each place.
func (w *worker) unsplit(src []byte, n, size int) ([]byte, error) {
	if n > len(src)/size {
		return nil, damaged("%d bytes of split values, %d values of %d bytes are declared", len(src), n, size)
	}
	plain, err := grow(w, &w.split, n*size)
	if err != nil {
		return nil, err
	}
	// The streams are as long as what is stored, which may be padded.
	stride := len(src) / size
	for place := range size {
		for i, b := range src[place*stride:][:n] {
			plain[i*size+place] = b
		}
	}
	return plain, nil
}
