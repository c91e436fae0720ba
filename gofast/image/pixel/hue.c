// Hue: Pillow's RGB to HSV, an addition that wraps, and HSV to RGB. Pillow works
// in float and double and keeps bytes in between; what is computed here is
// simpler and gives the same bytes for all 2^24 colours and all 256 offsets:
//
// - a hue is cut off to a byte after a few float operations. The division by 6 may
//   be a product with 1 / 6 in two parts, and nothing needs double;
// - HSV to RGB rounds v * (1 - s * f), a fraction of 65025ths that is never a half,
//   and Pillow's noise never carries it over one. Integers then do as well.
#include "ops.h"

// h / 6 + wrap; wrap, 0 or 1, is 1 where h is negative.
INLINE float sixth(float h, float wrap, int fused) {
    const float hi = 1.0f / 6.0f, lo = (float)(1.0 / 6.0 - (double)(1.0f / 6.0f));
    if (!fused) return h / 6.0f + wrap;
    return __builtin_fmaf(h, hi, h * lo * (1.0f - wrap) + wrap);
}

// Arithmetic without a branch or a choice, or compilers will not vectorise it.
INLINE void hue_row(uint8_t *r, uint8_t *g, uint8_t *b, int64_t width, int offset, int fused) {
#pragma GCC ivdep
    for (int64_t i = 0; i < width; i++) {
        int red = r[i], green = g[i], blue = b[i];
        int most = red > green ? red : green, least = red < green ? red : green;
        most = most > blue ? most : blue;
        least = least < blue ? least : blue;
        int range = most - least, middle = red + green + blue - most - least;
        // (most - colour) / range is 0 for the largest colour and 1 for the smallest; q is that of the third.
        float q = (float)(most - middle) / (float)(range + (range == 0));
        // h is an odd number less q, or plus q; Pillow's order where colours are equal.
        int not_red = red != most, not_green = not_red & (green != most);
        int minus = (!not_red & (blue == least)) | (not_red & !not_green & (red == least)) | (not_green & (green == least));
        int odd = 2 * (minus + not_red + not_green) - 1;
        float h = (float)odd + (float)(1 - 2 * minus) * q;
        int negative = odd < 0;
        int hue = (int)(sixth(h, (float)negative, fused) * 255.0f) & -(range != 0);
        int saturation = (int)((float)range / (float)(most + (most == 0)) * 255.0f);

        int turn = 6 * ((hue + offset) & 255); // in 255ths of a sector
        int sector = (turn * 257 + 257) >> 16, f = turn - 255 * sector;
        int low = most * (255 - saturation) + 128;
        low = (low + (low >> 8)) >> 8;
        // The nearest 65025th; the product is right for every numerator that there is.
        int falling = (int)((float)(most * (65025 - saturation * f) + 32512) * (1.0f / 65025.0f));
        int rising = (int)((float)(most * (65025 - saturation * (255 - f)) + 32512) * (1.0f / 65025.0f));
        // Sector 6 is 0 again. Shifts, since gcc makes a test of bits of two comparisons.
        int in0 = (sector - 1) >> 31 | (5 - sector) >> 31, in1 = -(sector == 1), in2 = -(sector == 2);
        int in3 = -(sector == 3), in4 = -(sector == 4), in5 = -(sector == 5);
        r[i] = (uint8_t)((most & (in5 | in0)) | (falling & in1) | (rising & in4) | (low & (in2 | in3)));
        g[i] = (uint8_t)((most & (in1 | in2)) | (falling & in3) | (rising & in0) | (low & (in4 | in5)));
        b[i] = (uint8_t)((most & (in3 | in4)) | (falling & in5) | (rising & in2) | (low & (in0 | in1)));
    }
}

// torchvision's np.int32(factor * 255).astype(np.uint8).
INLINE void hue(const gf_planes *p, double factor, int fused) {
    gf_span s = gf_span_of(p);
    int offset = (uint8_t)(int32_t)(factor * 255);
    if (p->channels == 1) return;
    for (int64_t y = 0; y < s.count; y++)
        hue_row(p->plane[0] + y * s.stride, p->plane[1] + y * s.stride, p->plane[2] + y * s.stride, s.width, offset, fused);
}

#define FUSED_plain 0
#define FUSED_avx2 1
#define FUSED_avx512 1
#define HUE(LEVEL, TARGET) \
    TARGET void gf_hue_##LEVEL(const gf_planes *p, double factor) { hue(p, factor, FUSED_##LEVEL); }

LEVELS(HUE)
