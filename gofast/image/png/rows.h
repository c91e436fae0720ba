// The work on a row after inflating: undo its filter, and make RGBX pixels from its samples.
#ifndef GOFAST_PNG_ROWS_H
#define GOFAST_PNG_ROWS_H

#include <stddef.h>
#include <stdint.h>

// Kernels may read so many bytes after a row, and may write so many after its pixels.
enum { GF_PNG_ROW_SLACK = 16 };

// Undoes filter 1 to 4 of a row of n bytes in place. above is the row before, undone, or zeros.
typedef void (*gf_png_unfilter_fn)(uint8_t *row, const uint8_t *above, size_t n, int pixel);

// Indexed by filter; [0] is NULL.
const gf_png_unfilter_fn *gf_png_unfilter(int variant, int pixel);

// How samples become pixels.
typedef struct {
    int depth, colour;
    uint32_t table[256]; // pixels of grey and palette samples up to 8 bits
} gf_png_look;

// Fills the table: palette of `entries` whole colours for colour type 3, else ignored.
void gf_png_look_at(gf_png_look *, int depth, int colour, const uint8_t *palette, uint32_t entries);

// The same, of pixels that are their numbers in the palette.
void gf_png_look_at_indices(gf_png_look *, int depth);

// Makes n pixels of a row. row and pixels have 16 bytes of slack.
void gf_png_expand(const gf_png_look *, int variant, const uint8_t *row, uint8_t *pixels, size_t n);

#endif
