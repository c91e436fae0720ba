// Package resample resizes 8-bit RGB pictures exactly as Pillow or torch does, to the last bit, as a stream in C
// (resample.h). Package kerneltest compares its instruction sets, and gofast/image has the golden pictures.
package resample

/*
#cgo CFLAGS: -O3 -std=c11 -Wall -Wextra -Wno-psabi
#cgo LDFLAGS: -lm
#include "resample.h"
*/
import "C"

// Level is the best instruction set that this processor has, 0 for plain C.
func Level() int { return int(C.gf_resize_best() - C.GF_RESIZE_PLAIN) }
