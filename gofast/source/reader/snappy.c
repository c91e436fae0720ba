// A part of a block of Snappy, from one of its elements on: a value in a compressed page is unpacked without those before it.
#include "snappy.h"

#include <string.h>

int64_t gf_snappy_part(const uint8_t *src, size_t size, uint8_t *dst, size_t wanted) {
    const uint8_t *end = src + size;
    size_t made = 0;
    while (made < wanted) {
        if (src == end) return -1;
        uint8_t tag = *src++;
        size_t extra = (tag & 3) == 0 ? (tag >> 2 < 60 ? 0 : (size_t)(tag >> 2) - 59) : (tag & 3) == 3 ? 4 : tag & 3;
        if (extra > (size_t)(end - src)) return -1;
        uint32_t number = 0;
        for (size_t i = 0; i < extra; i++) number |= (uint32_t)src[i] << (8 * i);
        src += extra;
        size_t length = (size_t)(tag >> 2) + 1, back = number, left = wanted - made;
        if ((tag & 3) == 0) {
            if (extra) length = (size_t)number + 1;
            if (length > left) length = left;
            if (length > (size_t)(end - src)) return -1;
            memcpy(dst + made, src, length);
            src += length;
            made += length;
            continue;
        }
        if ((tag & 3) == 1) {
            length = (size_t)(tag >> 2 & 7) + 4;
            back = (size_t)(tag >> 5) << 8 | number;
        }
        if (back == 0 || back > made) return -1; // a value before the part
        if (length > left) length = left;
        for (size_t i = 0; i < length; i++) dst[made + i] = dst[made - back + i]; // it may repeat what it writes
        made += length;
    }
    return (int64_t)made;
}
