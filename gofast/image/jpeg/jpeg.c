// Decodes a file, with Pillow's verdict on it. Pillow feeds libjpeg in blocks of 64 kB and ignores its warnings. It raises
// if libjpeg stops with an error, or if the data end before the last row. Data after the last row count only if they lie
// in the same block as the end of that row.
// Most files need none of this. If the next marker is the end of the image, or only restart markers come before it, the
// decoder meets no error and does not run out of data. Then rows that nobody wants are not decoded. Other files are
// decoded to the end, in Pillow's blocks.
#include "jpeg.h"

#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include "../../internal/meter/meter.h"
#include "header.h"
#include "state.h"

enum {
    // libjpeg-turbo writes aligned rows past the cache. We read the rows at once, so ours are never aligned. This saves 4 %
    // of a decode's time, and the reader's cache misses.
    MISALIGNED = 8,
    LEAST_CROP = 64, // columns; with fewer than 3 chroma columns, the library replaces smooth upsampling by plain
};

static void on_error(lj_decompress *d) { longjmp(((gf_jpeg *)d)->broken, BROKEN); }

static void on_message(lj_decompress *d, int level) {
    (void)d;
    (void)level;
}

// A file's tables must not serve the next file, which may lack its own. So they do not live for ever, but in the pool that
// is emptied with the file.
static void *small(lj_decompress *d, int pool, size_t size) {
    (void)pool;
    return ((gf_jpeg *)d)->small(d, LJ_POOL_IMAGE, size);
}

static void forget_tables(lj_decompress *d) {
    memset(d->quantisation, 0, sizeof d->quantisation);
    memset(d->dc_tables, 0, sizeof d->dc_tables);
    memset(d->ac_tables, 0, sizeof d->ac_tables);
}

static void *new(void) { return calloc(1, sizeof(gf_jpeg)); }

// After an error the structure is made again, so that one file's trouble cannot reach the next.
static void unmake(gf_jpeg *j) {
    if (j->made) j->library->destroy(&j->d);
    j->made = 0;
    j->stage = IDLE;
}

static void drop(void *state) {
    gf_jpeg *j = state;
    if (!j) return;
    unmake(j);
    huffman_free(&j->huffman);
    free(j->memory);
    free(j);
}

static void make(gf_jpeg *j) {
    memset(&j->d, 0, sizeof j->d);
    j->d.errors = j->library->std_error(&j->errors);
    j->errors.error_exit = on_error;
    j->errors.emit_message = on_message;
    j->made = 1;
    j->library->create(&j->d, LJ_VERSION, sizeof j->d);
    j->small = j->d.memory->small;
    j->d.memory->small = small;
    feed_make(j);
}

// Drops the current file.
static void stop(gf_jpeg *j) {
    j->library->abort(&j->d);
    forget_tables(&j->d);
    j->stage = IDLE;
}

// The library's error, as Pillow would call it.
static int broken(gf_jpeg *j, gf_fault *fault) {
    char text[LJ_MESSAGE_SIZE] = "";
    char why[LJ_MESSAGE_SIZE + 24];
    if (j->d.memory) j->errors.format_message(&j->d, text);
    snprintf(why, sizeof why, "broken data stream: %s", text);
    int64_t offset = feed_position(j);
    unmake(j);
    return gf_fault_set(fault, GF_FAULT_FORMAT, offset, "%s", why);
}

static int truncated(gf_jpeg *j, gf_fault *fault) {
    stop(j);
    return gf_fault_set(fault, GF_FAULT_FORMAT, (int64_t)j->n, "image file is truncated");
}

// Whether a region has the same pixels as in the whole picture. It has if every sampling factor is 1 or the greatest of
// its axis, and that is 1, 2 or 4.
static int region_is_exact(const lj_decompress *d) {
    int across = d->most_horizontal, down = d->most_vertical;
    if (across == 3 || down == 3 || (d->components == 1 && across * down > 1)) return 0;
    for (int i = 0; i < d->components; i++) {
        const lj_component *c = &d->component[i];
        if ((c->horizontal != 1 && c->horizontal != across) || (c->vertical != 1 && c->vertical != down)) return 0;
    }
    return 1;
}

