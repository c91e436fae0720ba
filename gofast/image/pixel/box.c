// Pillow's extended box blur, three of which are its GaussianBlur. Whole numbers throughout, so that every order of sums gives
// the same. Rows are blurred so many times, then columns, and become bytes each time; beyond an edge its own pixel goes on.
#include "ops.h"

#include <string.h>

// Boxes up to this radius are summed pixel by pixel, in registers: a Gaussian of 4.6 has no wider one. A wider box's sum
// runs along.
enum { MOST_SUMMED = 4 };

INLINE int64_t up(int64_t n) { return (n + 63) / 64 * 64; }

// Bytes before and behind a row that its ends are repeated in.
INLINE int64_t margin(const gf_box_side *side) { return up(side->radius + 1); }

size_t gf_box_blur_room(const gf_box_blur *b, int32_t width) {
    int64_t row = 2 * margin(&b->x) + up(width);
    return (size_t)(2 * row + 4 * up(width));
}

INLINE uint8_t weighed(uint32_t inside, uint32_t beyond, const gf_box_side *side) {
    return (uint8_t)((inside * side->inner + beyond * side->outer + (1u << 23)) >> 24);
}

// rows[radius + 1 + i] is the row, or the pixel, i behind the one that is made.
INLINE void summed(const uint8_t *const *rows, int radius, int64_t width, const gf_box_side *side, uint8_t *out) {
    const gf_box_side s = *side;
#pragma GCC ivdep
    for (int64_t i = 0; i < width; i++) {
        uint16_t inside = rows[radius + 1][i];
        for (int k = 1; k <= radius; k++) inside = (uint16_t)(inside + rows[radius + 1 - k][i] + rows[radius + 1 + k][i]);
        uint16_t beyond = (uint16_t)(rows[0][i] + rows[2 * radius + 2][i]);
        out[i] = weighed(inside, beyond, &s);
    }
}

INLINE void summed_by_any(const uint8_t *const *rows, int64_t width, const gf_box_side *side, uint8_t *out) {
    switch (side->radius) {
    case 0: summed(rows, 0, width, side, out); return;
    case 1: summed(rows, 1, width, side, out); return;
    case 2: summed(rows, 2, width, side, out); return;
    case 3: summed(rows, 3, width, side, out); return;
    default: summed(rows, MOST_SUMMED, width, side, out);
    }
}

INLINE void weigh(const uint32_t *restrict sums, const uint8_t *restrict before, const uint8_t *restrict behind, int64_t width, const gf_box_side *side,
                  uint8_t *restrict out) {
    const gf_box_side s = *side;
    for (int64_t i = 0; i < width; i++) out[i] = weighed(sums[i], (uint32_t)before[i] + behind[i], &s);
}

// ---- along rows

INLINE void repeat_ends(uint8_t *row, int64_t width, int64_t times) {
    memset(row - times, row[0], (size_t)times);
    memset(row + width, row[width - 1], (size_t)times);
}

INLINE void blur_row(uint8_t *row, int64_t width, const gf_box_side *side, uint32_t *sums, uint8_t *out) {
    int64_t r = side->radius;
    repeat_ends(row, width, r + 1);
    if (r <= MOST_SUMMED) {
        const uint8_t *rows[2 * MOST_SUMMED + 3];
        for (int64_t k = 0; k < 2 * r + 3; k++) rows[k] = row + k - r - 1;
        summed_by_any(rows, width, side, out);
        return;
    }
    uint32_t sum = 0;
    for (int64_t i = -r; i <= r; i++) sum += row[i];
    for (int64_t i = 0; i < width; i++) {
        sums[i] = sum;
        sum += (uint32_t)row[i + r + 1] - row[i - r];
    }
    weigh(sums, row - r - 1, row + r + 1, width, side, out);
}

// In two rows of room by turns.
INLINE void blur_rows(const uint8_t *from, int64_t from_stride, const gf_planes *p, const gf_box_blur *b, uint8_t *to, int64_t to_stride, uint8_t *room) {
    int64_t width = p->width, apart = 2 * margin(&b->x) + up(width);
    uint8_t *rows[2] = {room + margin(&b->x), room + margin(&b->x) + apart};
    uint32_t *sums = (uint32_t *)(void *)(room + 2 * apart);
    for (int64_t y = 0; y < p->height; y++, from += from_stride, to += to_stride) {
        memcpy(rows[0], from, (size_t)width);
        for (int k = 0; k < b->passes; k++) blur_row(rows[k % 2], width, &b->x, sums, k == b->passes - 1 ? to : rows[(k + 1) % 2]);
    }
}

// ---- along columns

INLINE void blur_columns(const uint8_t *from, int64_t from_stride, const gf_planes *p, const gf_box_side *side, uint8_t *to, int64_t to_stride, uint32_t *sums) {
    int64_t width = p->width, last = p->height - 1, r = side->radius;
#define ROW(y) (from + ((y) < 0 ? 0 : (y) > last ? last : (y)) * from_stride)
    if (r <= MOST_SUMMED) {
        for (int64_t y = 0; y <= last; y++) {
            const uint8_t *rows[2 * MOST_SUMMED + 3];
            for (int64_t k = 0; k < 2 * r + 3; k++) rows[k] = ROW(y + k - r - 1);
            summed_by_any(rows, width, side, to + y * to_stride);
        }
        return;
    }
    memset(sums, 0, (size_t)width * sizeof *sums);
    for (int64_t y = -r; y <= r; y++) {
        const uint8_t *row = ROW(y);
        for (int64_t i = 0; i < width; i++) sums[i] += row[i];
    }
    for (int64_t y = 0; y <= last; y++) {
        const uint8_t *leaves = ROW(y - r), *enters = ROW(y + r + 1);
        weigh(sums, ROW(y - r - 1), enters, width, side, to + y * to_stride);
        for (int64_t i = 0; i < width; i++) sums[i] += (uint32_t)enters[i] - leaves[i];
    }
#undef ROW
}

INLINE void box_blur(const gf_planes *src, const gf_box_blur *b, const gf_planes *dst, uint8_t *room) {
    uint32_t *sums = (uint32_t *)(void *)room;
    for (int c = 0; c < src->channels; c++) {
        uint8_t *from = src->plane[c], *to = dst->plane[c];
        if (b->y.radius < 0) {
            blur_rows(from, src->stride, src, b, to, dst->stride, room);
            continue;
        }
        if (b->x.radius >= 0) blur_rows(from, src->stride, src, b, from, src->stride, room);
        for (int k = 0; k < b->passes; k++) {
            if (k % 2) blur_columns(to, dst->stride, src, &b->y, from, src->stride, sums);
            else blur_columns(from, src->stride, src, &b->y, to, dst->stride, sums);
        }
    }
}

#define BOX_BLUR(LEVEL, TARGET)                                                                                          \
    TARGET void gf_box_blur_##LEVEL(const gf_planes *src, const gf_box_blur *b, const gf_planes *dst, uint8_t *room) {   \
        box_blur(src, b, dst, room);                                                                                     \
    }

LEVELS(BOX_BLUR)
