// Package picture is what the image decoders, the kernels and the plan hand each
// other (picture.h), and what a format of pictures is (format.h), in C, and for Go
// callers.
package picture

/*
#cgo CFLAGS: -O3 -std=gnu11 -Wall -Wextra
#include <stdlib.h>
#include "opened.h"

static int load(const gf_picture_format *f, const char *path, char *why, size_t size) { return !f->load || f->load(path, why, size); }
static int32_t size(const gf_picture_format *f, const uint8_t *data, size_t n, size_t length, int32_t *width, int32_t *height, gf_fault *fault) {
	return f->size(data, n, length, width, height, fault);
}
static void *make(const gf_picture_format *f) { return f->make(); }
static void drop(const gf_picture_format *f, void *state) { f->free(state); }
static int32_t open_picture(gf_opened *s, const gf_picture_format *f, void *state, const uint8_t *data, size_t n, int comes_again, int64_t max_pixels, gf_fault *fault) {
	gf_sample_bytes file = {.data = data, .size = n, .length = n, .comes_again = comes_again};
	return gf_picture_open(s, f, state, &file, max_pixels, fault);
}

// Decodes all of an open picture, and keeps nothing of it.
static int32_t check(gf_opened *s, gf_fault *fault) {
	gf_box whole = {0, 0, s->picture.width, s->picture.height};
	int32_t code = gf_opened_start(s, whole, fault);
	int64_t stride;
	for (int32_t y = 0; y < whole.height && !code; y += GF_FORMAT_ROWS) {
		int32_t rows = whole.height - y < GF_FORMAT_ROWS ? whole.height - y : GF_FORMAT_ROWS;
		if (!gf_opened_rows(s, rows, &stride, fault)) return fault->code;
	}
	return code ? code : gf_opened_end(s, fault);
}
*/
import "C"

import (
	"image"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"unsafe"

	"github.com/gofast-org/gofast/gofast/internal/errs"
	"github.com/gofast-org/gofast/gofast/internal/fault"
)

// Format is one format of pictures.
type Format struct{ c *C.gf_picture_format }

// FormatAt is the format whose gf_picture_format lies there.
func FormatAt(at unsafe.Pointer) Format { return Format{(*C.gf_picture_format)(at)} }

// Name is the format's name, such as "jpeg".
func (f Format) Name() string { return C.GoString(f.c.name) }

// Load finds the library that decodes the format, once for the process: the one
// that a variable of the environment names and nothing else, or else path where it
// is not empty, or else the system's. Once found it stays, and later calls change
// nothing.
func (f Format) Load(path string) error {
	var why [300]C.char
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	if C.load(f.c, name, &why[0], C.size_t(len(why))) == 0 {
		return errs.New(errs.ErrUnsupported, f.Name(), "its library was not found ("+C.GoString(&why[0])+"): install it or set "+
			C.GoString(f.c.variable)).At(path)
	}
	return nil
}

// LoadFrom is Load for the last library of Pillow's in the first of the folders
// that has one.
func (f Format) LoadFrom(folders []string) error { return f.Load(f.Bundled(folders)) }

// Bundled is the library that LoadFrom finds in folders, or "".
func (f Format) Bundled(folders []string) (found string) {
	for _, folder := range folders {
		entries, _ := os.ReadDir(folder) // one that cannot be read has none
		for _, entry := range entries {
			if fits, _ := filepath.Match(C.GoString(f.c.wheel), entry.Name()); fits {
				found = filepath.Join(folder, entry.Name())
			}
		}
		if found != "" {
			break
		}
	}
	return found
}

func (f Format) failure(c *C.gf_fault) error {
	return fault.Error(fault.Code(c.code), f.Name(), int64(c.offset), C.GoString(&c.text[0]))
}

// NeedMore is the error of [Format.Size] when the file's beginning is too short.
type NeedMore struct{ Bytes int64 } // at least so many bytes of the file are needed

func (e *NeedMore) Error() string { return "the header goes on" }

