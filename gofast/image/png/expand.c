#include <string.h>

#include "../picture/widen.h"
#include "rows.h"

static uint32_t rgbx(uint32_t r, uint32_t g, uint32_t b) { return r | g << 8 | b << 16 | 0xff000000u; }

void gf_png_look_at(gf_png_look *look, int depth, int colour, const uint8_t *palette, uint32_t entries) {
    look->depth = depth;
    look->colour = colour;
    if (depth > 8) return;
    // An index beyond the palette is black, as in Pillow.
    for (uint32_t i = 0; i < 256; i++) {
        if (colour == 3) look->table[i] = i < entries ? rgbx(palette[3 * i], palette[3 * i + 1], palette[3 * i + 2]) : rgbx(0, 0, 0);
        else look->table[i] = (i * 255 / ((1u << depth) - 1)) * 0x010101u | 0xff000000u;
    }
}

void gf_png_look_at_indices(gf_png_look *look, int depth) {
    look->depth = depth;
    look->colour = depth == 8 ? 0 : 3; // a byte is grey already, which needs no table
    for (uint32_t i = 0; i < 256; i++) look->table[i] = rgbx(i, i, i);
}

static inline void put(uint8_t *pixels, size_t i, uint32_t v) { memcpy(pixels + 4 * i, &v, 4); }

// Pixels of 1, 2 or 4 bits, the leftmost in the high bits.
static void packed(const gf_png_look *look, const uint8_t *row, uint8_t *pixels, size_t n) {
    int depth = look->depth;
    unsigned mask = (1u << depth) - 1;
    for (size_t i = 0; i < n; i++) {
        size_t bit = i * (size_t)depth;
        put(pixels, i, look->table[row[bit >> 3] >> (8 - depth - (int)(bit & 7)) & mask]);
    }
}

static void through_table(const gf_png_look *look, const uint8_t *row, uint8_t *pixels, size_t n) {
    for (size_t i = 0; i < n; i++) put(pixels, i, look->table[row[i]]);
}

static void grey_8(const uint8_t *row, uint8_t *pixels, size_t n) {
    for (size_t i = 0; i < n; i++) {
        uint32_t v = row[i];
        put(pixels, i, v | v << 8 | v << 16 | 0xff000000u);
    }
}

// Grey with alpha: step bytes for a pixel, 2 or 4. The first byte is grey.
static void grey_alpha(const uint8_t *row, uint8_t *pixels, size_t n, size_t step) {
    for (size_t i = 0; i < n; i++) put(pixels, i, row[step * i] * 0x010101u | 0xff000000u);
}

// Pillow clips grey of 16 bits. Of 16-bit colours it keeps the high byte.
static void grey_16(const uint8_t *row, uint8_t *pixels, size_t n) {
    for (size_t i = 0; i < n; i++) put(pixels, i, (row[2 * i] ? 255u : row[2 * i + 1]) * 0x010101u | 0xff000000u);
}

static void colours_plain(const uint8_t *row, uint8_t *pixels, size_t n, size_t step, size_t band) {
    for (size_t i = 0; i < n; i++) put(pixels, i, rgbx(row[step * i], row[step * i + band], row[step * i + 2 * band]));
}

static void colours_rgba(const uint8_t *row, uint8_t *pixels, size_t n) {
    for (size_t i = 0; i < n; i++) {
        uint32_t v;
        memcpy(&v, row + 4 * i, 4);
        put(pixels, i, v | 0xff000000u);
    }
}

void gf_png_expand(const gf_png_look *look, int variant, const uint8_t *row, uint8_t *pixels, size_t n) {
    int wide = look->depth == 16;
    switch (look->colour) {
    case 0:
        if (wide) grey_16(row, pixels, n);
        else if (look->depth == 8) grey_8(row, pixels, n);
        else packed(look, row, pixels, n);
        return;
    case 2:
        if (wide) colours_plain(row, pixels, n, 6, 2);
        else if (variant) colours_plain(row, pixels, n, 3, 1);
        else gf_widen(row, n, pixels);
        return;
    case 3:
        if (look->depth == 8) through_table(look, row, pixels, n);
        else packed(look, row, pixels, n);
        return;
    case 4:
        grey_alpha(row, pixels, n, wide ? 4 : 2);
        return;
    default:
        if (wide) colours_plain(row, pixels, n, 8, 2);
        else colours_rgba(row, pixels, n);
    }
}
