// Replaces the library's decoder of coefficients by ours. The later steps, the inverse transform, smooth
// upsampling and colours, stay the library's, so the pixels are the library's too. The codes are two thirds of a decode:
// a photograph takes 0.45 ms instead of 0.68, and 0.33 if the crop does not need all of them. From the second epoch
// on, the scan is entered at marks (marks.h), and two rows are decoded at a time: an epoch of RandomResizedCrop(224) of 500
// photographs takes 0.83 of its time. If a file has anything unusual, the decode starts again with the library's decoder.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "../../internal/meter/meter.h"
#include "../picture/opened.h"
#include "state.h"

int exchange_look(gf_jpeg *j) {
    gf_meter *meter = gf_meter_here();
    gf_meter_part(meter, GF_PART_ENTROPY);
    int marker = huffman_read(&j->huffman, &j->d, j->source.next, j->source.next + j->source.left);
    gf_meter_part(meter, GF_PART_DECODE);
    return marker == 0xd9;
}

static int read_mcu(gf_jpeg *j, uint32_t mcu, int16_t (*const *blocks)[64]) {
    if (j->packed) return coefficients_read(&j->coefficients, mcu, blocks);
    return j->packing.memory ? pack_mcu(j, mcu, blocks) : huffman_mcu(&j->huffman, mcu, blocks);
}

static int decode_mcu(lj_decompress *d, int16_t (*const *blocks)[64]) {
    gf_jpeg *j = (gf_jpeg *)d;
    uint32_t mcu = j->mcu++;
    int wanted = blocks && j->column >= j->first_mcu && j->column < j->end_mcu;
    if (++j->column == d->mcus_per_row) j->column = 0;
    // Others are left out, and read later if no mark leads to the next one that is wanted.
    if (wanted && !read_mcu(j, mcu, blocks)) longjmp(j->broken, NOT_OURS);
    return 1;
}

// The same, in a picture whose parts are measured.
static int decode_measured(lj_decompress *d, int16_t (*const *blocks)[64]) {
    gf_meter *meter = gf_meter_here();
    gf_meter_part(meter, GF_PART_ENTROPY);
    int done = decode_mcu(d, blocks);
    gf_meter_part(meter, GF_PART_INVERSE);
    return done;
}

// Whether the coefficients are read here.
static int is_ours(gf_jpeg *j) {
    if (j->by_library || j->not_ours || !j->clean || !j->library->decode_mcu || j->d.entropy->decode_mcu != j->library->decode_mcu) return 0;
    return j->packed ? pack_start(j) : huffman_begin(&j->huffman, &j->d);
}

int exchange_start(gf_jpeg *j) {
    lj_decompress *d = &j->d;
    int ours = is_ours(j);
    if (j->packing.memory && (!ours || !pack_begin(j))) j->packing.memory = NULL;
    if (!ours) return !j->packed;
    unsigned width = d->components == 1 ? 8 : 8 * (unsigned)d->most_horizontal, end = (unsigned)(j->first + j->columns);
    unsigned height = d->components == 1 ? 8 : 8 * (unsigned)d->most_vertical, bottom = (unsigned)(j->region.y + j->region.height);
    j->mcu = j->column = 0;
    j->first_mcu = (unsigned)j->first / width;
    j->end_mcu = (end + width - 1) / width;
    gf_meter *meter = gf_meter_here();
    if (!j->packed && !j->packing.memory && huffman_may_be_marked(&j->huffman)) {
        huffman_wanted wanted = {d->mcus_per_row, j->first_mcu, j->end_mcu, (bottom + height - 1) / height};
        int known = huffman_use(&j->huffman, marks_of(j->data, j->n, d->mcus_per_row * d->mcu_rows_in_scan, j->comes_again), wanted);
        j->marked += known;
        meter->counters[GF_COUNT_MARKED] += known;
    }
    d->entropy->decode_mcu = meter->fine ? decode_measured : decode_mcu;
    meter->decoding = GF_PART_INVERSE;
    gf_meter_part(meter, GF_PART_INVERSE);
    j->exchanged++;
    return 1;
}

