//go:build !twins

package pixel

/*
#include "mixing.h"
*/
import "C"

func mixUp(x, to []float32, samples int, part, rest float32) {
	C.gf_mixup((*C.float)(&x[0]), (*C.float)(&to[0]), C.int64_t(samples), C.int64_t(len(x)/samples), C.float(part), C.float(rest))
}

func cutMix(x, to []byte, c Cut) {
	shape := C.gf_cutmix_shape{
		C.int64_t(c.Samples), C.int64_t(c.Planes), C.int64_t(c.Height), C.int64_t(c.RowBytes),
		C.int64_t(c.Left), C.int64_t(c.Top), C.int64_t(c.Right), C.int64_t(c.Bottom),
	}
	C.gf_cutmix((*C.uint8_t)(&x[0]), (*C.uint8_t)(&to[0]), &shape)
}
