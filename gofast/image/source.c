#include "source.h"

#include <string.h>

static int starts_with(const uint8_t *data, size_t n, size_t at, const char *magic, size_t length) {
    return n >= at + length && memcmp(data + at, magic, length) == 0;
}

enum { OTHER, JPEG, PNG, WEBP };

// By content, as Pillow chooses its reader.
static int format_of(const uint8_t *data, size_t n) {
    if (starts_with(data, n, 0, "\xff\xd8\xff", 3)) return JPEG;
    if (starts_with(data, n, 0, "\x89PNG\r\n\x1a\n", 8)) return PNG;
    if (starts_with(data, n, 0, "RIFF", 4) && starts_with(data, n, 8, "WEBP", 4)) return WEBP;
    return OTHER;
}

static int32_t other(gf_fault *fault) { return gf_fault_set(fault, GF_FAULT_UNSUPPORTED, 0, "neither JPEG, PNG nor WebP"); }

static int32_t header(int32_t code, gf_fault *fault) {
    return code ? gf_fault_set(fault, code, 0, "the header gives no size") : GF_FAULT_NONE;
}

int32_t gf_source_size(const gf_sample_bytes *file, gf_draw_size *size, gf_fault *fault) {
    switch (format_of(file->data, file->size)) {
    case JPEG:
        return gf_jpeg_size(file->data, file->size, file->length, &size->width, &size->height, fault);
    case PNG:
        return header(gf_png_size(file->data, file->size, &size->width, &size->height), fault);
    case WEBP:
        return header(gf_webp_size(file->data, file->size, &size->width, &size->height), fault);
    default:
        return other(fault);
    }
}

static int32_t no_memory(gf_fault *fault) { return gf_fault_set(fault, GF_FAULT_MEMORY, -1, "no memory for a decoder"); }

int32_t gf_source_open(gf_source *s, gf_decoders *d, const gf_sample_bytes *file, int64_t max_pixels, gf_fault *fault) {
    memset(s, 0, sizeof *s);
    int32_t code;
    switch (format_of(file->data, file->size)) {
    case JPEG:
        if (!d->jpeg && !(d->jpeg = gf_jpeg_new())) return no_memory(fault);
        s->jpeg = d->jpeg;
        return gf_jpeg_begin(s->jpeg, file->data, file->size, max_pixels, &s->width, &s->height, fault);
    case PNG:
        if (!d->png && !(d->png = gf_png_new())) return no_memory(fault);
        code = gf_png_decode(d->png, file->data, file->size, max_pixels, &s->picture, fault);
        break;
    case WEBP:
        if (!d->webp && !(d->webp = gf_webp_new())) return no_memory(fault);
        code = gf_webp_decode(d->webp, file->data, file->size, max_pixels, &s->picture, fault);
        break;
    default:
        return other(fault);
    }
    s->width = s->picture.width;
    s->height = s->picture.height;
    return code;
}

gf_source gf_source_of(gf_picture picture) {
    return (gf_source){.picture = picture, .width = picture.width, .height = picture.height};
}

int32_t gf_source_start(gf_source *s, gf_box region, gf_fault *fault) {
    s->region = region;
    s->row = 0;
    return s->jpeg ? gf_jpeg_start(s->jpeg, region, fault) : GF_FAULT_NONE;
}

const uint8_t *gf_source_rows(gf_source *s, int32_t rows, int64_t *stride, gf_fault *fault) {
    if (s->jpeg) return gf_jpeg_view(s->jpeg, rows, stride, fault);
    const uint8_t *at = s->picture.data + (s->region.y + s->row) * s->picture.stride + 4 * (int64_t)s->region.x;
    s->row += rows;
    *stride = s->picture.stride;
    return at;
}

int32_t gf_source_end(gf_source *s, gf_fault *fault) { return s->jpeg ? gf_jpeg_end(s->jpeg, fault) : GF_FAULT_NONE; }
