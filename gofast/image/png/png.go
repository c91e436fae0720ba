// Package png decodes PNG files in C to RGBX pixels, exactly as Pillow
// shows them after convert("RGB"), and with Pillow's verdict on damaged ones:
// which checksums count, which truncations are forgiven, what comes after the
// image data. Whatever it is not sure of is ErrUnsupported, and Pillow's to
// decode.
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
#include "png.h"
*/
import "C"

import (
	"embed"
	"unsafe"

	"github.com/gofast-org/gofast/gofast/image/picture"
	_ "github.com/gofast-org/gofast/gofast/internal/fault"
)

// Package kerneltest includes it; TestHeadersRebuildTheirUsers says what this is for.
//
//go:embed rows.h quick.h
var _ embed.FS

// Format is gf_png_format.
var Format = picture.FormatAt(unsafe.Pointer(&C.gf_png_format))
