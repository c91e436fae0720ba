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

import (
	"fmt"
	"sync/atomic"
	"unsafe"
)

// Front and Pad are the bytes of the buffer that Parse may touch before and
// after the rows: vectors are loaded whole.
const (
	Front = 64
	Pad   = 128
)

// MaxLead is the most bytes that the leading cells of a row may take.
const MaxLead = 256

// Counts is what Scan saw.
type Counts struct {
	Lines  int64 // '\n' bytes that do not follow a '\n'
	Quotes bool  // some byte is '"'
	Odd    bool  // a '\r' without '\n' after it, or a line that starts with a blank or '\r'
}

// Run sends Count cells, from column From on, to the features from To on. It and Label are
// laid out as csvrow_run and csvrow_label.
type Run struct{ From, To, Count int32 }

// Label sends the cell of Column to the next label, as a float64 if Real is not
// 0 and as an int64 otherwise.
type Label struct{ Column, Real int32 }

// Layout says what a row looks like and where its cells go. Columns counts the
// cells after the Lead ones, which are skipped whatever they hold; Column and
// From are relative to them.
type Layout struct {
	Delim   byte
	Lead    int
	Columns int
	Runs    []Run
	Labels  []Label
	Width   int // features of one row
}

// ScratchSize is the length of the scratch that Parse needs.
func (l *Layout) ScratchSize() int { return l.Columns + Pad }

// Variant names one form of the kernels.
type Variant int32

// The forms, in csvrow.h's order. Plain is the reference.
const (
	Plain Variant = iota
	AVX2
	AVX512
)

// String is the variant's name.
func (v Variant) String() string { return [...]string{"plain", "avx2", "avx512"}[v] }

var current atomic.Int32

func init() { current.Store(int32(C.csvrow_best())) }

// Variants lists the forms that run here, the reference first.
func Variants() (all []Variant) {
	for v := Plain; v <= Variant(C.csvrow_best()); v++ {
		all = append(all, v)
	}
	return all
}

// Force makes every later call use v, until the returned function is called. For
// tests only: it is process-wide.
func Force(v Variant) (restore func()) {
	old := current.Swap(int32(v))
	return func() { current.Store(old) }
}

// Scan counts the lines of data.
func Scan(data []byte, delim byte) Counts {
	var c C.csvrow_counts
	C.csvrow_scan(C.int(current.Load()), start(data), C.int64_t(len(data)), C.int(delim), &c)
	return Counts{Lines: int64(c.lines), Quotes: c.quotes != 0, Odd: c.odd != 0}
}

func start(b []byte) *C.uint8_t { return (*C.uint8_t)(unsafe.SliceData(b)) }

// Parse stores rows of buf[from:to] until that is exhausted, `most` rows are
// stored, or a row is not one of Columns cells of one to three digits and at most
// 255. It returns the number of rows stored and where the next row starts. The
// last row needs its newline. The buffer must reach Front bytes before from and
// Pad bytes after to; its byte before from is changed and put back.
func Parse(l *Layout, buf []byte, from, to, most int, scratch, features, labels []byte) (rows, next int) {
	if from < Front || to < from || to+Pad > len(buf) || len(scratch) < l.ScratchSize() ||
		l.Width > 0 && most > len(features)/l.Width || len(l.Labels) > 0 && most > len(labels)/(8*len(l.Labels)) {
		panic(fmt.Sprintf("csvrow: rows %d..%d of %d bytes, %d rows into %d and %d bytes",
			from, to, len(buf), most, len(features), len(labels)))
	}
	if most <= 0 || from == to {
		return 0, from
	}
	before := buf[from-1]
	buf[from-1] = '\n'
	var r C.csvrow_result
	C.csvrow_parse(C.int(current.Load()), start(buf), C.int64_t(from), C.int64_t(to), C.int64_t(most), C.int(l.Delim), C.int(l.Lead),
		C.int(l.Columns), (*C.csvrow_run)(unsafe.Pointer(unsafe.SliceData(l.Runs))), C.int(len(l.Runs)),
		(*C.csvrow_label)(unsafe.Pointer(unsafe.SliceData(l.Labels))), C.int(len(l.Labels)),
		start(scratch), start(features), C.int64_t(l.Width), start(labels), &r)
	buf[from-1] = before
	return int(r.rows), int(r.next)
}
