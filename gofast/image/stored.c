#include "stored.h"

#include <string.h>

// Pixels of three bytes, as Pillow's arrays have them: 0.5 us a picture of 32 x 32, and twice that by strides.
static void split_row(const uint8_t *restrict from, int32_t width, uint8_t *restrict r, uint8_t *restrict g, uint8_t *restrict b) {
    for (int32_t x = 0; x < width; x++) {
        r[x] = from[3 * x];
        g[x] = from[3 * x + 1];
        b[x] = from[3 * x + 2];
    }
}

static void copy_plane(const gf_stored *s, const uint8_t *from, const gf_planes *to, int c) {
    if (s->pixel == 1 && s->row == s->width && to->stride == s->width) {
        memcpy(to->plane[c], from, (size_t)s->width * (size_t)s->height);
        return;
    }
    for (int32_t y = 0; y < s->height; y++) {
        const uint8_t *row = from + y * s->row;
        uint8_t *out = to->plane[c] + y * to->stride;
        if (s->pixel == 1) memcpy(out, row, (size_t)s->width);
        else
            for (int32_t x = 0; x < s->width; x++) out[x] = row[x * s->pixel];
    }
}

// Rows and columns are exchanged in memory: reads go along it.
static void copy_turned(const gf_stored *s, const uint8_t *from, const gf_planes *to, int c) {
    for (int32_t x = 0; x < s->width; x++)
        for (int32_t y = 0; y < s->height; y++) to->plane[c][y * to->stride + x] = from[x * s->pixel + y];
}

void gf_stored_copy(const gf_stored *s, int64_t sample, const gf_planes *to) {
    const uint8_t *from = s->data + sample * s->picture;
    if (s->channels == 3 && s->pixel == 3 && s->channel == 1) {
        for (int32_t y = 0; y < s->height; y++) {
            int64_t at = y * to->stride;
            split_row(from + y * s->row, s->width, to->plane[0] + at, to->plane[1] + at, to->plane[2] + at);
        }
        return;
    }
    for (int c = 0; c < s->channels; c++) (s->row == 1 ? copy_turned : copy_plane)(s, from + c * s->channel, to, c);
}
