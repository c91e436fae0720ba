//go:build !twins

package pixel

/*
#include "pixel.h"

#define SOURCE uint8_t *a, uint8_t *b, uint8_t *c, int64_t stride, int32_t width, int32_t height, int32_t channels
#define RESULT uint8_t *to_a, uint8_t *to_b, uint8_t *to_c, int64_t to_stride
#define PLANES gf_planes src = {{a, b, c}, stride, width, height, channels}, dst = {{to_a, to_b, to_c}, to_stride, width, height, channels}

enum { SATURATE, TENSOR_SHARPEN };

static void call_grid(int level, int32_t bilinear, int32_t filled, int32_t fused, const float *theta, const float *fill, SOURCE, RESULT) {
	PLANES;
	gf_grid g = {bilinear, filled, fused, {theta[0], theta[1], theta[2], theta[3], theta[4], theta[5]}, {fill[0], fill[1], fill[2]}};
	gf_pixel_choose(level)->grid(&src, &g, &dst);
}

static uint64_t call_grey_sum(int level, int fused, SOURCE) {
	gf_planes p = {{a, b, c}, stride, width, height, channels};
	return gf_pixel_choose(level)->tensor_grey_sum(&p, fused);
}

static void call_blend(int level, int step, float ratio, float rest, int fused, SOURCE, RESULT) {
	PLANES;
	if (step == SATURATE) gf_pixel_choose(level)->tensor_saturate(&src, ratio, rest, fused, &dst);
	else gf_pixel_choose(level)->tensor_sharpen(&src, ratio, rest, fused, &dst);
}

static void call_hue(int level, float turn, int version, SOURCE) {
	gf_planes p = {{a, b, c}, stride, width, height, channels};
	gf_pixel_choose(level)->tensor_hue(&p, turn, version);
}

static void call_mix(int level, uint8_t *const *planes, const int64_t *strides, const float *weights, int n, SOURCE) {
	gf_planes sources[GF_MOST_MIXED], dst = {{a, b, c}, stride, width, height, channels};
	for (int i = 0; i < n; i++) sources[i] = (gf_planes){{planes[3 * i], planes[3 * i + 1], planes[3 * i + 2]}, strides[i], width, height, 3};
	gf_pixel_choose(level)->mix(sources, weights, n, &dst);
}
*/
import "C"

import "runtime"

func (l Level) grid(src Planes, g Grid, dst Planes) {
	C.call_grid(C.int(l), C.int32_t(flag(g.Bilinear)), C.int32_t(g.Filled), C.int32_t(flag(g.Fused)), (*C.float)(&g.Theta[0]), (*C.float)(&g.Fill[0]), start(src.Plane[0]), start(src.Plane[1]), start(src.Plane[2]),
		C.int64_t(src.Stride), C.int32_t(src.Width), C.int32_t(src.Height), C.int32_t(src.Channels),
		start(dst.Plane[0]), start(dst.Plane[1]), start(dst.Plane[2]), C.int64_t(dst.Stride))
}

func (l Level) tensorGreySum(p Planes, fused bool) uint64 {
	return uint64(C.call_grey_sum(C.int(l), C.int(flag(fused)), start(p.Plane[0]), start(p.Plane[1]), start(p.Plane[2]),
		C.int64_t(p.Stride), C.int32_t(p.Width), C.int32_t(p.Height), C.int32_t(p.Channels)))
}

func (l Level) tensorBlend(step C.int, src Planes, b Blend, dst Planes) {
	C.call_blend(C.int(l), step, C.float(b.Ratio), C.float(b.Rest), C.int(flag(b.Fused)), start(src.Plane[0]), start(src.Plane[1]), start(src.Plane[2]),
		C.int64_t(src.Stride), C.int32_t(src.Width), C.int32_t(src.Height), C.int32_t(src.Channels),
		start(dst.Plane[0]), start(dst.Plane[1]), start(dst.Plane[2]), C.int64_t(dst.Stride))
}

func (l Level) tensorSaturate(src Planes, b Blend, dst Planes) {
	l.tensorBlend(C.SATURATE, src, b, dst)
}

func (l Level) tensorSharpen(src Planes, b Blend, dst Planes) {
	l.tensorBlend(C.TENSOR_SHARPEN, src, b, dst)
}

func (l Level) tensorHue(p Planes, turn float32, version int) {
	C.call_hue(C.int(l), C.float(turn), C.int(version), start(p.Plane[0]), start(p.Plane[1]), start(p.Plane[2]),
		C.int64_t(p.Stride), C.int32_t(p.Width), C.int32_t(p.Height), C.int32_t(p.Channels))
}

func (l Level) mix(sources []Planes, weights []float32, dst Planes) {
	var planes [3 * MostMixed]*C.uint8_t
	var strides [MostMixed]C.int64_t
	var pins runtime.Pinner
	defer pins.Unpin()
	for i, p := range sources {
		strides[i] = C.int64_t(p.Stride)
		for c := range 3 {
			planes[3*i+c] = start(p.Plane[c])
			pins.Pin(planes[3*i+c])
		}
	}
	C.call_mix(C.int(l), &planes[0], &strides[0], (*C.float)(&weights[0]), C.int(len(sources)), start(dst.Plane[0]), start(dst.Plane[1]), start(dst.Plane[2]),
		C.int64_t(dst.Stride), C.int32_t(dst.Width), C.int32_t(dst.Height), C.int32_t(dst.Channels))
}
