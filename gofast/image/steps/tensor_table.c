#include "tensor_table.h"

#include <string.h>

#include "tone.h"
#include "words.h"

static uint8_t clamp(float x) { return (uint8_t)(x > 0.0f ? x < 255.0f ? x : 255.0f : 0.0f); }

static void all_alike(uint8_t tables[3][256]) {
    memcpy(tables[1], tables[0], 256);
    memcpy(tables[2], tables[0], 256);
}

void gf_table_blend(float ratio, float rest, float grey, int fused, uint8_t tables[3][256]) {
    for (int i = 0; i < 256; i++) {
        float x = (float)i * ratio, other = grey * rest;
        tables[0][i] = clamp(fused ? gf_fused(grey, rest, x) : x + other);
    }
    all_alike(tables);
}

void gf_table_mask(uint8_t mask, uint8_t tables[3][256]) {
    for (int i = 0; i < 256; i++) tables[0][i] = (uint8_t)(i & mask);
    all_alike(tables);
}

void gf_table_solarize(int32_t first, uint8_t tables[3][256]) {
    for (int i = 0; i < 256; i++) tables[0][i] = (uint8_t)(i >= first ? 255 - i : i);
    all_alike(tables);
}

// v1 multiplies, by a reciprocal times 255 (that is what torch makes of a number by a tensor); v2 divides. A channel of one
// byte stays.
static void stretch(const uint32_t counts[256], int version, uint8_t table[256]) {
    int low = 0, high = 255;
    while (low < 255 && !counts[low]) low++;
    while (high > 0 && !counts[high]) high--;
    float range = (float)(high - low), up = 1.0f / range * 255.0f, down = range * (float)(1.0 / 255);
    for (int i = 0; i < 256; i++) {
        float x = (float)(i - low);
        table[i] = high <= low ? (uint8_t)i : clamp(version == 1 ? x * up : x / down);
    }
}

void gf_table_autocontrast(const uint32_t counts[3][256], int version, uint8_t tables[3][256]) {
    for (int c = 0; c < 3; c++) stretch(counts[c], version, tables[c]);
}

void gf_table_equalize(const uint32_t counts[3][256], uint8_t tables[3][256]) {
    for (int c = 0; c < 3; c++) gf_tone_spread(counts[c], tables[c]);
}
