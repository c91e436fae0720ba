package csv

import (
	"encoding/binary"
	"math"

	"github.com/gofast-org/gofast/gofast/table"
)

// exactly reports whether the float f is the integer v. The bound keeps the
// conversion back in range.
func exactly(v int64, f float64) bool { return f < 1<<63 && int64(f) == v }

// put writes the features of the parser's record into one row of the matrix, and
// reports whether all fit its type exactly.
func (pl *plan) put(row []byte, t table.Type, p *parser) bool {
	switch t {
	case table.Float32:
		return pl.putFloat32(row, p)
	case table.Float64:
		return pl.putFloat64(row, p)
	case table.Uint8:
		return pl.putInts(row, p, 0, math.MaxUint8, func(i int, v int64) { row[i] = byte(v) })
	case table.Int16:
		return pl.putInts(row, p, math.MinInt16, math.MaxInt16, func(i int, v int64) {
			binary.NativeEndian.PutUint16(row[2*i:], uint16(v))
		})
	case table.Int32:
		return pl.putInts(row, p, math.MinInt32, math.MaxInt32, func(i int, v int64) {
			binary.NativeEndian.PutUint32(row[4*i:], uint32(v))
		})
	default:
		return pl.putInts(row, p, math.MinInt64, math.MaxInt64, func(i int, v int64) {
			binary.NativeEndian.PutUint64(row[8*i:], uint64(v))
		})
	}
}

func (pl *plan) putInts(row []byte, p *parser, low, high int64, store func(i int, v int64)) bool {
	for _, f := range pl.features {
		v := int64(p.bits[f.k])
		if p.kinds[f.k] != intCell || v < low || v > high {
			return false
		}
		store(f.to, v)
	}
	return true
}

func (pl *plan) putFloat32(row []byte, p *parser) bool {
	for _, f := range pl.features {
		bits := p.bits[f.k]
		var v float32
		if p.kinds[f.k] == intCell {
			v = float32(int64(bits))
			if !exactly(int64(bits), float64(v)) {
				return false
			}
		} else {
			wide := math.Float64frombits(bits)
			v = float32(wide)
			if float64(v) != wide && wide == wide { // a fill value may be NaN
				return false
			}
		}
		binary.NativeEndian.PutUint32(row[4*f.to:], math.Float32bits(v))
	}
	return true
}

func (pl *plan) putFloat64(row []byte, p *parser) bool {
	for _, f := range pl.features {
		bits := p.bits[f.k]
		if p.kinds[f.k] == intCell {
			v := float64(int64(bits))
			if !exactly(int64(bits), v) {
				return false
			}
			bits = math.Float64bits(v)
		}
		binary.NativeEndian.PutUint64(row[8*f.to:], bits)
	}
	return true
}
