// Package numberstest reads numbers one by one, for tests that make them so.
package numberstest

import (
	"encoding/binary"
	"math"

	"github.com/gofast-org/gofast/gofast/numbers"
)

// Stored is the value at position i of numbers of a type that tables are stored in.
func Stored(t numbers.Type, src []byte, i int) numbers.Value {
	switch le := binary.LittleEndian; t {
	case numbers.Uint8:
		return numbers.Int(int64(src[i]))
	case numbers.Int16:
		return numbers.Int(int64(int16(le.Uint16(src[2*i:]))))
	case numbers.Int32:
		return numbers.Int(int64(int32(le.Uint32(src[4*i:]))))
	case numbers.Int64:
		return numbers.Int(int64(le.Uint64(src[8*i:])))
	case numbers.Float32:
		return numbers.Single(math.Float32frombits(le.Uint32(src[4*i:])))
	default:
		return numbers.Double(math.Float64frombits(le.Uint64(src[8*i:])))
	}
}
