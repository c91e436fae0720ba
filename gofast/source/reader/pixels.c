// A header of Netpbm for rows that have none.
#include "pixels.h"

#include <stdio.h>
#include <string.h>

// Pillow's modes, and how a file begins whose rows are the same: tfrecord/pixels.go has the modes too. Only Pillow reads the
// last three, so it decodes these pictures.
static const struct {
    char mode[5], magic[7];
} kinds[] = {{"L", "P5"}, {"RGB", "P6"}, {"RGBA", "PyRGBA"}, {"CMYK", "PyCMYK"}, {"P", "PyP"}};

enum { WORDS = 12 };

static uint32_t word(const uint8_t *at) { return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24; }

uint8_t *gf_pixels_file(uint8_t *stored, size_t n, ptrdiff_t *longer) {
    size_t mode = n < WORDS ? 0 : word(stored + 8);
    if (mode == 0 || mode > GF_PIXELS_HEAD - WORDS || n < WORDS + mode) return NULL;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (strlen(kinds[i].mode) != mode || memcmp(kinds[i].mode, stored + WORDS, mode)) continue;
        char head[GF_PIXELS_ROOM];
        int length = snprintf(head, sizeof head, "%s %u %u 255\n", kinds[i].magic, word(stored), word(stored + 4));
        *longer = length - (ptrdiff_t)(WORDS + mode);
        return memcpy(stored - *longer, head, (size_t)length);
    }
    return NULL;
}
