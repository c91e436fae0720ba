package inflate

/*
#cgo CFLAGS: -O3 -std=gnu11 -Wall -Wextra
#include "quick.h"
*/
import "C"

import "unsafe"

// What must lie behind the bytes of a stream, and behind those that are made of it: the latter are overwritten.
const (
	InSlack  = C.GF_QUICK_IN_SLACK
	OutSlack = C.GF_QUICK_OUT_SLACK
)

// Codes are the tables of one goroutine.
type Codes struct{ c C.gf_quick }

// Exactly fills into with a zlib stream's content, and checks its sum; what follows the stream does not matter. False: it is
// no such stream, or maybe none. Both slices need their slack as capacity.
func (q *Codes) Exactly(into, stream []byte) bool {
	if cap(into)-len(into) < OutSlack || cap(stream)-len(stream) < InSlack {
		return false
	}
	return C.gf_quick_inflate(&q.c, 0, (*C.uint8_t)(unsafe.SliceData(stream)), C.size_t(len(stream)),
		(*C.uint8_t)(unsafe.SliceData(into)), C.size_t(len(into))) != 0
}
