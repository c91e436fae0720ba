package table

import (
	"fmt"
	"math"
	"slices"

	"github.com/gofast-org/gofast/gofast/internal/errs"
)

// Range says what values were seen, so that a storage type can be chosen.
// The zero value has seen nothing.
type Range struct {
	Seen     bool  // some integer was seen
	Min, Max int64 // over the integers
	Float    bool  // some cell is written or typed as a float
	Wide     bool  // some float is not exactly a float32
	Beyond   bool  // some integer is above int64
}

// Int notes an integer.
func (r *Range) Int(v int64) {
	if !r.Seen {
		r.Seen, r.Min, r.Max = true, v, v
		return
	}
	r.Min, r.Max = min(r.Min, v), max(r.Max, v)
}

// Real notes a float. NaN, a fill value, is one of every float type.
func (r *Range) Real(v float64) {
	r.Float = true
	if float64(float32(v)) != v && v == v {
		r.Wide = true
	}
}

// Merge adds what another range has seen.
func (r *Range) Merge(o Range) {
	if o.Seen {
		r.Int(o.Min)
		r.Int(o.Max)
	}
	r.Float = r.Float || o.Float
	r.Wide = r.Wide || o.Wide
	r.Beyond = r.Beyond || o.Beyond
}

// Type is the smallest type that holds every value exactly. Floats stay floats,
// even when all are whole. Integers beside floats must fit the float
// exactly; beyond 2^53 nothing does, nor above int64, and that is ErrValue.
func (r Range) Type() (Type, error) {
	if r.Beyond {
		return Invalid, errs.New(errs.ErrValue, "type", fmt.Sprintf("integers above %d: no integer type holds them", int64(math.MaxInt64)))
	}
	if r.Float {
		widest := int64(0)
		if r.Seen {
			if r.Min == math.MinInt64 {
				widest = math.MaxInt64
			} else {
				widest = max(r.Max, -r.Min)
			}
		}
		switch {
		case widest > 1<<53:
			return Invalid, errs.New(errs.ErrValue, "type",
				fmt.Sprintf("integers up to %d beside floats: no type holds both exactly; drop a column with columns=", widest))
		case widest > 1<<24 || r.Wide:
			return Float64, nil
		default:
			return Float32, nil
		}
	}
	switch {
	case !r.Seen, r.Min >= 0 && r.Max <= math.MaxUint8:
		return Uint8, nil
	case r.Min >= math.MinInt16 && r.Max <= math.MaxInt16:
		return Int16, nil
	case r.Min >= math.MinInt32 && r.Max <= math.MaxInt32:
		return Int32, nil
	default:
		return Int64, nil
	}
}

// noteInts is Cells.Note of integers: only the least and the largest matter.
func noteInts[S integer](src []byte, seen *Range) (at int) {
	values := View[S](src)
	if len(values) == 0 {
		return -1
	}
	least, most := values[0], values[0]
	for _, v := range values {
		least, most = min(least, v), max(most, v)
	}
	if most > 0 && uint64(most) > math.MaxInt64 {
		return slices.IndexFunc(values, func(v S) bool { return v > 0 && uint64(v) > math.MaxInt64 })
	}
	seen.Int(int64(least))
	seen.Int(int64(most))
	return -1
}

// noteReals is Cells.Note of floats.
func noteReals[S real](src []byte, seen *Range) (at int) {
	for i, v := range View[S](src) {
		if v != v {
			return i
		}
		seen.Real(float64(v))
	}
	return -1
}

func noteHalfs(src []byte, seen *Range) (at int) {
	for i, h := range View[uint16](src) {
		v := Half(h)
		if v != v {
			return i
		}
		seen.Real(float64(v))
	}
	return -1
}
