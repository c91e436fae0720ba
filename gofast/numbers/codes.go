package numbers

/*
#cgo CFLAGS: -O3 -std=c11 -Wall -Wextra
#include "numbers.h"

static void *as_pointer(uintptr_t address) { return (void *)address; }
*/
import "C"

import "unsafe"

// codes are what becomes of each byte in one channel: a gf_codes.
type codes struct {
	results [256 * 4]byte // the 256 numbers
	planes  [4][256]byte  // their bytes apart, of float32
}

var _ [unsafe.Sizeof(codes{})]byte = [C.sizeof_gf_codes]byte{}

func (s *Spec) c() C.gf_numbers {
	n := C.gf_numbers{scale: C.int32_t(s.Scale), _type: C.int32_t(s.Type), size: C.int32_t(s.Type.Size()), channels: C.int32_t(s.Channels)}
	if s.Mean != nil {
		n.normalise = 1
	}
	if s.Last {
		n.last = 1
	}
	return n
}

// LayOut writes the gf_numbers that C reads.
func (s *Spec) LayOut(at unsafe.Pointer) { *(*C.gf_numbers)(at) = s.c() }

// LayOutCodes writes a gf_codes for every channel, of results of at most 4 bytes.
func (s *Spec) LayOutCodes(at unsafe.Pointer) {
	channels := unsafe.Slice((*codes)(at), s.Channels)
	for c := range channels {
		results := channels[c].results[:]
		s.results(c, results)
		for v := range 256 {
			for plane := range s.Type.Size() {
				channels[c].planes[plane][v] = results[s.Type.Size()*v+plane]
			}
		}
	}
}

// ResultsAt is Results for memory that is not Go's.
func (s *Spec) ResultsAt(address uintptr) {
	s.Results(unsafe.Slice((*byte)(C.as_pointer(C.uintptr_t(address))), s.Channels*256*s.Type.Size()))
}
