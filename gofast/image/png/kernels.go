package png

/*
#include <stdlib.h>
#include "quick.h"
#include "rows.h"

static void undo(int variant, int filter, uint8_t *row, const uint8_t *above, size_t n, int pixel) {
	gf_png_unfilter(variant, pixel)[filter](row, above, n, pixel);
}
*/
import "C"

import "unsafe"

// The kernels, for their tests.

func variant(plain bool) C.int {
	if plain {
		return 1
	}
	return 0
}

// unfilter undoes filter 1 to 4 in place. Both rows have 16 bytes more than n.
func unfilter(plain bool, filter int, row, above []byte, n, pixel int) {
	C.undo(variant(plain), C.int(filter), start(row), start(above), C.size_t(n), C.int(pixel))
}

// quickInflate inflates a zlib stream to size bytes. It returns how many bytes
// of it were read, or 0 if zlib must judge.
func quickInflate(plain bool, stream []byte, size int) (out []byte, read int) {
	codes := (*C.gf_quick)(C.malloc(C.sizeof_gf_quick))
	defer C.free(unsafe.Pointer(codes))
	in := append(append([]byte(nil), stream...), make([]byte, C.GF_QUICK_IN_SLACK)...)
	out = make([]byte, size+C.GF_QUICK_OUT_SLACK)
	n := C.gf_quick_inflate(codes, variant(plain), start(in), C.size_t(len(stream)), start(out), C.size_t(size))
	return out[:size], int(n)
}
