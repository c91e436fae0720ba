package pnm

/*
#cgo CFLAGS: -O3 -std=gnu11 -Wall -Wextra
#include "../picture/format.h"
extern const gf_picture_format gf_pnm_format;
*/
import "C"

import (
	"unsafe"

	"github.com/gofast-org/gofast/gofast/image/picture"
	_ "github.com/gofast-org/gofast/gofast/internal/fault"
	_ "github.com/gofast-org/gofast/gofast/source/reader"
)

// Format is gf_pnm_format.
var Format = picture.FormatAt(unsafe.Pointer(&C.gf_pnm_format))
