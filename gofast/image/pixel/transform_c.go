//go:build !twins

package pixel

/*
#include "pixel.h"

#define SOURCE uint8_t *a, uint8_t *b, uint8_t *c, int64_t stride, int32_t width, int32_t height, int32_t channels
#define RESULT uint8_t *to_a, uint8_t *to_b, uint8_t *to_c, int64_t to_stride, int32_t to_width, int32_t to_height
#define PLANES gf_planes src = {{a, b, c}, stride, width, height, channels}, dst = {{to_a, to_b, to_c}, to_stride, to_width, to_height, channels}

enum { TURN, SHARPEN };

static void call_other(int level, int step, double argument, SOURCE, RESULT) {
	PLANES;
	if (step == TURN) gf_pixel_choose(level)->turn(&src, (int)argument, &dst);
	else gf_pixel_choose(level)->sharpen(&src, (float)argument, &dst);
}

static void call_warp(int level, int32_t filter, int32_t perspective, const double *numbers, const uint8_t *fill, SOURCE, RESULT) {
	PLANES;
	gf_transform t = {filter, perspective, to_width, to_height, {0}, {fill[0], fill[1], fill[2]}};
	for (int i = 0; i < 8; i++) t.numbers[i] = numbers[i];
	gf_pixel_choose(level)->warp(&src, &t, &dst);
}

static void call_bytes(int level, uint32_t *counts, const uint8_t *tables, SOURCE) {
	gf_planes p = {{a, b, c}, stride, width, height, channels};
	if (counts) gf_pixel_choose(level)->histogram(&p, (uint32_t (*)[256])counts);
	else gf_pixel_choose(level)->look_up(&p, (const uint8_t (*)[256])tables);
}
*/
import "C"

func (l Level) other(step C.int, argument float64, src, dst Planes) {
	C.call_other(C.int(l), step, C.double(argument), start(src.Plane[0]), start(src.Plane[1]), start(src.Plane[2]),
		C.int64_t(src.Stride), C.int32_t(src.Width), C.int32_t(src.Height), C.int32_t(src.Channels),
		start(dst.Plane[0]), start(dst.Plane[1]), start(dst.Plane[2]), C.int64_t(dst.Stride), C.int32_t(dst.Width), C.int32_t(dst.Height))
}

func (l Level) turn(src Planes, quarters int, dst Planes) {
	l.other(C.TURN, float64(quarters), src, dst)
}

func (l Level) sharpen(src Planes, factor float32, dst Planes) {
	l.other(C.SHARPEN, float64(factor), src, dst)
}

func (l Level) warp(src Planes, t Transform, dst Planes) {
	C.call_warp(C.int(l), C.int32_t(t.Filter), C.int32_t(flag(t.Perspective)), (*C.double)(&t.Numbers[0]), (*C.uint8_t)(&t.Fill[0]),
		start(src.Plane[0]), start(src.Plane[1]), start(src.Plane[2]),
		C.int64_t(src.Stride), C.int32_t(src.Width), C.int32_t(src.Height), C.int32_t(src.Channels),
		start(dst.Plane[0]), start(dst.Plane[1]), start(dst.Plane[2]), C.int64_t(dst.Stride), C.int32_t(dst.Width), C.int32_t(dst.Height))
}

func (l Level) bytes(counts *C.uint32_t, tables *C.uint8_t, p Planes) {
	C.call_bytes(C.int(l), counts, tables, start(p.Plane[0]), start(p.Plane[1]), start(p.Plane[2]),
		C.int64_t(p.Stride), C.int32_t(p.Width), C.int32_t(p.Height), C.int32_t(p.Channels))
}

func (l Level) histogram(p Planes, counts *[3][256]uint32) {
	l.bytes((*C.uint32_t)(&counts[0][0]), nil, p)
}

func (l Level) lookUp(p Planes, tables *[3][256]byte) { l.bytes(nil, (*C.uint8_t)(&tables[0][0]), p) }
