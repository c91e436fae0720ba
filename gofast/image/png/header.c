#include "header.h"

#include <string.h>

#include "chunks.h"

static uint32_t be32(const uint8_t *p) { return (uint32_t)p[0] << 24 | p[1] << 16 | p[2] << 8 | p[3]; }

// Chunks that may stand before the pixels: nothing in them is compressed, moves, is transparent or unknown to Pillow.
static int is_plain(const uint8_t *name) {
    static const char plain[] = "IHDR PLTE gAMA sRGB cHRM pHYs tEXt tIME bKGD sBIT";
    for (const char *at = plain; *at; at += at[4] ? 5 : 4)
        if (!memcmp(at, name, 4)) return 1;
    return 0;
}

// Whether plain chunks, the image data and the end are all that there is.
static int is_simple(const uint8_t *data, size_t n) {
    for (size_t at = 8, seen = 0; n - at >= 8;) {
        const uint8_t *name = data + at + 4;
        uint32_t length = be32(data + at);
        int pixels = !memcmp(name, "IDAT", 4);
        if (!memcmp(name, "IEND", 4)) return seen > 0;
        if (!pixels && (seen || !is_plain(name))) return 0;
        if (n - at < 12 + (size_t)length) return 0;
        seen += (size_t)pixels;
        at += 12 + (size_t)length;
    }
    return 0;
}

int gf_png_header_read(const uint8_t *data, size_t n, gf_png_header *out, gf_fault *fault) {
    gf_chunks c = {.libz = gf_libz_get(), .fault = fault, .data = data, .n = n, .at = 8, .sequence = -1};
    if (!c.libz || n < 8 || memcmp(data, "\x89PNG\r\n\x1a\n", 8) || !is_simple(data, n))
        return gf_png_fail(&c, GF_FAULT_UNSUPPORTED, 0, "not a plain PNG file");
    int code = gf_png_head(&c);
    if (code) return code;
    if (!c.width || !c.height || c.width > INT32_MAX || c.height > INT32_MAX)
        return gf_png_fail(&c, GF_FAULT_UNSUPPORTED, 16, "no size of a picture");
    *out = (gf_png_header){.width = (int32_t)c.width, .height = (int32_t)c.height, .depth = c.depth, .colour = c.colour,
                           .palette = c.palette ? (size_t)(c.palette - data) : 0, .palette_bytes = c.palette_bytes, .end = c.at};
    return 0;
}
