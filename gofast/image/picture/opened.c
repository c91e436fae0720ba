#include "opened.h"

#include <string.h>

int32_t gf_picture_open(gf_opened *s, const gf_picture_format *format, void *state, const gf_sample_bytes *file, int64_t max_pixels, gf_fault *fault) {
    *s = (gf_opened){.format = format->rows ? format : NULL, .state = state};
    return format->begin(state, file, max_pixels, &s->picture, fault);
}

gf_opened gf_opened_of(gf_picture picture) { return (gf_opened){.picture = picture}; }

int32_t gf_opened_start(gf_opened *s, gf_box region, gf_fault *fault) {
    s->region = region;
    s->row = 0;
    return s->format ? s->format->start(s->state, region, fault) : GF_FAULT_NONE;
}

const uint8_t *gf_opened_rows(gf_opened *s, int32_t rows, int64_t *stride, gf_fault *fault) {
    if (s->format) return s->format->rows(s->state, rows, stride, fault);
    const uint8_t *at = s->picture.data + (s->region.y + s->row) * s->picture.stride + 4 * (int64_t)s->region.x;
    s->row += rows;
    *stride = s->picture.stride;
    return at;
}

int gf_opened_skip(gf_opened *s, int32_t rows) {
    if (s->format && !s->format->skip) return 0;
    if (s->format) s->format->skip(s->state, rows);
    else s->row += rows;
    return 1;
}

int32_t gf_opened_end(gf_opened *s, gf_fault *fault) { return s->format ? s->format->end(s->state, fault) : GF_FAULT_NONE; }

int32_t gf_opened_read(gf_opened *s, gf_box region, uint8_t *at, int64_t stride, gf_fault *fault) {
    int32_t code = gf_opened_start(s, region, fault);
    for (int32_t y = 0; y < region.height && !code; y += GF_FORMAT_ROWS) {
        int32_t rows = region.height - y < GF_FORMAT_ROWS ? region.height - y : GF_FORMAT_ROWS;
        int64_t from_stride;
        const uint8_t *from = gf_opened_rows(s, rows, &from_stride, fault);
        if (!from) return fault->code;
        for (int32_t k = 0; k < rows; k++, at += stride) memcpy(at, from + k * from_stride, 4 * (size_t)region.width);
    }
    return code;
}