// Whether a progressive file lacks some of its last scans. Then the library smooths the blocks, and its versions differ.
static int is_smoothed(const lj_decompress *d) {
    for (int i = 0; d->progressive && i < d->components; i++)
        for (int k = 1; k < 10; k++)
            if (d->precision_of[i][k] != 0) return 1;
    return 0;
}

static int32_t size(const uint8_t *data, size_t n, size_t length, int32_t *width, int32_t *height, gf_fault *fault) {
    gf_jpeg_header header;
    int code = gf_jpeg_header_read(data, n, length, &header, fault);
    if (code) return code;
    *width = header.width;
    *height = header.height;
    return 0;
}

// Reads the header of the current file.
static int read_header(gf_jpeg *j, gf_fault *fault) {
    gf_jpeg_header header;
    if (j->stage != IDLE) stop(j);
    j->packing.memory = NULL;
    int code = gf_jpeg_header_read(j->data, j->n, j->n, &header, fault);
    if (code) return code;
    if ((int64_t)header.width * header.height > j->max_pixels) return gf_fault_set(fault, GF_FAULT_LIMIT, -1, "the picture has too many pixels");
    // Lossless and hierarchical files, and arithmetic coding: Pillow's blocks make the latter fail beyond 64 kB.
    if (header.frame > 0xc2) return gf_fault_set(fault, GF_FAULT_UNSUPPORTED, -1, "an unusual kind of JPEG");
    if (setjmp(j->broken)) return broken(j, fault);
    if (!j->made) make(j);
    feed_begin(j);
    j->stage = HEADER;
    int answer = j->library->read_header(&j->d, 0);
    if (answer == LJ_SUSPENDED) return truncated(j, fault);
    const lj_decompress *d = &j->d;
    if (answer != LJ_HEADER_OK || (int64_t)d->width != header.width || (int64_t)d->height != header.height || d->components != header.components || d->arithmetic) {
        stop(j);
        return gf_fault_set(fault, GF_FAULT_UNSUPPORTED, -1, "a header that can be read in two ways");
    }
    j->d.out_colours = d->components == 4 ? LJ_CMYK : LJ_EXT_RGBA;
    j->many_scans = j->library->many_scans(&j->d);
    j->clean = !j->many_scans && (j->packed || j->ends_cleanly || exchange_look(j) || feed_ends_cleanly(j->source.next, j->data + j->n));
    return 0;
}

static int damaged(gf_jpeg *j, gf_fault *fault) {
    if (j->stage != IDLE) stop(j);
    return gf_fault_set(fault, GF_FAULT_FORMAT, -1, "not a record of coefficients");
}

static int32_t begin_any(gf_jpeg *j, int64_t max_pixels, gf_picture *out, gf_fault *fault) {
    j->max_pixels = max_pixels;
    j->not_ours = 0;
    int code = read_header(j, fault);
    if (code) return code;
    *out = (gf_picture){.width = (int32_t)j->d.width, .height = (int32_t)j->d.height};
    return 0;
}

static int32_t begin(void *state, const gf_sample_bytes *file, int64_t max_pixels, gf_picture *out, gf_fault *fault) {
    gf_jpeg *j = state;
    if (!j->library) j->library = lj_loaded();
    if (!j->library) return gf_fault_set(fault, GF_FAULT_UNSUPPORTED, -1, "libjpeg-turbo was not found");
    j->data = file->data;
    j->n = file->size;
    j->comes_again = file->comes_again;
    j->packed = j->ends_cleanly = 0;
    return begin_any(j, max_pixels, out, fault);
}

static int32_t begin_packed(void *state, const gf_sample_bytes *file, int64_t max_pixels, gf_picture *out, gf_fault *fault) {
    gf_jpeg *j = state;
    if (!j->library) j->library = lj_loaded();
    if (!j->library || !pack_open(j, file->data, file->size)) return damaged(j, fault);
    j->packed = 1;
    return begin_any(j, max_pixels, out, fault);
}

static int32_t start(void *state, gf_box region, gf_fault *fault);

