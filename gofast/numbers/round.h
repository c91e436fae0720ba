// float32 and float64 to the types of 16 bits, to nearest even, by the bits: that vectorises, and needs no half type.
#ifndef GOFAST_ROUND_H
#define GOFAST_ROUND_H

#include <stdint.h>
#include <string.h>

static inline uint16_t gf_to_bfloat16(float f) {
    uint32_t bits;
    memcpy(&bits, &f, 4);
    uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
    return (bits & 0x7fffffff) > 0x7f800000 ? 0x7fc0 : (uint16_t)rounded; // torch's quiet NaN
}

static inline uint16_t gf_to_float16(float f) {
    uint32_t bits;
    memcpy(&bits, &f, 4);
    uint32_t sign = (bits >> 16) & 0x8000, mag = bits & 0x7fffffff;
    uint32_t normal = (mag + 0xc8000fff + ((mag >> 13) & 1)) >> 13; // rebias by -112, round
    // Below 2^-14 the result is subnormal: adding 0.5 leaves the rounded
    // significand in the low bits.
    float magf, sum;
    memcpy(&magf, &mag, 4);
    sum = magf + 0.5f;
    uint32_t sub;
    memcpy(&sub, &sum, 4);
    sub -= 0x3f000000;
    uint32_t h = mag < 0x38800000 ? sub : normal;
    h = mag >= 0x477ff000 ? 0x7c00 : h;  // rounds to infinity
    h = mag > 0x7f800000 ? 0x7e00 : h;   // NaN
    return (uint16_t)(sign | h);
}

// A double rounds to float16 once: rounding to odd in between keeps the bits
// that decide.
static inline uint16_t gf_double_to_float16(double d) {
    float f = (float)d;
    if ((double)f != d && f == f) {
        uint32_t bits;
        memcpy(&bits, &f, 4);
        if ((bits & 0x7fffffff) != 0x7f800000 && !(bits & 1)) {
            double back = (double)f;
            // Step to the odd neighbour on the side of d.
            int away = (d > back) == !(bits >> 31);
            if ((bits & 0x7fffffff) == 0) bits = (d < 0 ? 0x80000001u : 1u);
            else bits += away ? 1 : -1;
            memcpy(&f, &bits, 4);
        } else if ((bits & 0x7fffffff) == 0x7f800000) {
            return (uint16_t)((bits >> 16 & 0x8000) | 0x7c00);
        }
    }
    return gf_to_float16(f);
}

#endif
