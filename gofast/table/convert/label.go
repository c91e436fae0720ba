package convert

import (
	"iter"
	"math"
	"unsafe"
)

// int64s views 8-byte label values.
func int64s(b []byte) []int64 {
	return unsafe.Slice((*int64)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/8)
}

// label iterates over a label column. A float is given as its bits.
func (j *job) label(column int) iter.Seq2[int, int64] {
	values := int64s(j.Values)
	return func(yield func(int, int64) bool) {
		for row := range int(j.Rows) {
			if !yield(row, values[row*len(j.Labels)+column]) {
				return
			}
		}
	}
}

// column is a label column's values, contiguous.
func (j *job) column(column int) []int64 {
	values := make([]int64, 0, j.Rows)
	for _, v := range j.label(column) {
		values = append(values, v)
	}
	return values
}

func float(bits int64) float64 { return math.Float64frombits(uint64(bits)) }