// Begins the same picture again after the rows that were taken. The library decodes all of it.
static int begin_again(gf_jpeg *j, gf_fault *fault) {
    if (j->packed) return damaged(j, fault);
    gf_box left = j->region;
    left.y += j->taken;
    left.height -= j->taken;
    j->not_ours = 1;
    gf_meter_here()->decoding = GF_PART_DECODE;
    int code = read_header(j, fault);
    return code ? code : start(j, left, fault);
}

// Computes only what is needed. The library's crop begins at a multiple of the MCU's width. If chroma is interpolated, the
// first and the last of its columns are wrong, so we ask for one more on both sides.
static void choose_columns(gf_jpeg *j) {
    int32_t width = (int32_t)j->d.out_width, from = j->region.x, to = j->region.x + j->region.width;
    j->first = 0;
    j->columns = width;
    if (j->d.most_horizontal > 1) {
        if (from > 0) from--;
        if (to < width) to++;
    }
    if (to - from < LEAST_CROP) to = from + LEAST_CROP;
    if (to > width) to = width;
    if (to - from < LEAST_CROP) from = to > LEAST_CROP ? to - LEAST_CROP : 0;
    if (from == 0 && to == width) return;
    unsigned x = (unsigned)from, columns = (unsigned)(to - from);
    j->library->crop(&j->d, &x, &columns);
    j->first = (int32_t)x;
    j->columns = (int32_t)columns;
}

static int fit_buffer(gf_jpeg *j) {
    j->stride = ((int64_t)j->columns * 4 + GF_FORMAT_SLACK + 63) / 64 * 64;
    size_t size = (size_t)j->stride * GF_FORMAT_ROWS + 64;
    if (size > j->size) {
        free(j->memory);
        j->memory = aligned_alloc(64, size);
        j->size = j->memory ? size : 0;
        if (!j->memory) return 0;
        memset(j->memory, 0, size); // slack may be read
    }
    j->buffer = j->memory + MISALIGNED;
    return 1;
}

// Reads rows into the buffer, at most GF_FORMAT_ROWS. Returns 0 if the data end.
static int read_rows(gf_jpeg *j, int32_t count) {
    uint8_t *at[GF_FORMAT_ROWS];
    for (int32_t i = 0; i < count; i++) at[i] = j->buffer + j->stride * i;
    for (unsigned done = 0, got; done < (unsigned)count; done += got) {
        got = j->library->read(&j->d, at + done, (unsigned)count - done);
        if (got == 0) return 0;
    }
    return 1;
}

// Decodes rows that nobody wants.
static int drop_rows(gf_jpeg *j, int32_t count) {
    for (; count > 0; count -= GF_FORMAT_ROWS)
        if (!read_rows(j, count < GF_FORMAT_ROWS ? count : GF_FORMAT_ROWS)) return 0;
    return 1;
}

static int32_t start(void *state, gf_box region, gf_fault *fault) {
    gf_jpeg *j = state;
    if (j->stage != HEADER || region.x < 0 || region.y < 0 || region.width < 1 || region.height < 1 ||
        (int64_t)region.x + region.width > (int64_t)j->d.width || (int64_t)region.y + region.height > (int64_t)j->d.height) {
        if (j->stage != IDLE) stop(j);
        return gf_fault_set(fault, GF_FAULT_CROP, -1, "the region does not lie in the picture");
    }
    int left_by = setjmp(j->broken);
    if (left_by) return left_by == NOT_OURS ? begin_again(j, fault) : broken(j, fault);
    j->region = region;
    j->taken = 0;
    if (!j->many_scans && !j->clean) feed_blocks(j);
    if (!j->library->start(&j->d)) return truncated(j, fault); // of a progressive file, this reads all scans
    if (is_smoothed(&j->d)) {
        stop(j);
        return gf_fault_set(fault, GF_FAULT_UNSUPPORTED, -1, "a progressive file without its last scans");
    }
    j->first = 0;
    j->columns = (int32_t)j->d.out_width;
    int less = (j->many_scans || j->clean) && region_is_exact(&j->d);
    if (less) choose_columns(j);
    if (!fit_buffer(j)) {
        stop(j);
        return gf_fault_set(fault, GF_FAULT_MEMORY, -1, "memory is short");
    }
    j->stage = ROWS;
    if (!exchange_start(j)) return damaged(j, fault);
    if (less && region.y > 0) j->library->skip(&j->d, (unsigned)region.y);
    else if (!drop_rows(j, region.y)) return truncated(j, fault);
    return 0;
}

