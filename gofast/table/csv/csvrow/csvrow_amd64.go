package csvrow

/*
#cgo CFLAGS: -O3 -std=c11 -Wall -Wextra
#cgo noescape csvrow_scan
#cgo nocallback csvrow_scan
#cgo noescape csvrow_parse
#cgo nocallback csvrow_parse
#include "csvrow.h"
*/
import "C"

import "unsafe"

func best() Variant { return Variant(C.csvrow_best()) }

func start(b []byte) *C.uint8_t { return (*C.uint8_t)(unsafe.SliceData(b)) }

func scan(v Variant, data []byte, delim byte) Counts {
	var c C.csvrow_counts
	C.csvrow_scan(C.int(v), start(data), C.int64_t(len(data)), C.int(delim), &c)
	return Counts{Lines: int64(c.lines), Quotes: c.quotes != 0, Odd: c.odd != 0}
}

// Run and Label have the layout of csvrow_run and csvrow_label: int32 fields in
// the same order.
func parse(v Variant, l *Layout, buf []byte, from, to, most int, scratch, features, labels []byte) (int, int) {
	var r C.csvrow_result
	C.csvrow_parse(C.int(v), start(buf), C.int64_t(from), C.int64_t(to), C.int64_t(most), C.int(l.Delim), C.int(l.Lead),
		C.int(l.Columns), (*C.csvrow_run)(unsafe.Pointer(unsafe.SliceData(l.Runs))), C.int(len(l.Runs)),
		(*C.csvrow_label)(unsafe.Pointer(unsafe.SliceData(l.Labels))), C.int(len(l.Labels)),
		start(scratch), start(features), C.int64_t(l.Width), start(labels), &r)
	return int(r.rows), int(r.next)
}
