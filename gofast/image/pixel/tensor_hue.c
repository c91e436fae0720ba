// The hue of a uint8 tensor, as torchvision computes it: floats from 0 to 1 to HSV and back, each operation of torch's
// rounded. The two versions divide by 255 and by 6, or multiply, and sum one product in another order.
#include "ops.h"

typedef struct {
    float unit, sixth, turn;
    int version;
} turning;

INLINE float unit_of(uint8_t byte, const turning *t) { return t->version == 1 ? (float)byte / 255.0f : (float)byte * t->unit; }

// torchvision's way back to bytes. No sum above is less than 0, but by its last bit one may be more than 1.
INLINE int32_t byte_of(float x) { return (int32_t)((x < 1.0f ? x : 1.0f) * 255.999f); }

// Arithmetic and choices of what is there already, or compilers will not vectorise it.
INLINE void hue_row(uint8_t *r, uint8_t *g, uint8_t *b, int64_t width, const turning *t) {
#pragma GCC ivdep
    for (int64_t i = 0; i < width; i++) {
        float red = unit_of(r[i], t), green = unit_of(g[i], t), blue = unit_of(b[i], t);
        float most = red > green ? red : green, least = red < green ? red : green;
        most = most > blue ? most : blue;
        least = least < blue ? least : blue;
        float range = most - least, divisor = range == 0.0f ? 1.0f : range;
        float s = range / (range == 0.0f ? 1.0f : most);
        float of_red = (most - red) / divisor, of_green = (most - green) / divisor, of_blue = (most - blue) / divisor;
        float h = of_blue - of_green, at_green = 2.0f + of_red - of_blue, at_blue = 4.0f + of_green - of_red;
        h = most == red ? h : most == green ? at_green : at_blue;
        h = (t->version == 1 ? h / 6.0f : h * t->sixth) + 1.0f;
        h = h >= 1.0f ? h - 1.0f : h; // fmod, exactly
        h = h + t->turn;
        h = h >= 1.0f ? h - 1.0f : h;
        h = h < 0.0f ? h + 1.0f : h; // and 1 where it was next to 0: sector 6 is 0 again

        h = h * 6.0f;
        int32_t sector = (int32_t)h;
        float f = h - (float)sector, part = s * f;
        float low = most * (1.0f - s), falling = most * (1.0f - part), up = t->version == 1 ? 1.0f - s * (1.0f - f) : part + (1.0f - s);
        int32_t v = byte_of(most), p = byte_of(low), q = byte_of(falling), w = byte_of(most * up);
        int32_t in0 = -(sector == 0 || sector == 6), in1 = -(sector == 1), in2 = -(sector == 2), in3 = -(sector == 3), in4 = -(sector == 4);
        int32_t in5 = -(sector == 5);
        r[i] = (uint8_t)((v & (in5 | in0)) | (q & in1) | (p & (in2 | in3)) | (w & in4));
        g[i] = (uint8_t)((v & (in1 | in2)) | (q & in3) | (p & (in4 | in5)) | (w & in0));
        b[i] = (uint8_t)((v & (in3 | in4)) | (q & in5) | (p & (in0 | in1)) | (w & in2));
    }
}

INLINE void hue(const gf_planes *p, float turn, int version) {
    gf_span s = gf_span_of(p);
    turning t = {(float)(1.0 / 255), (float)(1.0 / 6), turn, version};
    for (int64_t y = 0; y < s.count; y++) hue_row(p->plane[0] + y * s.stride, p->plane[1] + y * s.stride, p->plane[2] + y * s.stride, s.width, &t);
}

#define TENSOR_HUE(LEVEL, TARGET)                                                              \
    TARGET void gf_tensor_hue_##LEVEL(const gf_planes *p, float turn, int version) {           \
        if (version == 1) hue(p, turn, 1);                                                     \
        else hue(p, turn, 2);                                                                  \
    }

LEVELS(TENSOR_HUE)
