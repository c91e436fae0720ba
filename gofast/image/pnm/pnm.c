// Binary PGM and PPM of 8 bits, the kinds of PNM that data sets are kept in. Plain pixels: a region costs what it has.
#include <string.h>

#include "../../source/reader/bytes.h"
#include "../picture/format.h"
#include "../picture/widen.h"

typedef struct {
    const uint8_t *next; // the region's next row
    int64_t row;         // bytes of the file's rows
    int32_t bands;       // 1: grey, 3: RGB
    int32_t width;       // of the region
    gf_bytes out;        // rows of a call
} pnm;

// What stands before the pixels.
typedef struct {
    const uint8_t *data;
    size_t n, at;
} header;

static int is_space(int c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

// The next number, with the one space behind it; -1 where it ends with the data, -2 where it is another thing.
static int64_t number(header *h) {
    while (h->at < h->n && is_space(h->data[h->at])) h->at++;
    size_t from = h->at;
    int64_t value = 0;
    for (; h->at < h->n && !is_space(h->data[h->at]); h->at++) {
        int digit = h->data[h->at] - '0';
        if (digit < 0 || digit > 9 || h->at - from == 9) return -2; // a comment, perhaps: Pillow has its own ways with them
        value = 10 * value + digit;
    }
    return h->at++ < h->n ? value : -1;
}

static int32_t read_header(header *h, size_t length, int32_t *width, int32_t *height, gf_fault *fault) {
    int64_t of[3] = {-1, -1, -1};
    int known = h->n < 3 || ((h->data[1] == '5' || h->data[1] == '6') && is_space(h->data[2]));
    h->at = 2;
    for (int i = 0; known && i < 3 && (of[i] = number(h)) >= 0; i++) known = i < 2 ? of[i] > 0 : of[i] == 255;
    if (!known || of[0] == -2 || of[1] == -2 || of[2] == -2)
        return gf_fault_set(fault, GF_FAULT_UNSUPPORTED, 0, "not a binary PGM or PPM file of 8 bits without comments");
    if (of[2] < 0) return gf_fault_set(fault, h->n < length ? GF_FORMAT_MORE : GF_FAULT_UNSUPPORTED, (int64_t)h->n + 1, "the header goes on");
    *width = (int32_t)of[0];
    *height = (int32_t)of[1];
    return 0;
}

static int32_t size(const uint8_t *data, size_t n, size_t length, int32_t *width, int32_t *height, gf_fault *fault) {
    return read_header(&(header){.data = data, .n = n}, length, width, height, fault);
}

static void *new(void) { return calloc(1, sizeof(pnm)); }

static void drop(void *state) {
    if (state) free(((pnm *)state)->out.data);
    free(state);
}

static int32_t begin(void *state, const gf_sample_bytes *file, int64_t max_pixels, gf_picture *out, gf_fault *fault) {
    pnm *p = state;
    const uint8_t *data = file->data;
    size_t n = file->size;
    header h = {.data = data, .n = n};
    *out = (gf_picture){0};
    int32_t code = read_header(&h, n, &out->width, &out->height, fault);
    if (code) return code;
    p->bands = data[1] == '5' ? 1 : 3;
    p->row = (int64_t)p->bands * out->width;
    p->next = data + h.at;
    if ((int64_t)out->width * out->height > max_pixels) return gf_fault_set(fault, GF_FAULT_LIMIT, -1, "the picture has more pixels than are allowed");
    if ((int64_t)(n - h.at) / p->row < out->height) return gf_fault_set(fault, GF_FAULT_FORMAT, (int64_t)n, "image file is truncated");
    return 0;
}

static int32_t start(void *state, gf_box region, gf_fault *fault) {
    pnm *p = state;
    p->width = region.width;
    p->next += region.y * p->row + (int64_t)region.x * p->bands;
    if (gf_bytes_reserve(&p->out, 4 * GF_FORMAT_ROWS * (size_t)region.width)) return 0;
    return gf_fault_set(fault, GF_FAULT_MEMORY, -1, "memory is short");
}

static const uint8_t *rows(void *state, int32_t count, int64_t *stride, gf_fault *fault) {
    (void)fault;
    pnm *p = state;
    *stride = 4 * (int64_t)p->width;
    uint8_t *to = p->out.data;
    for (; count > 0; count--, p->next += p->row, to += *stride) {
        if (p->bands == 3) {
            gf_widen(p->next, (size_t)p->width, to);
            continue;
        }
        for (int32_t x = 0; x < p->width; x++) {
            memset(to + 4 * x, p->next[x], 3);
            to[4 * x + 3] = 255;
        }
    }
    return p->out.data;
}

static int32_t end(void *state, gf_fault *fault) {
    (void)state;
    (void)fault;
    return 0; // begin has said it
}

const gf_picture_format gf_pnm_format = {
    .name = "pnm", .magic = "P?", .size = size, .make = new, .free = drop, .begin = begin, .start = start, .rows = rows, .end = end,
};