// A file of noise, made here so that the package need not contain a picture. Its codes are 0, 10, 110 and 1110 in all
// tables, and its data never have four ones in a row. So any bits of it are valid codes and values.
enum { TRIAL_WIDTH = 200, TRIAL_HEIGHT = 40, TRIAL_DATA = 12000 };

static const uint8_t header[] = {
    0xff, 0xc0, 0, 17, 8, 0, TRIAL_HEIGHT, 0, TRIAL_WIDTH, 3, 1, 0x22, 0, 2, 0x11, 0, 3, 0x11, 0, // halved colours
    0xff, 0xc4, 0, 23, 0x00, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3,          // DC: sizes
    0xff, 0xc4, 0, 23, 0x10, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x01, 0x12, 0x03, // AC: end, runs and sizes
    0xff, 0xda, 0, 12, 3, 1, 0, 2, 0, 3, 0, 0, 63, 0,
};

static size_t make_trial(uint8_t *at) {
    static const uint8_t start[] = {0xff, 0xd8, 0xff, 0xdb, 0, 67, 0}; // quantisation by sevens
    uint8_t *p = at;
    memcpy(p, start, sizeof start);
    memset(p += sizeof start, 7, 64);
    memcpy(p += 64, header, sizeof header);
    p += sizeof header;
    uint32_t noise = 1;
    for (int i = 0; i < TRIAL_DATA; i++) {
        noise = noise * 1664525 + 1013904223;
        *p++ = (uint8_t)(noise >> 24) & 0x77;
    }
    *p++ = 0xff, *p++ = 0xd9;
    return (size_t)(p - at);
}

// Decodes a region of the trial, which goes on. 1 when that went well.
static int decode(gf_jpeg *j, const uint8_t *file, size_t n, gf_box region, uint8_t *out) {
    gf_fault fault;
    gf_opened source;
    gf_sample_bytes bytes = {.data = file, .size = n, .length = n};
    return !gf_picture_open(&source, &gf_jpeg_format, j, &bytes, INT32_MAX, &fault) && !gf_opened_read(&source, region, out, (int64_t)region.width * 4, &fault);
}

// The library's function, if there is one in the expected place; else NULL. A decode must have begun.
static lj_decode_mcu *own_function(const gf_jpeg *j) {
    const lj_entropy *entropy = j->d.entropy;
    Dl_info of_library, of_function;
    if (!entropy || !dladdr((void *)j->library->create, &of_library) || !dladdr((void *)entropy->decode_mcu, &of_function)) return NULL;
    return of_library.dli_fbase == of_function.dli_fbase ? entropy->decode_mcu : NULL;
}

void exchange_try(lj_library *library) {
    enum { SIZE = TRIAL_WIDTH * TRIAL_HEIGHT * 4 };
    static const gf_box regions[] = {{0, 0, TRIAL_WIDTH, TRIAL_HEIGHT}, {70, 18, 65, 9}};
    gf_jpeg *j = gf_jpeg_format.make();
    uint8_t *file = malloc(sizeof header + TRIAL_DATA + 100), *pixels = calloc(2, SIZE);
    int same = j && file && pixels;
    if (same) {
        size_t n = make_trial(file);
        j->library = library;
        for (int i = 0; same && i < 2; i++) {
            library->decode_mcu = NULL;
            same = decode(j, file, n, regions[i], pixels);
            library->decode_mcu = same ? own_function(j) : NULL;
            same = same && decode(j, file, n, regions[i], pixels + SIZE) && !memcmp(pixels, pixels + SIZE, SIZE);
        }
        if (!same || j->exchanged != 2 || j->not_ours) library->decode_mcu = NULL;
    }
    gf_jpeg_format.free(j);
    free(file);
    free(pixels);
}
