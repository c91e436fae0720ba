// Package webp decodes WebP files in C (webp.h) to RGBX pixels, with a libwebp that
// is found at run time. The pixels are exactly those that Pillow shows after
// convert("RGB"): the first frame on its canvas, without alpha. Its verdict on
// damaged files is Pillow's.
//
//	library.c   finds libwebpdemux and libwebp, tries them, and keeps forks out of them
//	decode.c    the header's size, the first frame
package webp

/*
#cgo CFLAGS: -O3 -std=gnu11 -Wall -Wextra
#cgo linux LDFLAGS: -ldl -lpthread
#cgo noescape gf_webp_size
#cgo nocallback gf_webp_size
#cgo noescape gf_webp_decode
#cgo nocallback gf_webp_decode
#include <stdlib.h>
#include "webp.h"
*/
import "C"

import (
	"image"
	"unsafe"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/internal/fault"
)

// Load finds libwebpdemux, and libwebp with it, for the whole process:
// GOFAST_LIBWEBP if that is set, else path, else the system's. Once it is found,
// later calls change nothing.
func Load(path string) error {
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	why := (*C.char)(C.calloc(1, 256))
	defer C.free(unsafe.Pointer(why))
	if C.gf_libwebp_load(name, why, 256) == 0 {
		return errs.New(errs.ErrNotFound, "webp", "libwebpdemux cannot be loaded ("+C.GoString(why)+"): install it or set GOFAST_LIBWEBP")
	}
	return nil
}

func start(b []byte) *C.uint8_t { return (*C.uint8_t)(unsafe.SliceData(b)) }

// Size is the size that a file's header claims. It needs the first 30 bytes and
// no library.
func Size(data []byte) (width, height int, err error) {
	var w, h C.int32_t
	if code := fault.Code(C.gf_webp_size(start(data), C.size_t(len(data)), &w, &h)); code != fault.None {
		return 0, 0, fault.Error(code, "webp", 0, "not a WebP file, or one of an unusual kind")
	}
	return int(w), int(h), nil
}

// Decoder keeps the canvas that decoding needs. One goroutine at a time uses
// it; Close gives its memory back.
type Decoder struct{ state *C.gf_webp }

// NewDecoder makes a decoder. Load must have found libwebp for it to decode.
func NewDecoder() *Decoder { return &Decoder{C.gf_webp_new()} }

// Close frees the decoder's memory.
func (d *Decoder) Close() {
	C.gf_webp_free(d.state)
	d.state = nil
}

// Decode decodes a whole file of at most maxPixels pixels. The picture is the
// caller's; every pixel of it is opaque.
func (d *Decoder) Decode(data []byte, maxPixels int64) (*image.NRGBA, error) {
	if d.state == nil {
		return nil, errs.New(errs.ErrClosed, "webp", "the decoder was closed")
	}
	var picture C.gf_picture
	var f C.gf_fault
	if code := C.gf_webp_decode(d.state, start(data), C.size_t(len(data)), C.int64_t(maxPixels), &picture, &f); code != 0 {
		return nil, fault.Error(fault.Code(code), "webp", int64(f.offset), C.GoString(&f.text[0]))
	}
	out := image.NewNRGBA(image.Rect(0, 0, int(picture.width), int(picture.height)))
	copy(out.Pix, unsafe.Slice((*byte)(picture.data), int(picture.stride)*int(picture.height)))
	return out, nil
}
