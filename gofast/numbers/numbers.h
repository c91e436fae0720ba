// What numbers are made of stored ones; numbers.Spec in C memory. Go lays it out, whatever makes samples only reads it.
//
// Arithmetic is done in float32, in torchvision's order (the scale, then minus mean, then divided by std), every step
// rounded; then the result is rounded to its type. Without arithmetic a number is rounded once, from its own type to
// the other, as numpy's astype does.
#ifndef GOFAST_NUMBERS_H
#define GOFAST_NUMBERS_H

#include <stdint.h>

// Types, in the order of numbers.Type; those that tables are stored in come first.
enum { GF_UINT8 = 1, GF_INT16, GF_INT32, GF_INT64, GF_FLOAT32, GF_FLOAT64, GF_FLOAT16, GF_BFLOAT16 };

// Scales, in the order of numbers.Scale: none; ToTensor's true division by 255; v2.ToDtype(scale=True)'s product with
// float32(1/255).
enum { GF_SCALE_CAST, GF_SCALE_DIVIDE, GF_SCALE_MULTIPLY };

// x / 255 for x in 0..255 equals fma(x, HI, x * LO) exactly (a test walks all 256): 2 instructions instead of a
// division. HI is what MULTIPLY multiplies by.
#define GF_UNIT_HI ((float)(1.0 / 255.0))
#define GF_UNIT_LO ((float)(1.0 / 255.0 - (double)GF_UNIT_HI))

// All but mean and std, which each kernel has in a form of its own.
typedef struct {
    int32_t scale;     // GF_SCALE_...
    int32_t normalise; // 1: then (x - mean) / std
    int32_t type;      // of the results
    int32_t size;      // bytes of one
    int32_t channels;
    int32_t last;      // 1: channels last
} gf_numbers;

// What becomes of each byte in one channel: made by the plain Go arithmetic, so right by definition.
typedef struct {
    union {
        float float32[256];
        uint16_t bits16[256];
        uint8_t results[1024];
    };
    uint8_t planes[4][256]; // of float32: its bytes apart
} gf_codes;

// Writes the results of n bytes.
typedef void (*gf_codes_fn)(const gf_codes *, const uint8_t *src, int64_t n, void *out);

// The function for results of type float32, float16 or bfloat16. level: 0 is plain C, 1 at most AVX2 or NEON, 2 at most
// AVX-512.
gf_codes_fn gf_codes_choose(const gf_numbers *, int level);

int gf_codes_level(void); // the best here

#endif
