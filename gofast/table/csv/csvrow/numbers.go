package csvrow

/*
#cgo noescape csvrow_numbers
#cgo nocallback csvrow_numbers
#include "numbers.h"
*/
import "C"

import (
	"fmt"
	"runtime"
	"unsafe"

	"github.com/gofast-org/gofast/gofast/numbers"
)

// Skip is a column that nobody wants.
const Skip = C.CSVROW_SKIP

// Numbers says where the cells of rows of numbers go.
type Numbers struct {
	Delim byte
	Point byte    // of decimals
	To    []int32 // of each column: its feature, or -1 - its label, or Skip
	Real  []uint8 // of each label: 1 for a float64, 0 for an int64
	Width int     // features of a row
	Type  numbers.Type
	Most  int64 // bytes of a row
}

// Parse stores rows of buf[from:to] until that is exhausted, `most` rows are stored, or a row is not one of numbers that
// fit their places exactly. It returns the number of rows stored and where the next row starts. The last row needs its
// end. The buffer must reach Front bytes before from and Pad bytes after to.
func (n *Numbers) Parse(buf []byte, from, to, most int, features, labels []byte) (rows, next int) {
	width := n.Width * n.Type.Size()
	if from < Front || to < from || to+Pad > len(buf) || len(n.To) == 0 || n.Type < numbers.Uint8 || n.Type > numbers.Float64 ||
		width > 0 && most > len(features)/width || len(n.Real) > 0 && most > len(labels)/(8*len(n.Real)) {
		panic(fmt.Sprintf("csvrow: rows %d..%d of %d bytes, %d rows into %d and %d bytes",
			from, to, len(buf), most, len(features), len(labels)))
	}
	var pins runtime.Pinner
	defer pins.Unpin()
	t := C.csvrow_table{most: C.int64_t(n.Most), columns: C.int32_t(len(n.To)), labels: C.int32_t(len(n.Real)),
		_type: C.int32_t(n.Type - numbers.Uint8), delim: C.int32_t(n.Delim), point: C.int32_t(n.Point)}
	t.to = (*C.int32_t)(unsafe.Pointer(unsafe.SliceData(n.To)))
	t.real = (*C.uint8_t)(unsafe.SliceData(n.Real))
	pins.Pin(t.to)
	if t.real != nil {
		pins.Pin(t.real)
	}
	var r C.csvrow_result
	C.csvrow_numbers(C.int(current.Load()), &t, start(buf), C.int64_t(from), C.int64_t(to), C.int64_t(most), start(features), C.int64_t(width), start(labels), &r)
	return int(r.rows), int(r.next)
}
