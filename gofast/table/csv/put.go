package csv

import (
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
	case table.Uint8:
		return put[uint8](pl, row, p)
	case table.Int16:
		return put[int16](pl, row, p)
	case table.Int32:
		return put[int32](pl, row, p)
	case table.Int64:
		return put[int64](pl, row, p)
	case table.Float32:
		return put[float32](pl, row, p)
	default:
		return put[float64](pl, row, p)
	}
}

func put[T table.Cell](pl *plan, row []byte, p *parser) bool {
	out, real := table.View[T](row), table.IsReal[T]()
	for _, f := range pl.features {
		bits := p.bits[f.k]
		if p.kinds[f.k] == intCell {
			v := T(int64(bits))
			if int64(v) != int64(bits) || real && float64(v) >= 1<<63 {
				return false
			}
			out[f.to] = v
			continue
		}
		wide := math.Float64frombits(bits)
		v := T(wide)
		if !real || float64(v) != wide && wide == wide { // a fill value may be NaN
			return false
		}
		out[f.to] = v
	}
	return true
}
