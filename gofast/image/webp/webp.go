// Package webp decodes WebP files in C to RGBX pixels with a libwebp
// that is found at run time, exactly as Pillow shows them after
// convert("RGB"): the first frame on its canvas, alpha dropped, and with
// Pillow's verdict on damaged files.
//
//	library.c   finds libwebpdemux and libwebp, tries them, and keeps forks out of them
//	decode.c    the header's size, the first frame
package webp

/*
#cgo CFLAGS: -O3 -std=gnu11 -Wall -Wextra
#cgo linux LDFLAGS: -ldl -lpthread
#include "../picture/format.h"
extern const gf_picture_format gf_webp_format;
*/
import "C"

import (
	"unsafe"

	"github.com/gofast-org/gofast/gofast/image/picture"
	_ "github.com/gofast-org/gofast/gofast/internal/fault"
)

// Format is gf_webp_format.
var Format = picture.FormatAt(unsafe.Pointer(&C.gf_webp_format))