// Size is the width and height that the header of a file claims, that is length
// bytes long and begins with prefix. It decodes nothing and needs no library. The
// error is a [*NeedMore] when the header does not end in prefix.
func (f Format) Size(prefix []byte, length int) (image.Point, error) {
	var width, height C.int32_t
	var c C.gf_fault
	switch C.size(f.c, start(prefix), C.size_t(len(prefix)), C.size_t(length), &width, &height, &c) {
	case 0:
		return image.Pt(int(width), int(height)), nil
	case C.GF_FORMAT_MORE:
		return image.Point{}, &NeedMore{Bytes: int64(c.offset)}
	}
	return image.Point{}, f.failure(&c)
}

func start(b []byte) *C.uint8_t { return (*C.uint8_t)(unsafe.SliceData(b)) }

// Decoder decodes one file after another and keeps what it needs for that. It is
// not for use by several goroutines at once. Close it, or leave that to the
// garbage collector.
type Decoder struct {
	MaxPixels  int64          // most pixels of a picture; NewDecoder sets Pillow's limit
	ComesAgain bool           // its files will be decoded again
	State      unsafe.Pointer // the format's own; nil when it was closed
	format     Format
	clean      runtime.Cleanup
}

// pillowPixels is where Pillow sees a decompression bomb: twice its MAX_IMAGE_PIXELS.
const pillowPixels = 2 * (1 << 30 / 4 / 3)

// NewDecoder makes a decoder. [Format.Load] must have found the library before it
// decodes.
func (f Format) NewDecoder() *Decoder {
	d := &Decoder{MaxPixels: pillowPixels, State: C.make(f.c), format: f}
	d.clean = runtime.AddCleanup(d, func(state unsafe.Pointer) { C.drop(f.c, state) }, d.State)
	return d
}

// Close frees what the decoder holds.
func (d *Decoder) Close() {
	if d.State != nil {
		d.clean.Stop()
		C.drop(d.format.c, d.State)
		d.State = nil
	}
}

// begin opens a file, which pins keeps where it is until the picture has ended.
func (d *Decoder) begin(file []byte, source *C.gf_opened, c *C.gf_fault, pins *runtime.Pinner) error {
	if d.State == nil {
		return errs.New(errs.ErrClosed, d.format.Name(), "the decoder was closed, or memory was short when it was made")
	}
	if len(file) > 0 {
		pins.Pin(unsafe.SliceData(file)) // the state keeps a pointer to the file from one call to the next
	}
	again := C.int(0)
	if d.ComesAgain {
		again = 1
	}
	if C.open_picture(source, d.format.c, d.State, start(file), C.size_t(len(file)), again, C.int64_t(min(d.MaxPixels, math.MaxInt32)), c) != 0 {
		return d.format.failure(c)
	}
	return nil
}

// Check decodes all of a file and keeps no pixel: it returns the error that Decode would.
func (d *Decoder) Check(file []byte) error {
	defer runtime.KeepAlive(d)
	var source C.gf_opened
	var c C.gf_fault
	var pins runtime.Pinner
	defer pins.Unpin()
	if err := d.begin(file, &source, &c, &pins); err != nil {
		return err
	}
	if C.check(&source, &c) != 0 {
		return d.format.failure(&c)
	}
	return nil
}

// Decode decodes a region of a file, or all of it where region is empty. The
// pixels are those of the whole picture, and so is the verdict: an error is
// returned for damage outside of the region too. The picture's bounds are the
// region, and every pixel is opaque.
func (d *Decoder) Decode(file []byte, region image.Rectangle) (*image.RGBA, error) {
	defer runtime.KeepAlive(d)
	var source C.gf_opened
	var c C.gf_fault
	var pins runtime.Pinner
	defer pins.Unpin()
	if err := d.begin(file, &source, &c, &pins); err != nil {
		return nil, err
	}
	whole := image.Rect(0, 0, int(source.picture.width), int(source.picture.height))
	if region.Empty() {
		region = whole
	}
	if !region.In(whole) {
		return nil, errs.New(errs.ErrConfig, d.format.Name(), "the region does not lie in the picture "+whole.String())
	}
	out := image.NewRGBA(region)
	box := C.gf_box{x: C.int32_t(region.Min.X), y: C.int32_t(region.Min.Y), width: C.int32_t(region.Dx()), height: C.int32_t(region.Dy())}
	if C.gf_opened_read(&source, box, start(out.Pix), C.int64_t(out.Stride), &c) != 0 || C.gf_opened_end(&source, &c) != 0 {
		return nil, d.format.failure(&c)
	}
	return out, nil
}
