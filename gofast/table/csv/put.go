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
func (pl *plan) put(row []byte, t table.Type, p *parser) bool { return puts[t](pl, row, p) }

var puts = [...]func(pl *plan, row []byte, p *parser) bool{table.Uint8: put[uint8], table.Int16: put[int16], table.Int32: put[int32],
	table.Int64: put[int64], table.Float32: put[float32], table.Float64: put[float64]}

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
