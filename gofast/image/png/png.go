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
	_ "github.com/gofast-org/gofast/gofast/internal/inflate"
	_ "github.com/gofast-org/gofast/gofast/source/reader"
)

// Packages kerneltest and pybind include these; TestHeadersRebuildTheirUsers says what this is for.
//
//go:embed rows.h png.h header.h
var _ embed.FS

// Format is gf_png_format.
var Format = picture.FormatAt(unsafe.Pointer(&C.gf_png_format))
