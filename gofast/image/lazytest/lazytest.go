// Package lazytest makes samples of a file or of held pixels for tests, as the library makes those of lazy images.
package lazytest

/*
#cgo CFLAGS: -O3 -std=gnu11 -Wall -Wextra
#include <stdlib.h>
#include "../lazy.h"
#include "../picture/format.h"

static int32_t sample(uintptr_t program, const uint8_t *data, size_t size, int32_t width, int32_t height, int32_t info, const int32_t *record,
                      uint8_t *x, gf_fault *fault) {
	gf_lazy lazy = {.data = data, .size = size, .width = width, .height = height, .info = info};
	return gf_lazy_sample((const gf_image_program *)program, &lazy, record, x, fault);
}
*/
import "C"

import (
	"unsafe"

	_ "github.com/gofast-org/gofast/gofast/engine" // its header is part of lazy.h, as the others' are
	"github.com/gofast-org/gofast/gofast/image"
	_ "github.com/gofast-org/gofast/gofast/image/picture"
	_ "github.com/gofast-org/gofast/gofast/image/pixel"
	_ "github.com/gofast-org/gofast/gofast/image/resample"
	_ "github.com/gofast-org/gofast/gofast/image/steps"
	"github.com/gofast-org/gofast/gofast/internal/fault"
	_ "github.com/gofast-org/gofast/gofast/internal/meter"
	_ "github.com/gofast-org/gofast/gofast/numbers"
	_ "github.com/gofast-org/gofast/gofast/source/reader"
)

// Picture is what a program makes whose plan has no size, and what a sample is made of: RGBX rows, or a file where Width is 0.
type Picture struct {
	Data          []byte
	Width, Height int32
	Info          int32 // GF_INFO_..., several
}

// Tensor is a sample of so many bytes.
func Tensor(p image.Program, of Picture, record []int32, bytes int) ([]byte, error) {
	x := make([]byte, bytes)
	return x, run(p, of, record, &x[0])
}

// Make is a picture.
func Make(p image.Program, of Picture, record []int32) (Picture, error) {
	var made C.gf_made_picture
	if err := run(p, of, record, (*byte)(unsafe.Pointer(&made))); err != nil {
		return Picture{}, err
	}
	defer C.free(unsafe.Pointer(made.data))
	data := C.GoBytes(unsafe.Pointer(made.data), 4*C.int(made.width)*C.int(made.height))
	return Picture{data, int32(made.width), int32(made.height), int32(made.info)}, nil
}

func run(p image.Program, of Picture, record []int32, x *byte) error {
	var f C.gf_fault
	data := append(of.Data[:len(of.Data):len(of.Data)], make([]byte, C.GF_FORMAT_SLACK)...)
	code := C.sample(C.uintptr_t(p.Address()), (*C.uint8_t)(&data[0]), C.size_t(len(of.Data)), C.int32_t(of.Width), C.int32_t(of.Height),
		C.int32_t(of.Info), (*C.int32_t)(unsafe.SliceData(record)), (*C.uint8_t)(x), &f)
	if code != 0 {
		return fault.Error(fault.Code(code), "image", int64(f.offset), C.GoString(&f.text[0]))
	}
	return nil
}
