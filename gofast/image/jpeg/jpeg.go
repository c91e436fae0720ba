// Package jpeg decodes JPEG files to exactly the pixels that Pillow's
// Image.open(f).convert("RGB") shows, and accepts exactly the files that Pillow
// accepts. It does so in C (jpeg.h), with libjpeg-turbo, which is found at run
// time: nothing of it is needed to build. The same functions run in the threads
// of the engine and in forked workers; this file offers them to Go callers.
//
// What Pillow has to decide itself, such as arithmetic coding or files of
// several pictures, is an [errs.ErrUnsupported].
package jpeg

/*
#cgo CFLAGS: -O3 -std=gnu11 -Wall -Wextra
#cgo LDFLAGS: -ldl
#include <stdlib.h>
#include "state.h"

// All of a decode in one call: the library must not keep a Go pointer from one call to the next.
static int decode_region(gf_jpeg *j, const uint8_t *data, size_t n, int64_t max_pixels, gf_box region, uint8_t *out, gf_fault *fault) {
	int32_t width, height;
	int code = gf_jpeg_begin(j, data, n, max_pixels, &width, &height, fault);
	if (!code) code = gf_jpeg_start(j, region, fault);
	if (!code) code = gf_jpeg_rows(j, out, (int64_t)region.width * 4, region.height, fault);
	if (!code) code = gf_jpeg_end(j, fault);
	return code;
}
*/
import "C"

import (
	"image"
	"math"
	"runtime"
	"unsafe"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/internal/fault"
)

const op = "jpeg"

// Load finds libjpeg-turbo, once for the process. It tries only $GOFAST_LIBJPEG if
// that is set; else path if it is not empty, then the system's libjpeg.so.62. Once
// the library is found, later calls change nothing.
func Load(path string) error {
	var why [300]C.char
	var name *C.char
	if path != "" {
		name = C.CString(path)
		defer C.free(unsafe.Pointer(name))
	}
	if C.gf_libjpeg_load(name, &why[0], C.size_t(len(why))) == 0 {
		return errs.New(errs.ErrUnsupported, op, "libjpeg-turbo was not found; install it, or set GOFAST_LIBJPEG: "+C.GoString(&why[0])).At(path)
	}
	return nil
}

// Library names the loaded library, with its version and path; empty before [Load].
func Library() string { return C.GoString(C.gf_libjpeg_version()) }

// Exchanged reports whether the loaded library lets our decoder of Huffman codes take
// the place of its own. If not, pixels are the same but take longer.
func Exchanged() bool { return C.gf_libjpeg_exchanged() != 0 }

// failure makes an error from a fault. A region outside the picture is a mistake of
// the caller here.
func failure(f *C.gf_fault) error {
	err := fault.Error(fault.Code(f.code), op, int64(f.offset), C.GoString(&f.text[0]))
	if fault.Code(f.code) == fault.Crop {
		err.Kind = errs.ErrConfig
	}
	return err
}

// Size is the width and height that a file's header claims. It reads the markers
// up to the first scan, decodes nothing and needs no library.
func Size(file []byte) (image.Point, error) {
	var width, height C.int32_t
	var f C.gf_fault
	if C.gf_jpeg_size(address(file), C.size_t(len(file)), C.size_t(len(file)), &width, &height, &f) != 0 {
		return image.Point{}, failure(&f)
	}
	return image.Pt(int(width), int(height)), nil
}

// NeedMore is the error of [SizeOfPrefix] when the prefix ends too early.
type NeedMore struct{ Bytes int64 } // at least so many bytes of the file are needed

func (e *NeedMore) Error() string { return "jpeg: the header goes on" }

// SizeOfPrefix is [Size] for the first bytes of a file that is length bytes
// long. The error is a [*NeedMore] when they do not reach to the first scan.
func SizeOfPrefix(prefix []byte, length int64) (image.Point, error) {
	var width, height C.int32_t
	var f C.gf_fault
	switch C.gf_jpeg_size(address(prefix), C.size_t(len(prefix)), C.size_t(length), &width, &height, &f) {
	case 0:
		return image.Pt(int(width), int(height)), nil
	case C.GF_JPEG_MORE:
		return image.Point{}, &NeedMore{Bytes: int64(f.offset)}
	}
	return image.Point{}, failure(&f)
}

func address(b []byte) *C.uint8_t { return (*C.uint8_t)(unsafe.Pointer(unsafe.SliceData(b))) }

// Decoder decodes one file after another and keeps what it needs for that. It is
// not for use by several goroutines at once. Close it, or leave that to the
// garbage collector.
type Decoder struct {
	MaxPixels int64 // most pixels of a picture; NewDecoder sets Pillow's limit
	c         *C.gf_jpeg
	clean     runtime.Cleanup
}

// pillowPixels is the size that Pillow takes as a decompression bomb: twice its MAX_IMAGE_PIXELS.
const pillowPixels = 2 * (1 << 30 / 4 / 3)

// NewDecoder makes a decoder. [Load] must have found the library before it decodes.
func NewDecoder() *Decoder {
	d := &Decoder{MaxPixels: pillowPixels, c: C.gf_jpeg_new()}
	d.clean = runtime.AddCleanup(d, func(c *C.gf_jpeg) { C.gf_jpeg_free(c) }, d.c)
	return d
}

// Close frees what the decoder holds.
func (d *Decoder) Close() {
	if d.c != nil {
		d.clean.Stop()
		C.gf_jpeg_free(d.c)
		d.c = nil
	}
}

// exchanged is the number of files with coefficients decoded by our code. byLibrary
// leaves all of them to the library. Both are for tests.
func (d *Decoder) exchanged() int { return int(d.c.exchanged) }

func (d *Decoder) byLibrary() { d.c.by_library = 1 }

// Decode decodes a region of a file, or all of it where region is empty. The
// pixels are those of the whole picture, and so is the verdict: an error is
// returned for damage outside of the region too. The picture's bounds are the region.
func (d *Decoder) Decode(file []byte, region image.Rectangle) (*image.RGBA, error) {
	if d.c == nil {
		return nil, errs.New(errs.ErrClosed, op, "the decoder was closed, or memory was short when it was made")
	}
	size, err := Size(file)
	if err != nil {
		return nil, err
	}
	whole := image.Rectangle{Max: size}
	if int64(size.X)*int64(size.Y) > min(d.MaxPixels, math.MaxInt32) {
		return nil, errs.New(errs.ErrLimit, op, "the picture has too many pixels: raise MaxPixels to decode it")
	}
	if region.Empty() {
		region = whole
	}
	if !region.In(whole) {
		return nil, errs.New(errs.ErrConfig, op, "the region does not lie in the picture "+whole.String())
	}
	out := image.NewRGBA(region)
	box := C.gf_box{x: C.int32_t(region.Min.X), y: C.int32_t(region.Min.Y), width: C.int32_t(region.Dx()), height: C.int32_t(region.Dy())}
	var f C.gf_fault
	code := C.decode_region(d.c, address(file), C.size_t(len(file)), C.int64_t(d.MaxPixels), box, address(out.Pix), &f)
	runtime.KeepAlive(d)
	if code != 0 {
		return nil, failure(&f)
	}
	return out, nil
}

// Decode decodes a region of a file, or all of it where region is empty, with a
// decoder of its own.
func Decode(file []byte, region image.Rectangle) (*image.RGBA, error) {
	d := NewDecoder()
	defer d.Close()
	return d.Decode(file, region)
}
