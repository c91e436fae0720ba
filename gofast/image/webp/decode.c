#include <stdlib.h>
#include <string.h>

#include "../picture/format.h"
#include "libwebp.h"

typedef struct {
    uint8_t *canvas;
    size_t size;
} gf_webp;

static void *new(void) { return calloc(1, sizeof(gf_webp)); }

static void drop(void *state) {
    if (state) free(((gf_webp *)state)->canvas);
    free(state);
}

static size_t held(const void *state) { return ((const gf_webp *)state)->size; }

static uint32_t le24(const uint8_t *p) { return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16; }

// Whether Pillow takes the file as WebP.
static int accepted(const uint8_t *p, size_t n) {
    return n >= 16 && !memcmp(p, "RIFF", 4) && !memcmp(p + 8, "WEBP", 4) &&
           (!memcmp(p + 12, "VP8 ", 4) || !memcmp(p + 12, "VP8X", 4) || !memcmp(p + 12, "VP8L", 4));
}

// Sets both to 0 if the header does not give a size.
static void header_size(const uint8_t *p, size_t n, uint32_t *width, uint32_t *height) {
    *width = *height = 0;
    if (p[15] == 'X' && n >= 30) {
        *width = le24(p + 24) + 1;
        *height = le24(p + 27) + 1;
    } else if (p[15] == ' ' && n >= 30 && !memcmp(p + 23, "\x9d\x01\x2a", 3)) {
        *width = (p[26] | (uint32_t)p[27] << 8) & 0x3fff;
        *height = (p[28] | (uint32_t)p[29] << 8) & 0x3fff;
    } else if (p[15] == 'L' && n >= 25 && p[20] == 0x2f) {
        uint32_t bits = le24(p + 21) | (uint32_t)p[24] << 24;
        *width = (bits & 0x3fff) + 1;
        *height = (bits >> 14 & 0x3fff) + 1;
    }
}

static int32_t size(const uint8_t *data, size_t n, size_t length, int32_t *width, int32_t *height, gf_fault *fault) {
    (void)length;
    uint32_t w = 0, h = 0;
    if (accepted(data, n)) header_size(data, n, &w, &h);
    if (!w || !h) return gf_fault_set(fault, GF_FAULT_UNSUPPORTED, 0, "the header gives no size");
    *width = (int32_t)w;
    *height = (int32_t)h;
    return 0;
}

static int too_many(uint32_t width, uint32_t height, int64_t max_pixels) {
    return max_pixels < 0 || (uint64_t)width * height > (uint64_t)max_pixels;
}

static int grow(gf_webp *p, size_t size) {
    if (p->size >= size) return 1;
    size = (size + 4095) / 4096 * 4096;
    free(p->canvas);
    p->canvas = aligned_alloc(64, size);
    p->size = p->canvas ? size : 0;
    return p->canvas != NULL;
}

// Puts the first frame on the canvas. libwebp's WebPAnimDecoder, which Pillow uses, does the same with this frame: it
// does not blend, because the canvas is clear black.
static int draw(gf_webp *p, const wp_library *l, const wp_demuxer *demuxer, uint32_t width, uint32_t height, gf_fault *fault) {
    wp_iterator it;
    memset(&it, 0, sizeof it);
    if (!l->frame(demuxer, 1, &it)) return gf_fault_set(fault, GF_FAULT_FORMAT, -1, "failed to read next frame");
    int code = 0;
    size_t stride = (size_t)width * 4;
    if (it.x < 0 || it.y < 0 || it.width <= 0 || it.height <= 0 || (uint64_t)it.x + (uint64_t)it.width > width ||
        (uint64_t)it.y + (uint64_t)it.height > height) {
        code = gf_fault_set(fault, GF_FAULT_UNSUPPORTED, -1, "a frame that is not on its canvas");
    } else {
        if ((uint32_t)it.width != width || (uint32_t)it.height != height) memset(p->canvas, 0, stride * height);
        uint8_t *to = p->canvas + stride * (size_t)it.y + 4 * (size_t)it.x;
        size_t room = stride * ((size_t)it.height - 1) + 4 * (size_t)it.width;
        if (!l->decode(it.fragment.bytes, it.fragment.size, to, room, (int)stride)) code = gf_fault_set(fault, GF_FAULT_FORMAT, -1, "failed to read next frame");
    }
    l->release(&it);
    return code;
}

static int decode(gf_webp *p, const wp_library *l, const wp_demuxer *demuxer, const uint8_t *data, size_t n, gf_picture *out, gf_fault *fault) {
    uint32_t width = l->get(demuxer, WP_CANVAS_WIDTH), height = l->get(demuxer, WP_CANVAS_HEIGHT), w, h;
    header_size(data, n, &w, &h);
    if (width != w || height != h || !w || !h) return gf_fault_set(fault, GF_FAULT_UNSUPPORTED, -1, "the canvas has another size than the header");
    if ((uint64_t)width * height > INT32_MAX / 4) return gf_fault_set(fault, GF_FAULT_UNSUPPORTED, -1, "a very large picture");
    size_t size = (size_t)width * height * 4;
    if (!grow(p, size + GF_FORMAT_SLACK)) return gf_fault_set(fault, GF_FAULT_MEMORY, -1, "memory is short");
    int code = draw(p, l, demuxer, width, height, fault);
    if (code) return code;
    for (size_t i = 3; i < size; i += 4) p->canvas[i] = 255;
    memset(p->canvas + size, 0, GF_FORMAT_SLACK);
    *out = (gf_picture){p->canvas, (int64_t)width * 4, (int32_t)width, (int32_t)height};
    return 0;
}

static int32_t begin(void *state, const gf_sample_bytes *bytes, int64_t max_pixels, gf_picture *out, gf_fault *fault) {
    const uint8_t *data = bytes->data;
    size_t n = bytes->size;
    const wp_library *l = wp_loaded();
    if (!l) return gf_fault_set(fault, GF_FAULT_UNSUPPORTED, -1, "libwebp was not found");
    if (!accepted(data, n)) return gf_fault_set(fault, GF_FAULT_UNSUPPORTED, -1, "not a WebP file");
    uint32_t width, height;
    header_size(data, n, &width, &height);
    if (too_many(width, height, max_pixels)) return gf_fault_set(fault, GF_FAULT_LIMIT, -1, "the picture has more pixels than are allowed");
    wp_data file = {data, n};
    wp_enter();
    wp_demuxer *demuxer = l->demux(&file, 0, NULL, WP_DEMUX_ABI);
    int code;
    if (!demuxer) {
        code = gf_fault_set(fault, GF_FAULT_FORMAT, -1, "could not create decoder object");
    } else {
        code = decode(state, l, demuxer, data, n, out, fault);
        l->close(demuxer);
    }
    wp_leave();
    return code;
}

const gf_picture_format gf_webp_format = {
    .name = "webp", .magic = "RIFF????WEBP", .variable = "GOFAST_LIBWEBP", .wheel = "libwebpdemux-*.so.2*", .load = gf_libwebp_load,
    .size = size, .make = new, .free = drop, .held = held, .begin = begin,
};
