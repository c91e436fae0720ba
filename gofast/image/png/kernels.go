package png

/*
#include <stdlib.h>
#include "quick.h"
*/
import "C"

import "unsafe"

func variant(plain bool) C.int {
	if plain {
		return 1
	}
	return 0
}

// quickInflate inflates a zlib stream to size bytes, for tests. It returns how many bytes
// of it were read, or 0 if zlib must judge.
func quickInflate(plain bool, stream []byte, size int) (out []byte, read int) {
	codes := (*C.gf_quick)(C.malloc(C.sizeof_gf_quick))
	defer C.free(unsafe.Pointer(codes))
	in := append(append([]byte(nil), stream...), make([]byte, C.GF_QUICK_IN_SLACK)...)
	out = make([]byte, size+C.GF_QUICK_OUT_SLACK)
	n := C.gf_quick_inflate(codes, variant(plain), start(in), C.size_t(len(stream)), start(out), C.size_t(size))
	return out[:size], int(n)
}
