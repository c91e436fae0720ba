// RandomErasing: torch converts the value once, to the sample's type.
#include "rows.h"

#include "../../numbers/round.h"

#include <string.h>

static void fill(uint8_t *out, int64_t values, const uint8_t *pattern, int64_t pattern_bytes, int64_t value_bytes) {
    // The pattern is a value, or three: the first copy is doubled until the row is full.
    int64_t bytes = values * value_bytes, done = pattern_bytes < bytes ? pattern_bytes : bytes;
    memcpy(out, pattern, (size_t)done);
    while (done < bytes) {
        int64_t more = done < bytes - done ? done : bytes - done;
        memcpy(out + done, out, (size_t)more);
        done += more;
    }
}

void gf_erase(const gf_normalise *n, uint8_t *sample, int64_t width, int64_t height, const gf_box *box, const float value[3]) {
    int64_t size = n->numbers.size;
    uint8_t pattern[12];
    if (box->width <= 0) return;
    for (int c = 0; c < n->numbers.channels; c++) {
        uint16_t half = n->numbers.type == GF_FLOAT16 ? gf_to_float16(value[c]) : gf_to_bfloat16(value[c]);
        uint8_t byte = 0; // as torch converts: cut off, then modulo 256
        if (value[c] > -0x1p62f && value[c] < 0x1p62f) byte = (uint8_t)(int64_t)value[c];
        const void *from = size == 4 ? (const void *)&value[c] : size == 1 ? (const void *)&byte : (const void *)&half;
        memcpy(pattern + c * size, from, (size_t)size);
    }
    for (int64_t y = box->y; y < (int64_t)box->y + box->height; y++) {
        if (n->numbers.last) {
            fill(sample + (y * width + box->x) * 3 * size, 3 * (int64_t)box->width, pattern, 3 * size, size);
            continue;
        }
        for (int c = 0; c < n->numbers.channels; c++)
            fill(sample + ((c * height + y) * width + box->x) * size, box->width, pattern + c * size, size, size);
    }
}