// Four components are inverted, as Adobe writes them. Pillow reads and converts them so.
static void from_cmyk(uint8_t *at, int64_t columns) {
    for (int64_t i = 0; i < columns; i++, at += 4) {
        int key = at[3];
        for (int c = 0; c < 3; c++) {
            int t = (255 - at[c]) * key + 128;
            at[c] = (uint8_t)(key - (((t >> 8) + t) >> 8));
        }
        at[3] = 255;
    }
}

// Whether so many rows are left. If not, the picture is dropped.
static int rows_left(gf_jpeg *j, int32_t rows, gf_fault *fault) {
    if (j->stage == ROWS && rows >= 0 && rows <= j->region.height - j->taken) return 1;
    if (j->stage != IDLE) stop(j);
    gf_fault_set(fault, GF_FAULT_CROP, -1, "more rows than the region has");
    return 0;
}

// Takes rows of the region, with some columns before it. Returns 0, or the code of fault.
static int take(gf_jpeg *j, int32_t rows, gf_fault *fault) {
    int left_by = setjmp(j->broken);
    if (left_by == NOT_OURS) {
        int code = begin_again(j, fault);
        return code ? code : take(j, rows, fault);
    }
    if (left_by) return broken(j, fault);
    if (!read_rows(j, rows)) return truncated(j, fault);
    j->taken += rows;
    if (j->d.components == 4)
        for (int32_t i = 0; i < rows; i++) from_cmyk(j->buffer + i * j->stride, j->columns);
    return 0;
}

static const uint8_t *rows(void *state, int32_t count, int64_t *stride, gf_fault *fault) {
    gf_jpeg *j = state;
    if (count > GF_FORMAT_ROWS) count = INT32_MAX; // more than any region has
    if (!rows_left(j, count, fault) || take(j, count, fault)) return NULL;
    *stride = j->stride;
    return j->buffer + (int64_t)(j->region.x - j->first) * 4;
}

static int32_t end(void *state, gf_fault *fault) {
    gf_jpeg *j = state;
    if (j->stage == IDLE) return gf_fault_set(fault, GF_FAULT_CROP, -1, "no picture was begun");
    if (setjmp(j->broken)) return broken(j, fault);
    if (j->stage == ROWS && !j->many_scans && !j->clean) {
        if (!drop_rows(j, (int32_t)(j->d.out_height - j->d.row))) return truncated(j, fault);
        j->finishing = 1;
        j->library->finish(&j->d); // Pillow does not mind when data end here
    }
    stop(j);
    return 0;
}

int gf_jpeg_starts(void *state, const gf_sample_bytes *file, int64_t max_pixels) {
    gf_jpeg *j = state;
    gf_fault fault;
    if (!j->library && !(j->library = lj_loaded())) return 0;
    j->data = file->data;
    j->n = file->size;
    j->max_pixels = max_pixels;
    j->packed = 0;
    j->ends_cleanly = j->not_ours = 1; // our own decoder would copy the scan
    int code = read_header(j, &fault);
    if (!code) code = start(j, (gf_box){0, 0, 1, 1}, &fault);
    if (j->stage != IDLE) stop(j);
    return !code;
}

const gf_picture_format gf_jpeg_format = {
    .name = "jpeg", .magic = "\xff\xd8\xff", .variable = "GOFAST_LIBJPEG", .wheel = "libjpeg-*.so.62*", .load = lj_load,
    .size = size, .make = new, .free = drop, .begin = begin, .start = start, .rows = rows, .end = end,
};

const gf_picture_format gf_coefficients_format = {
    .name = "coefficients", .magic = "gofastC1", .load = lj_load, .size = size, .make = new, .free = drop, .begin = begin_packed, .start = start,
    .rows = rows, .end = end,
};
