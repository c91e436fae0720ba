// Package png decodes PNG files in C (png.h) to RGBX pixels, exactly as Pillow
// shows them after convert("RGB"). It has Pillow's verdict on damaged files: which
// checksums count, which truncations are accepted, what may come after the image
// data. If it is not sure, the file is ErrUnsupported, and Pillow must decode it.
//
//	chunks.c    the chunks before and after the image data, as PngImagePlugin.py reads them
//	libz.c      finds zlib at run time; nothing is linked
//	decode.c    the state, inflating, Adam7
//	quick.c     inflates correct streams; zlib does the rest
//	unfilter.c  PNG's four filters
//	expand.c    samples of all depths and colour types to pixels
package png

/*
#cgo CFLAGS: -O3 -std=gnu11 -Wall -Wextra
#cgo linux LDFLAGS: -ldl
#cgo noescape gf_png_size
#cgo nocallback gf_png_size
#cgo noescape gf_png_decode
#cgo nocallback gf_png_decode
#include <stdlib.h>
#include "png.h"
*/
import "C"

import (
	"image"
	"unsafe"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/internal/fault"
)

// Load finds zlib for the whole process: GOFAST_LIBZ if that is set, else path,
// else the system's. Once it is found, later calls change nothing.
func Load(path string) error {
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	why := (*C.char)(C.calloc(1, 256))
	defer C.free(unsafe.Pointer(why))
	if C.gf_libz_load(name, why, 256) == 0 {
		return errs.New(errs.ErrNotFound, "png", "zlib cannot be loaded ("+C.GoString(why)+"): install it or set GOFAST_LIBZ")
	}
	return nil
}

func start(b []byte) *C.uint8_t { return (*C.uint8_t)(unsafe.SliceData(b)) }

// Size is the size that a file's header claims. It needs the first 24 bytes.
func Size(data []byte) (width, height int, err error) {
	var w, h C.int32_t
	if code := fault.Code(C.gf_png_size(start(data), C.size_t(len(data)), &w, &h)); code != fault.None {
		return 0, 0, fault.Error(code, "png", 0, "not a PNG file, or one of an unusual kind")
	}
	return int(w), int(h), nil
}

// Decoder keeps the buffers that decoding needs. One goroutine at a time uses
// it; Close gives its memory back.
type Decoder struct{ state *C.gf_png }

// NewDecoder makes a decoder. Load must have found zlib for it to decode.
func NewDecoder() *Decoder { return &Decoder{C.gf_png_new()} }

// Close frees the decoder's memory.
func (d *Decoder) Close() {
	C.gf_png_free(d.state)
	d.state = nil
}

// plain chooses the plain kernels and zlib, for tests.
func (d *Decoder) plain(on bool) {
	variant := C.int(0)
	if on {
		variant = 1
	}
	C.gf_png_variant(d.state, variant)
}

// Decode decodes a whole file of at most maxPixels pixels. The picture is the
// caller's; every pixel of it is opaque.
func (d *Decoder) Decode(data []byte, maxPixels int64) (*image.NRGBA, error) {
	if d.state == nil {
		return nil, errs.New(errs.ErrClosed, "png", "the decoder was closed")
	}
	var picture C.gf_picture
	var f C.gf_fault
	if code := C.gf_png_decode(d.state, start(data), C.size_t(len(data)), C.int64_t(maxPixels), &picture, &f); code != 0 {
		return nil, fault.Error(fault.Code(code), "png", int64(f.offset), C.GoString(&f.text[0]))
	}
	out := image.NewNRGBA(image.Rect(0, 0, int(picture.width), int(picture.height)))
	copy(out.Pix, unsafe.Slice((*byte)(picture.data), int(picture.stride)*int(picture.height)))
	return out, nil
}
