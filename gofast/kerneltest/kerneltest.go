// Package kerneltest compares every vectorised kernel with its own plain C, at each instruction set that this processor
// has: the same bytes, and nothing written that is not the kernel's own. What the plain C must give is said by the libraries
// that it stands for, in Python's tests. A new kernel is a row in pixel.c, number.c or other.c.
package kerneltest

/*
#cgo CFLAGS: -O2 -std=c11 -Wall -Wextra
#cgo LDFLAGS: -lm
#include <stdlib.h>
#include "../image/pixel/pixel.h"
#include "../internal/inflate/quick.h"
#include "trial.h"
*/
import "C"

import (
	"unsafe"

	// For their headers, or their C functions.
	_ "github.com/gofast-org/gofast/gofast/engine"
	_ "github.com/gofast-org/gofast/gofast/image/picture"
	_ "github.com/gofast-org/gofast/gofast/image/png"
	_ "github.com/gofast-org/gofast/gofast/image/resample"
	_ "github.com/gofast-org/gofast/gofast/internal/fault"
	_ "github.com/gofast-org/gofast/gofast/internal/inflate"
	_ "github.com/gofast-org/gofast/gofast/table/parquet/page"

	"github.com/gofast-org/gofast/gofast/image/pixel"
	"github.com/gofast-org/gofast/gofast/numbers"
	"github.com/gofast-org/gofast/gofast/table"
	"github.com/gofast-org/gofast/gofast/table/gather"
)

// Kernel is a row of the table.
type Kernel struct {
	Name   string
	Levels int // that this processor has beside plain C
	c      *C.kernel
}

// All are the kernels that have more than one form.
func All() (all []Kernel) {
	var best C.int
	for k := C.gf_kernel_at(0, &best); k != nil; k = C.gf_kernel_at(C.int(len(all)), &best) {
		all = append(all, Kernel{C.GoString(k.name), int(best), k})
	}
	return all
}

// Try gives a kernel the same input in plain C and at a level, and says what is wrong; "" if nothing is. given is what the
// dice show first. One goroutine at a time.
func (k Kernel) Try(level int, seed uint64, given []byte) string {
	var text [200]C.char
	if C.gf_try(k.c, C.int(level), C.uint64_t(seed), (*C.uint8_t)(unsafe.SliceData(given)), C.size_t(len(given)), &text[0]) == 0 {
		return ""
	}
	return C.GoString(&text[0])
}

// Inflate inflates a zlib stream to size bytes, without vectors if plain. It returns how many bytes of it were read, or
// 0 if zlib must judge.
func Inflate(plain bool, stream []byte, size int) (out []byte, read int) {
	codes := (*C.gf_quick)(C.calloc(1, C.sizeof_gf_quick))
	defer C.free(unsafe.Pointer(codes))
	in := append(append([]byte(nil), stream...), make([]byte, C.GF_QUICK_IN_SLACK)...)
	out = make([]byte, size+C.GF_QUICK_OUT_SLACK)
	variant := C.int(0)
	if plain {
		variant = 1
	}
	n := C.gf_quick_inflate(codes, variant, (*C.uint8_t)(unsafe.SliceData(in)), C.size_t(len(stream)), (*C.uint8_t)(unsafe.SliceData(out)), C.size_t(size))
	return out[:size], int(n)
}

func spec(scale, typ, channels, last C.int, mean, std *C.float) numbers.Spec {
	s := numbers.Spec{Scale: numbers.Scale(scale), Type: numbers.Type(typ), Channels: int(channels), Last: last != 0}
	if mean != nil {
		s.Mean = unsafe.Slice((*float32)(mean), channels)
		s.Std = unsafe.Slice((*float32)(std), channels)
	}
	return s
}

//export gofastLayOut
func gofastLayOut(at *C.gf_normalise, scale, typ, channels, last, stream C.int, mean, std *C.float, level C.int) {
	s := pixel.Spec{Spec: spec(scale, typ, channels, last, mean, std), Stream: stream != 0}
	s.LayOut(unsafe.Pointer(at), pixel.Level(level))
}

//export gofastProgram
func gofastProgram(scale, typ, channels, width C.int, mean, std *C.float) C.uintptr_t {
	p, err := gather.NewProgram(gather.Spec{Spec: spec(scale, typ, channels, 0, mean, std), Storage: table.Uint8, Width: int(width)})
	if err != nil {
		panic(err)
	}
	return C.uintptr_t(p.Address())
}
