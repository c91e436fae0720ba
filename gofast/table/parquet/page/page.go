// Package page holds the hot loops of Parquet pages: runs of dictionary indexes
// and levels, narrowing of plain integers, and columns to rows. The C side is
// described in page.h.
package page

/*
#cgo CFLAGS: -O3 -std=c11 -Wall -Wextra
#include "page.h"
*/
import "C"

import (
	"embed"
	"unsafe"
)

// Package kerneltest includes it; TestHeadersRebuildTheirUsers says what this is for.
//
//go:embed page.h
var _ embed.FS

// Best is the best instruction set of this machine.
var Best = Level(C.gf_page_level())

// Runs8 decodes len(dst) values of width 0..8 bits from src and writes
// table[value]. A value of size or more is OutOfRange.
func (l Level) Runs8(src []byte, width int, dst []byte, table *[256]byte, size int) Status {
	return Status(C.gf_runs8(C.int(l), cbytes(src), C.int64_t(len(src)), C.int(width),
		cbytes(dst), C.int64_t(len(dst)), (*C.uint8_t)(&table[0]), C.int(size)))
}

// Runs32 decodes len(dst) values of width 0..32 bits. A value of size or more
// is OutOfRange.
func (l Level) Runs32(src []byte, width int, dst []uint32, size uint64) Status {
	return Status(C.gf_runs32(C.int(l), cbytes(src), C.int64_t(len(src)), C.int(width),
		(*C.uint32_t)(unsafe.SliceData(dst)), C.int64_t(len(dst)), C.uint64_t(size)))
}

// Entries decodes values of width 0..32 bits and writes table[value], each of size bytes. A value without an entry
// is OutOfRange.
func (l Level) Entries(src []byte, width int, dst, table []byte, size int) Status {
	return Status(C.gf_entries(C.int(l), cbytes(src), C.int64_t(len(src)), C.int(width), unsafe.Pointer(unsafe.SliceData(dst)),
		C.int64_t(len(dst)/size), unsafe.Pointer(unsafe.SliceData(table)), C.uint64_t(len(table)/size), C.int(size)))
}

// Narrow32 writes len(dst) little-endian int32 values of src as bytes; false
// when one is outside 0..255.
func (l Level) Narrow32(src, dst []byte) bool {
	_ = src[:4*len(dst)]
	return C.gf_narrow32(unsafe.Pointer(unsafe.SliceData(src)), cbytes(dst), C.int64_t(len(dst))) == 0
}

// Narrow64 is Narrow32 for int64 values.
func (l Level) Narrow64(src, dst []byte) bool {
	_ = src[:8*len(dst)]
	return C.gf_narrow64(unsafe.Pointer(unsafe.SliceData(src)), cbytes(dst), C.int64_t(len(dst))) == 0
}

// HasNaN says whether one of the floats, of size bytes each, is NaN.
func (l Level) HasNaN(src []byte, size int) bool {
	return C.gf_has_nan(unsafe.Pointer(unsafe.SliceData(src)), C.int64_t(len(src)/size), C.int(size)) != 0
}

// Rows writes the columns of t as rows into dst, whose rows are rowBytes apart.
func (l Level) Rows(t Tile, dst []byte, rowBytes int) {
	if !t.check(dst, rowBytes) {
		return
	}
	C.gf_rows(C.int(l), unsafe.Pointer(unsafe.SliceData(t.Data)), C.int64_t(t.ColumnBytes), C.int64_t(t.Rows),
		C.int64_t(t.Cols), C.int(t.Size), unsafe.Pointer(unsafe.SliceData(dst)), C.int64_t(rowBytes))
}

func cbytes(b []byte) *C.uint8_t { return (*C.uint8_t)(unsafe.SliceData(b)) }
