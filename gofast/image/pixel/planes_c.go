//go:build !twins

package pixel

/*
#include <stdlib.h>
#include <string.h>

#include "pixel.h"

enum { HFLIP, VFLIP, GREY, BRIGHTNESS, CONTRAST, SATURATION, HUE };

// Go's slices cannot be handed over inside of a structure.
#define PLANES uint8_t *a, uint8_t *b, uint8_t *c, int64_t stride, int32_t width, int32_t height, int32_t channels

static void call_step(int level, int step, double argument, PLANES) {
	gf_planes p = {{a, b, c}, stride, width, height, channels};
	const gf_pixel_ops *ops = gf_pixel_choose(level);
	switch (step) {
	case HFLIP: ops->hflip(&p); break;
	case VFLIP: ops->vflip(&p); break;
	case GREY: ops->grey(&p, (int)argument); break;
	case BRIGHTNESS: ops->brightness(&p, (float)argument); break;
	case CONTRAST: ops->contrast(&p, (float)argument); break;
	case SATURATION: ops->saturation(&p, (float)argument); break;
	case HUE: ops->hue(&p, argument); break;
	}
}

static void call_pixels(int level, int join, uint8_t *pixels, int64_t bytes, int32_t x, int32_t y, PLANES) {
	gf_planes p = {{a, b, c}, stride, width, height, channels};
	gf_picture picture = {pixels, bytes, x + width, y + height};
	if (join) gf_pixel_choose(level)->join(&p, &picture);
	else gf_pixel_choose(level)->split(&picture, x, y, &p);
}

// One channel at a time: that leaves it with half of the arguments.
static void call_window(int level, uint8_t *src, int64_t src_stride, int32_t src_width, int32_t src_height, int32_t x, int32_t y,
                        int edge, uint8_t fill, uint8_t *dst, int64_t stride, int32_t width, int32_t height) {
	gf_planes from = {{src}, src_stride, src_width, src_height, 1}, to = {{dst}, stride, width, height, 1};
	const uint8_t fills[3] = {fill};
	gf_pixel_choose(level)->window(&from, x, y, edge, fills, &to);
}

static void call_blur(int level, uint8_t *src, int64_t src_stride, const float *x, int32_t kernel_width, const float *y, int32_t kernel_height,
                      uint8_t *dst, int64_t stride, int32_t width, int32_t height) {
	gf_planes from = {{src}, src_stride, width, height, 1}, to = {{dst}, stride, width, height, 1};
	gf_kernel kernel = {.width = kernel_width, .height = kernel_height};
	memcpy(kernel.x, x, sizeof *x * (size_t)kernel_width);
	memcpy(kernel.y, y, sizeof *y * (size_t)kernel_height);
	const gf_pixel_ops *ops = gf_pixel_choose(level);
	uint8_t *room = malloc(ops->blur_room(&kernel, width));
	if (room) ops->blur(&from, &kernel, &to, room);
	free(room);
}

static void call_erase(const gf_normalise *n, uint8_t *sample, int64_t sample_width, int64_t sample_height,
                       int32_t x, int32_t y, int32_t width, int32_t height, const float *value) {
	gf_box box = {x, y, width, height};
	n->erase(n, sample, sample_width, sample_height, &box, value);
}
*/
import "C"

func (l Level) step(step C.int, argument float64, p Planes) {
	C.call_step(C.int(l), step, C.double(argument), start(p.Plane[0]), start(p.Plane[1]), start(p.Plane[2]),
		C.int64_t(p.Stride), C.int32_t(p.Width), C.int32_t(p.Height), C.int32_t(p.Channels))
}

func (l Level) pixels(join bool, pixels []byte, stride, x, y int, p Planes) {
	C.call_pixels(C.int(l), flag(join), start(pixels), C.int64_t(stride), C.int32_t(x), C.int32_t(y),
		start(p.Plane[0]), start(p.Plane[1]), start(p.Plane[2]),
		C.int64_t(p.Stride), C.int32_t(p.Width), C.int32_t(p.Height), C.int32_t(p.Channels))
}

func (l Level) split(src []byte, stride, x, y int, p Planes) { l.pixels(false, src, stride, x, y, p) }

func (l Level) join(p Planes, dst []byte, stride int) { l.pixels(true, dst, stride, 0, 0, p) }

func (l Level) hflip(p Planes) { l.step(C.HFLIP, 0, p) }

func (l Level) vflip(p Planes) { l.step(C.VFLIP, 0, p) }

func (l Level) grey(p Planes, channels int) { l.step(C.GREY, float64(channels), p) }

func (l Level) brightness(p Planes, factor float32) { l.step(C.BRIGHTNESS, float64(factor), p) }

func (l Level) contrast(p Planes, factor float32) { l.step(C.CONTRAST, float64(factor), p) }

func (l Level) saturation(p Planes, factor float32) { l.step(C.SATURATION, float64(factor), p) }

func (l Level) hue(p Planes, factor float64) { l.step(C.HUE, factor, p) }

func (l Level) window(src Planes, x, y int, edge Edge, fill [3]byte, dst Planes) {
	for c := range dst.Channels {
		C.call_window(C.int(l), start(src.Plane[c]), C.int64_t(src.Stride), C.int32_t(src.Width), C.int32_t(src.Height),
			C.int32_t(x), C.int32_t(y), C.int(edge), C.uint8_t(fill[c]),
			start(dst.Plane[c]), C.int64_t(dst.Stride), C.int32_t(dst.Width), C.int32_t(dst.Height))
	}
}

func (l Level) blur(src Planes, x, y []float32, dst Planes) {
	for c := range dst.Channels {
		C.call_blur(C.int(l), start(src.Plane[c]), C.int64_t(src.Stride), (*C.float)(&x[0]), C.int32_t(len(x)), (*C.float)(&y[0]), C.int32_t(len(y)),
			start(dst.Plane[c]), C.int64_t(dst.Stride), C.int32_t(dst.Width), C.int32_t(dst.Height))
	}
}

func (n Normaliser) erase(sample []byte, width, height int, box Box, value [3]float32) {
	C.call_erase(n.c, start(sample), C.int64_t(width), C.int64_t(height),
		C.int32_t(box.X), C.int32_t(box.Y), C.int32_t(box.Width), C.int32_t(box.Height), (*C.float)(&value[0]))
}
