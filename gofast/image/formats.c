#include "formats.h"

#include "jpeg/jpeg.h"

static int begins_with(const gf_sample_bytes *file, const char *magic) {
    for (size_t i = 0; magic[i]; i++)
        if (i == file->size || (magic[i] != '?' && file->data[i] != (uint8_t)magic[i])) return 0;
    return 1;
}

// A file's format, by its place in the table; -1 for none, and then fault says so.
static int format_of(const gf_sample_bytes *file, gf_fault *fault) {
    for (int i = 0; i < GF_MOST_FORMATS && gf_formats[i]; i++)
        if (begins_with(file, gf_formats[i]->magic)) return i;
    gf_fault_set(fault, GF_FAULT_UNSUPPORTED, 0, "not a format that is decoded here");
    return -1;
}

int32_t gf_formats_size(const gf_sample_bytes *file, gf_size *size, gf_fault *fault) {
    int i = format_of(file, fault);
    if (i < 0) return fault->code;
    return gf_formats[i]->size(file->data, file->size, file->length, &size->width, &size->height, fault);
}

static int32_t open_as(gf_opened *s, const gf_picture_format *format, void **state, const gf_sample_bytes *file, int64_t max_pixels, gf_fault *fault) {
    if (!*state && !(*state = format->make())) return gf_fault_set(fault, GF_FAULT_MEMORY, -1, "no memory for a decoder");
    return gf_picture_open(s, format, *state, file, max_pixels, fault);
}

int32_t gf_formats_open(gf_opened *s, gf_decoders *d, const gf_sample_bytes *file, int64_t max_pixels, gf_fault *fault) {
    int i = format_of(file, fault);
    return i < 0 ? fault->code : open_as(s, gf_formats[i], &d->state[i], file, max_pixels, fault);
}

int32_t gf_formats_open_record(gf_opened *s, gf_decoders *d, const gf_sample_bytes *file, gf_fault *fault) {
    if (begins_with(file, gf_coefficients_format.magic)) return open_as(s, &gf_coefficients_format, &d->coefficients, file, INT64_MAX, fault);
    return gf_formats_open(s, d, file, INT64_MAX, fault);
}

int gf_formats_starts(gf_decoders *d, const gf_sample_bytes *file, int64_t max_pixels) {
    gf_fault fault;
    int i = format_of(file, &fault);
    if (i < 0 || gf_formats[i] != &gf_jpeg_format) return 0;
    if (!d->state[i] && !(d->state[i] = gf_jpeg_format.make())) return 0;
    return gf_jpeg_starts(d->state[i], file, max_pixels);
}

size_t gf_decoders_held(const gf_decoders *d) {
    size_t held = 0;
    for (int i = 0; i < GF_MOST_FORMATS; i++)
        if (d->state[i] && gf_formats[i]->held) held += gf_formats[i]->held(d->state[i]);
    return held;
}

void gf_decoders_free(gf_decoders *d) {
    for (int i = 0; i < GF_MOST_FORMATS; i++)
        if (d->state[i]) gf_formats[i]->free(d->state[i]);
    if (d->coefficients) gf_coefficients_format.free(d->coefficients);
}
