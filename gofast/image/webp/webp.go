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
	_ "github.com/gofast-org/gofast/gofast/source/reader"
)

// Format is gf_webp_format.
var Format = picture.FormatAt(unsafe.Pointer(&C.gf_webp_format))
