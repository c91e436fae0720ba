// Sharpness: a blend with the picture smoothed by Pillow's SMOOTH filter, whose edge pixels are the picture's own.
#include "blend.h"

#include <string.h>

// Pillow sums in float32 and cuts off. The sum of its nine neighbours and four times the middle, in 13ths and a half more, is
// never within a 26th of a whole number, and the float's error is below a thousandth: whole numbers give the same.
INLINE void sharpen_row(const uint8_t *restrict above, const uint8_t *restrict row, const uint8_t *restrict below, int64_t width, float alpha,
                        uint8_t *restrict out) {
    out[0] = row[0];
    for (int64_t i = 1; i < width - 1; i++) {
        uint16_t sum = (uint16_t)(above[i - 1] + above[i] + above[i + 1] + row[i - 1] + 5 * row[i] + row[i + 1] + below[i - 1] + below[i] + below[i + 1]);
        uint16_t smooth = (uint16_t)((uint32_t)(sum + 6) * 5042 >> 16); // divided by 13; right up to 3321
        out[i] = blend(smooth, row[i], alpha);
    }
    out[width - 1] = row[width - 1];
}

INLINE void sharpen(const gf_planes *src, float alpha, const gf_planes *dst) {
    for (int c = 0; c < src->channels; c++) {
        for (int64_t y = 0; y < src->height; y++) {
            const uint8_t *row = src->plane[c] + y * src->stride;
            uint8_t *out = dst->plane[c] + y * dst->stride;
            int edge = y == 0 || y == src->height - 1 || src->width < 3;
            if (edge) memcpy(out, row, (size_t)src->width);
            else sharpen_row(row - src->stride, row, row + src->stride, src->width, alpha, out);
        }
    }
}

#define SHARPEN(LEVEL, TARGET) \
    TARGET void gf_sharpen_##LEVEL(const gf_planes *src, float factor, const gf_planes *dst) { sharpen(src, factor, dst); }

LEVELS(SHARPEN)
