package parquet

import (
	"encoding/binary"
	"math"

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
	switch d.c.kind {
	case signedInts, unsignedInts:
		return d.plainInts(src, dst)
	case times:
		return d.ticks(src, dst)
	case float32s:
		for i := range dst { // exact in float32 and float64
			dst[i] = T(math.Float32frombits(binary.LittleEndian.Uint32(src[4*i:])))
		}
		return nil
	case float16s:
		for i := range dst {
			dst[i] = T(halfToFloat(binary.LittleEndian.Uint16(src[2*i:])))
		}
		return nil
	case float64s:
		for i := range dst {
			f := math.Float64frombits(binary.LittleEndian.Uint64(src[8*i:]))
			if dst[i] = T(f); float64(dst[i]) != f && f == f {
				return table.ErrNarrow
			}
		}
		return nil
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

// plainInts converts integers. Pixels arrive here as wide integers when a writer
// does without a dictionary, so bytes have their own kernels.
func (d *numbers[T]) plainInts(src []byte, dst []T) error {
	if bytes, ok := any(dst).([]byte); ok {
		// A negative or large value has a bit above the eighth in either sign.
		fits := false
		if d.c.physical == int32s {
			fits = page.Best.Narrow32(src, bytes)
		} else {
			fits = page.Best.Narrow64(src, bytes)
		}
		if fits {
			return nil
		} // find out why below
	}
	low, high := d.low, d.high
	switch {
	case d.c.physical == int32s && d.c.kind == signedInts:
		for i := range dst {
			v := int64(int32(binary.LittleEndian.Uint32(src[4*i:])))
			if v < low || v > high {
				return table.ErrNarrow
			}
			dst[i] = T(v)
		}
	case d.c.physical == int32s:
		for i := range dst {
			v := int64(binary.LittleEndian.Uint32(src[4*i:]))
			if v > high {
				return table.ErrNarrow
			}
			dst[i] = T(v)
		}
	default:
		unsigned := d.c.kind == unsignedInts
		for i := range dst {
			v := int64(binary.LittleEndian.Uint64(src[8*i:]))
			if unsigned && v < 0 {
				return tooBig(i, uint64(v))
			}
			if v < low || v > high {
				return table.ErrNarrow
			}
			dst[i] = T(v)
		}
	}
	return nil
}

// integers converts decoded integers, whose upper half does not count where the
// column stores 32 bits.
func (d *numbers[T]) integers(src []int64, dst []T) error {
	unsigned, short := d.c.kind == unsignedInts, d.c.physical == int32s
	for i, v := range src {
		switch {
		case short && unsigned:
			v = int64(uint32(v))
		case short:
			v = int64(int32(v))
		case unsigned && v < 0:
			return tooBig(i, uint64(v))
		}
		if d.c.kind == decimals {
			if err := d.decimal(v, dst, i); err != nil {
				return err
			}
			continue
		}
		if v < d.low || v > d.high {
			return table.ErrNarrow
		}
		dst[i] = T(v)
	}
	return nil
}

func unpackBooleans[T cell](src []byte, dst []T) error {
	if len(dst) > 8*len(src) {
		return damaged("%d bytes of values, %d booleans are declared", len(src), len(dst))
	}
	for i := range dst {
		dst[i] = T(src[i>>3] >> (i & 7) & 1)
	}
	return nil
}

// halfToFloat widens a half-precision float, exactly.
func halfToFloat(h uint16) float32 {
	sign, exponent, fraction := uint32(h>>15)<<31, h>>10&31, uint32(h&1023)
	switch exponent {
	case 0:
		f := float32(fraction) * 0x1p-24
		return math.Float32frombits(math.Float32bits(f) | sign)
	case 31:
		return math.Float32frombits(sign | 0x7f800000 | fraction<<13)
	default:
		return math.Float32frombits(sign | uint32(exponent+112)<<23 | fraction<<13)
	}
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
