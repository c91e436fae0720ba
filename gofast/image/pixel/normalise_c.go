//go:build !twins

package pixel

/*
#include "pixel.h"

static void call_planar(const gf_normalise *n, const uint8_t *r, const uint8_t *g, const uint8_t *b, int64_t width,
                        uint8_t *x, uint8_t *y, uint8_t *z) {
	const uint8_t *const src[3] = {r, g, b};
	uint8_t *const out[3] = {x, y, z};
	n->planar(n, src, width, out);
	n->finish();
}

static void call_rgbx(const gf_normalise *n, const uint8_t *src, int64_t width, uint8_t *x, uint8_t *y, uint8_t *z) {
	uint8_t *const out[3] = {x, y, z};
	n->rgbx(n, src, width, out);
	n->finish();
}
*/
import "C"

import "unsafe"

func (n Normaliser) planar(src, out [3][]byte) {
	C.call_planar(n.c, start(src[0]), start(src[1]), start(src[2]), C.int64_t(len(src[0])), start(out[0]), start(out[1]), start(out[2]))
}

func (n Normaliser) rgbx(src []byte, out [3][]byte) {
	C.call_rgbx(n.c, start(src), C.int64_t(len(src)/4), start(out[0]), start(out[1]), start(out[2]))
}

func start(b []byte) *C.uint8_t { return (*C.uint8_t)(unsafe.SliceData(b)) }
