package jpeg

/*
#cgo CFLAGS: -O3 -std=gnu11 -Wall -Wextra
#cgo LDFLAGS: -ldl
#include "state.h"
*/
import "C"

import (
	"unsafe"

	"github.com/gofast-org/gofast/gofast/image/picture"
	_ "github.com/gofast-org/gofast/gofast/internal/fault"
	_ "github.com/gofast-org/gofast/gofast/internal/meter"
)

// Format is gf_jpeg_format.
var Format = picture.FormatAt(unsafe.Pointer(&C.gf_jpeg_format))

// Library names the loaded library, with its version and path; empty before
// Format.Load.
func Library() string { return C.GoString(C.gf_libjpeg_version()) }

// Exchanged reports whether the loaded library lets our decoder of Huffman codes take
// the place of its own. If not, pixels are the same but take longer.
func Exchanged() bool { return C.gf_libjpeg_exchanged() != 0 }

// exchanged is how many files' coefficients a decoder decoded itself, not by the
// library; byLibrary leaves them all to it. For tests.
func exchanged(d *picture.Decoder) int { return int((*C.gf_jpeg)(d.State).exchanged) }

func byLibrary(d *picture.Decoder) { (*C.gf_jpeg)(d.State).by_library = 1 }
