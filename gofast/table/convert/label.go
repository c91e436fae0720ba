package convert

import (
	"iter"
	"math"

	"github.com/gofast-org/gofast/gofast/table"
)

// label iterates over a label column. A float is given as its bits.
func (j *job) label(column int) iter.Seq2[int, int64] {
	values := table.View[int64](j.Values)
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
