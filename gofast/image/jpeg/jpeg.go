package jpeg

/*
#cgo CFLAGS: -O3 -std=gnu11 -Wall -Wextra
#cgo LDFLAGS: -ldl
#include <stdlib.h>
#include "../picture/opened.h"
#include "state.h"

// Decodes a region of a file, and makes the file's record on the way; without one, the size is 0. Returns 1 with the pixels.
static int pack_file(gf_jpeg *j, const uint8_t *data, size_t n, gf_box region, uint8_t *pixels, gf_bytes *out, size_t *size) {
	gf_sample_bytes file = {.data = data, .size = n, .length = n};
	gf_opened picture;
	gf_fault fault;
	if (gf_picture_open(&picture, &gf_jpeg_format, j, &file, INT32_MAX, &fault)) return 0;
	if (gf_jpeg_packs(j)) gf_jpeg_pack(j, out, 0);
	if (gf_opened_read(&picture, region, pixels, 4 * (int64_t)region.width, &fault) || gf_opened_end(&picture, &fault)) return 0;
	if (!gf_jpeg_packed(j, size)) *size = 0;
	return 1;
}

static void use_marks(uintptr_t memory, size_t size) { gf_jpeg_marks_use((void *)memory, size); }
*/
import "C"

import (
	"embed"
	"image"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/gofast-org/gofast/gofast/image/picture"
	_ "github.com/gofast-org/gofast/gofast/internal/fault"
	_ "github.com/gofast-org/gofast/gofast/internal/meter"
	_ "github.com/gofast-org/gofast/gofast/source/reader"
)

// Other packages' C code includes these headers. TestHeadersRebuildTheirUsers says what this is for.
//
//go:embed *.h
var _ embed.FS

// Format is gf_jpeg_format.
var Format = picture.FormatAt(unsafe.Pointer(&C.gf_jpeg_format))

// Library names the loaded library, with its version and path; empty before
// Format.Load.
func Library() string { return C.GoString(C.gf_libjpeg_version()) }

// Exchanged reports whether the loaded library lets our decoder of Huffman codes take
// the place of its own. If not, pixels are the same but take longer.
func Exchanged() bool { return C.gf_libjpeg_exchanged() != 0 }

var marks sync.Once

// UseMarks says in which memory marks of files are kept, once for the process: zeros at
// that address, which stay there. marks.h says what they are.
func UseMarks(memory uintptr, size int) {
	marks.Do(func() { C.use_marks(C.uintptr_t(memory), C.size_t(size)) })
}

// KeepMarks gives the process memory for marks of its own, if it has none: at most 1 GiB,
// and a 32nd of the machine's. What is not written takes none.
func KeepMarks() {
	marks.Do(func() {
		var machine unix.Sysinfo_t
		if unix.Sysinfo(&machine) != nil {
			return
		}
		size := int(min(1<<30, uint64(machine.Totalram)*uint64(machine.Unit)/32))
		memory, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
		if err == nil { // without, later epochs are as slow as the first
			C.use_marks(C.uintptr_t(uintptr(unsafe.Pointer(unsafe.SliceData(memory)))), C.size_t(size))
		}
	})
}

// coefficientsFormat is gf_coefficients_format; pack decodes a region of a file and makes such a record of
// the file on the way, nil if it cannot be one or the file is damaged; coefficientForms leaves out the forms above one, 0 for plain C. For tests.
var coefficientsFormat = picture.FormatAt(unsafe.Pointer(&C.gf_coefficients_format))

func pack(d *picture.Decoder, file []byte, region image.Rectangle) (record []byte, pixels *image.RGBA) {
	var out C.gf_bytes
	var size C.size_t
	defer func() { C.free(unsafe.Pointer(out.data)) }()
	pixels = image.NewRGBA(image.Rectangle{Max: region.Size()})
	box := C.gf_box{x: C.int32_t(region.Min.X), y: C.int32_t(region.Min.Y), width: C.int32_t(region.Dx()), height: C.int32_t(region.Dy())}
	if C.pack_file((*C.gf_jpeg)(d.State), (*C.uint8_t)(unsafe.SliceData(file)), C.size_t(len(file)), box, (*C.uint8_t)(unsafe.SliceData(pixels.Pix)), &out, &size) == 0 {
		return nil, nil
	}
	if size > 0 {
		record = C.GoBytes(unsafe.Pointer(out.data), C.int(size))
	}
	return record, pixels
}

// skipsOf is how far the symbols of a look-up move on together, by a table of codes as files have it, and symbolsOf the
// same symbol by symbol: after each, the bits and the coefficients. For tests.
func skipsOf(bits [17]byte, values [256]byte) (skips []uint16, symbols func(look int) [][2]int) {
	t := (*C.huffman_table)(C.calloc(1, C.sizeof_huffman_table))
	defer C.free(unsafe.Pointer(t))
	var from C.lj_huffman
	for i, n := range bits {
		from.bits[i] = C.uint8_t(n)
	}
	for i, v := range values {
		from.values[i] = C.uint8_t(v)
	}
	C.huffman_make_table(t, &from, 1)
	C.huffman_make_skips(t)
	for _, s := range t.skip {
		skips = append(skips, uint16(s))
	}
	look := t.look
	return skips, func(at int) (each [][2]int) {
		for bits, on := 0, 0; ; each = append(each, [2]int{bits, on}) {
			e := look[at<<bits&(len(look)-1)]
			if e.on == C.HUFFMAN_NONE || on >= C.HUFFMAN_END {
				return each
			}
			bits, on = bits+int(e.bits)%C.HUFFMAN_RARE, on+int(e.on)
			if bits > C.HUFFMAN_LOOK {
				return each
			}
		}
	}
}

func coefficientForms(most int) { C.coefficients_most = C.int(most) }

const allForms = C.COEFFICIENTS_WIDE

// exchanged is how many files' coefficients a decoder decoded itself, not by the
// library; byLibrary leaves them all to it. For tests.
func exchanged(d *picture.Decoder) int { return int((*C.gf_jpeg)(d.State).exchanged) }

// marked is of how many files a decoder found marks; useMarks replaces the memory of
// marks by another, while nothing is decoded.
func marked(d *picture.Decoder) int { return int((*C.gf_jpeg)(d.State).marked) }

func useMarks(memory []byte) {
	C.gf_jpeg_marks_use(unsafe.Pointer(unsafe.SliceData(memory)), C.size_t(len(memory)))
}

func byLibrary(d *picture.Decoder) { (*C.gf_jpeg)(d.State).by_library = 1 }
