package hdf5

import "encoding/binary"

// axis is a dimension of the array, or several that are one because a chunk spans all but the first of them.
type axis struct {
	dim          int   // the first of them
	unit         int64 // what one step in it is in this axis
	shape, chunk int64 // of the last axis: in bytes
}

// axesOf puts dimensions together, so that as many values as possible are copied at once. There are at least two axes.
func axesOf(shape, chunk []int64, element int64) []axis {
	var list []axis
	now := axis{0, 1, element, element}
	for i := len(shape) - 1; i >= 0; i-- {
		if now.shape == now.chunk {
			now = axis{i, now.shape, now.shape * shape[i], now.chunk * chunk[i]}
			continue
		}
		list = append([]axis{now}, list...)
		now = axis{i, 1, shape[i], chunk[i]}
	}
	list = append([]axis{now}, list...)
	if len(list) == 1 {
		list = append([]axis{{0, 0, 1, 1}}, list...)
	}
	return list
}

// put copies what of a chunk lies within the array. at is where the chunk begins.
func put(into, values []byte, axes []axis, at []int64) {
	var steps [maxRank + 1]struct{ count, into, from, index int64 }
	start, whole, part := int64(0), int64(1), int64(1)
	for i := len(axes) - 1; i >= 0; i-- {
		a := axes[i]
		begin := at[a.dim] * a.unit
		steps[i].count, steps[i].into, steps[i].from = min(a.chunk, a.shape-begin), whole, part
		start += begin * whole
		whole, part = whole*a.shape, part*a.chunk
	}
	outer := len(axes) - 2
	rows, run := steps[outer], steps[outer+1].count
	to, from := start, int64(0)
	for {
		putRows(into[to:], values[from:], rows.count, run, rows.into, rows.from)
		i := outer - 1
		for ; i >= 0; i-- { // the next place in the outer axes
			s := &steps[i]
			to, from, s.index = to+s.into, from+s.from, s.index+1
			if s.index < s.count {
				break
			}
			to, from, s.index = to-s.count*s.into, from-s.count*s.from, 0
		}
		if i < 0 {
			return
		}
	}
}

// putRows copies rows of run bytes, which lie so far from each other. Single values are what h5py's own choice of chunks
// makes of the last axis of pictures and tables.
func putRows(into, values []byte, rows, run, intoStep, fromStep int64) {
	to, from := int64(0), int64(0)
	switch {
	case run == 1 && fromStep == 1:
		for _, v := range values[:rows] {
			into[to] = v
			to += intoStep
		}
	case run == 4:
		for range rows {
			binary.NativeEndian.PutUint32(into[to:], binary.NativeEndian.Uint32(values[from:]))
			to, from = to+intoStep, from+fromStep
		}
	case run == 8:
		for range rows {
			binary.NativeEndian.PutUint64(into[to:], binary.NativeEndian.Uint64(values[from:]))
			to, from = to+intoStep, from+fromStep
		}
	default:
		for range rows {
			copy(into[to:to+run], values[from:from+run])
			to, from = to+intoStep, from+fromStep
		}
	}
}
