#include <stdlib.h>
#include <string.h>

#include "chunks.h"
#include "../../internal/inflate/quick.h"
#include "rows.h"

static const uint8_t signature[8] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};

// Pillow gives so many bytes of its input to zlib at a time.
enum { PILLOW_PIECE = 65536 };

// Deflate expands its input at most so many times.
enum { MAX_EXPANSION = 1032 };

// The variant of kernels that is taken here. kerneltest takes the plain one too, 1.
enum { FASTEST };

// Memory that grows. It is freed only together with the state.
typedef struct {
    uint8_t *data;
    size_t size;
} store;

typedef struct {
    gf_zstream z;
    int ready; // z is
    store filtered; // a row of zeros, then all rows with their filter bytes
    store picture; // of an interlaced one, all pixels
    store line;    // pixels of one row of a pass, or of the rows of one call
    store stream; // image data of several chunks, end to end
    gf_quick quick;
    gf_png_look look;
    // The picture that is open.
    const uint8_t *rows; // undone, with their filter bytes; NULL: `picture` has it
    size_t row;          // bytes of one of them
    int bits;            // of a pixel
    uint32_t width;
    gf_box region;
    int32_t at; // the region's next row
} gf_png;

// The rows of a pass of Adam7, or of the whole picture.
typedef struct {
    uint32_t x, y, step_x, step_y; // where its pixels go
    uint32_t width, height;
    size_t row; // bytes, without the filter byte
} pass;

static void *new(void) { return calloc(1, sizeof(gf_png)); }

static void drop(void *state) {
    gf_png *p = state;
    if (!p) return;
    if (p->ready) gf_libz_get()->end(&p->z);
    free(p->filtered.data);
    free(p->picture.data);
    free(p->line.data);
    free(p->stream.data);
    free(p);
}

static size_t held(const void *state) {
    const gf_png *p = state;
    return p->filtered.size + p->picture.size + p->line.size + p->stream.size;
}

static int need(store *s, size_t size) {
    if (s->size >= size) return 1;
    size = (size + 4095) / 4096 * 4096;
    free(s->data);
    s->data = aligned_alloc(64, size);
    s->size = s->data ? size : 0;
    return s->data != NULL;
}

static uint32_t be32(const uint8_t *p) { return (uint32_t)p[0] << 24 | p[1] << 16 | p[2] << 8 | p[3]; }

static int32_t size(const uint8_t *data, size_t n, size_t length, int32_t *width, int32_t *height, gf_fault *fault) {
    (void)length;
    int known = n >= 24 && !memcmp(data, signature, 8) && !memcmp(data + 12, "IHDR", 4);
    uint32_t w = known ? be32(data + 16) : UINT32_MAX, h = known ? be32(data + 20) : 0;
    if (w > INT32_MAX || h > INT32_MAX) return gf_fault_set(fault, GF_FAULT_UNSUPPORTED, 0, "the header gives no size");
    *width = (int32_t)w;
    *height = (int32_t)h;
    return 0;
}

// Lists the passes that have pixels. Returns their number.
static int list_passes(const gf_chunks *c, int bits, pass *passes) {
    static const uint8_t adam[7][4] = {{0, 0, 8, 8}, {4, 0, 8, 8}, {0, 4, 4, 8}, {2, 0, 4, 4}, {0, 2, 2, 4}, {1, 0, 2, 2}, {0, 1, 1, 2}};
    static const uint8_t whole[1][4] = {{0, 0, 1, 1}};
    const uint8_t(*from)[4] = c->interlaced ? adam : whole;
    int count = 0;
    for (int i = 0; i < (c->interlaced ? 7 : 1); i++) {
        pass p = {.x = from[i][0], .y = from[i][1], .step_x = from[i][2], .step_y = from[i][3]};
        if (c->width <= p.x || c->height <= p.y) continue;
        p.width = (c->width - p.x + p.step_x - 1) / p.step_x;
        p.height = (c->height - p.y + p.step_y - 1) / p.step_y;
        p.row = ((size_t)p.width * (size_t)bits + 7) / 8;
        passes[count++] = p;
    }
    return count;
}

static int restart(gf_png *p, const gf_libz *libz) {
    if (p->ready) return libz->reset(&p->z) == GF_Z_OK;
    p->ready = libz->init(&p->z, libz->version, sizeof p->z) == GF_Z_OK;
    return p->ready;
}

// Inflates a stream that ends in the last chunk of the image data, with all of its rows and a correct sum. Pillow accepts
// such a stream and goes on after that chunk. Returns 0 if it is not such a stream, or if there is no memory to find out.
static int inflate_quick(gf_png *p, gf_chunks *c, uint8_t *rows, size_t size) {
    gf_fault ignored;
    gf_chunks ahead = *c, behind = *c;
    ahead.fault = &ignored;
    const uint8_t *piece;
    uint32_t length = 0;
    size_t total = 0;
    // No stream is longer than the file.
    if (!need(&p->stream, c->n - c->at + GF_QUICK_IN_SLACK)) return 0;
    while (!gf_png_piece(&ahead, UINT32_MAX, &piece, &length)) {
        memcpy(p->stream.data + total, piece, length);
        total += length;
        behind = ahead;
    }
    // zlib must judge a truncated chunk.
    if (behind.n - behind.at < 4) return 0;
    memset(p->stream.data + total, 0, GF_QUICK_IN_SLACK);
    size_t read = gf_quick_inflate(&p->quick, FASTEST, p->stream.data, total, rows, size);
    if (!read || total - read >= length) return 0;
    c->at = behind.at;
    c->left = 0;
    return 1;
}

// Inflates all rows at once. That is enough if the stream ends with the picture. For any other stream, Pillow's verdict
// depends on how much it reads at a time, so it must be found by reading in the same way: *odd is then set.
static int inflate_whole(gf_chunks *c, uint8_t *rows, size_t size, int *odd) {
    gf_zstream *z = c->z;
    z->next_out = rows;
    z->avail_out = (unsigned)size;
    for (;;) {
        uint32_t length;
        int code = gf_png_piece(c, UINT32_MAX, &z->next_in, &length);
        if (code) return code;
        z->avail_in = length;
        int status = c->libz->inflate(z, 0);
        if (status == GF_Z_MEM_ERROR) return gf_png_fail(c, GF_FAULT_MEMORY, c->at, "memory is short");
        if (status == GF_Z_DATA_ERROR && z->avail_out) return gf_png_fail(c, GF_FAULT_FORMAT, c->at, "broken data stream when reading image file");
        if (status == GF_Z_OK && z->avail_out) continue;
        *odd = status != GF_Z_STREAM_END || z->avail_out;
        return 0;
    }
}

// Inflates as Pillow's decoder does: one row in each call, input in pieces. Pillow takes a picture as complete if the
// stream ends in the same call as a row. Missing rows stay black.
static int inflate_rows(gf_chunks *c, const pass *passes, int count, uint8_t *rows, size_t size) {
    gf_zstream *z = c->z;
    int at = 0;
    uint32_t row = 0;
    size_t got = 0;
    uint8_t *out = rows;
    for (;;) {
        uint32_t length;
        int code = gf_png_piece(c, PILLOW_PIECE, &z->next_in, &length);
        if (code) return code;
        z->avail_in = length;
        while (z->avail_in) {
            size_t whole = passes[at].row + 1;
            z->next_out = out + got;
            z->avail_out = (unsigned)(whole - got);
            int status = c->libz->inflate(z, 0);
            if (status == GF_Z_MEM_ERROR) return gf_png_fail(c, GF_FAULT_MEMORY, c->at, "memory is short");
            if (status < 0) return gf_png_fail(c, GF_FAULT_FORMAT, c->at, "broken data stream when reading image file");
            if (z->avail_out) {
                got = whole - z->avail_out;
                break;
            }
            out += whole;
            got = 0;
            if (++row == passes[at].height) row = 0, at++;
            if (at == count || status == GF_Z_STREAM_END) {
                memset(out, 0, size - (size_t)(out - rows));
                return 0;
            }
        }
    }
}

// Undoes the filters, and makes pixels of an interlaced picture: those of others are made when they are asked for, close to
// their use. That saved 30 us of 94 of a mask of 500 x 375.
static int finish(gf_png *p, gf_chunks *c, const pass *passes, int count, int bits, uint8_t *rows, const uint8_t *zeros) {
    int pixel = bits < 8 ? 1 : bits / 8;
    const gf_png_unfilter_fn *unfilter = gf_png_unfilter(FASTEST, pixel);
    size_t stride = (size_t)c->width * 4;
    for (const pass *s = passes; s < passes + count; s++) {
        const uint8_t *above = zeros;
        for (uint32_t y = 0; y < s->height; y++, rows += s->row + 1) {
            if (rows[0] > 4) return gf_png_fail(c, GF_FAULT_FORMAT, c->at, "unknown filter when reading image file");
            if (rows[0]) unfilter[rows[0]](rows + 1, above, s->row, pixel);
            above = rows + 1;
            if (!c->interlaced) continue;
            uint8_t *to = p->picture.data + stride * (s->y + (size_t)y * s->step_y);
            // Not in place: the kernels write up to three more pixels, and these may be finished already.
            gf_png_expand(&p->look, FASTEST, above, p->line.data, s->width);
            to += 4 * (size_t)s->x;
            for (uint32_t x = 0; x < s->width; x++, to += 4 * (size_t)s->step_x) memcpy(to, p->line.data + 4 * (size_t)x, 4);
        }
    }
    return 0;
}

// Finds what is wrong with the picture that the chunks describe, before memory is taken for it.
static int check(gf_chunks *c, int64_t max_pixels) {
    uint64_t pixels = (uint64_t)c->width * c->height;
    if (!pixels) return gf_png_fail(c, GF_FAULT_FORMAT, 16, "the picture has no pixels");
    if (max_pixels < 0 || pixels > (uint64_t)max_pixels) return gf_png_fail(c, GF_FAULT_LIMIT, 16, "the picture has more pixels than are allowed");
    if (c->width > INT32_MAX / 64 - 8 || c->height > INT32_MAX) return gf_png_fail(c, GF_FAULT_UNSUPPORTED, 16, "a very large picture");
    if (c->framed && (c->box[0] || c->box[1] || c->box[2] != c->width || c->box[3] != c->height))
        return gf_png_fail(c, GF_FAULT_UNSUPPORTED, c->at, "a first frame that is not the whole picture");
    if (c->palette_bytes * (uint64_t)8 / 24 > 256) return gf_png_fail(c, GF_FAULT_FORMAT, c->at, "invalid palette size");
    return 0;
}

static int decode(gf_png *p, gf_chunks *c, int indices, int64_t max_pixels, gf_picture *out) {
    static const uint8_t bands[7] = {1, 0, 3, 1, 2, 0, 4};
    int code = gf_png_head(c);
    if (!code) code = check(c, max_pixels);
    if (code) return code;

    int bits = bands[c->colour] * c->depth;
    pass passes[7];
    int count = list_passes(c, bits, passes);
    size_t size = 0, widest = 0;
    for (int i = 0; i < count; i++) {
        size += (passes[i].row + 1) * passes[i].height;
        if (passes[i].row > widest) widest = passes[i].row;
    }
    // So small a file cannot hold all rows, but Pillow may still accept it with missing rows.
    if (size > UINT32_MAX || size / MAX_EXPANSION > c->n) return gf_png_fail(c, GF_FAULT_UNSUPPORTED, c->at, "less data than pixels");
    size_t stride = (size_t)c->width * 4, ahead = (widest + GF_FORMAT_SLACK + 63) / 64 * 64;
    if (!need(&p->filtered, ahead + size + GF_FORMAT_SLACK) || (c->interlaced && !need(&p->picture, stride * c->height + GF_FORMAT_SLACK)) ||
        !need(&p->line, GF_FORMAT_ROWS * stride + GF_FORMAT_SLACK) || !restart(p, c->libz))
        return gf_png_fail(c, GF_FAULT_MEMORY, -1, "memory is short");
    uint8_t *rows = p->filtered.data + ahead;
    memset(p->filtered.data, 0, ahead);

    gf_chunks data = *c;
    int odd = 0;
    if (!inflate_quick(p, c, rows, size)) code = inflate_whole(c, rows, size, &odd);
    // Kernels read behind the rows, for nothing.
    memset(rows + size, 0, GF_FORMAT_SLACK);
    if (!code && odd) {
        *c = data;
        if (!restart(p, c->libz)) return gf_png_fail(c, GF_FAULT_MEMORY, -1, "memory is short");
        code = inflate_rows(c, passes, count, rows, size);
    }
    if (!code) code = gf_png_tail(c);
    if (code) return code;
    // Pillow looks up the clear entry's colour in the missing palette.
    if (c->colour == 3 && !c->palette && c->transparent_index) return gf_png_fail(c, GF_FAULT_FORMAT, c->at, "transparency without a palette");

    if (indices && c->colour == 3) gf_png_look_at_indices(&p->look, c->depth);
    else gf_png_look_at(&p->look, c->depth, c->colour, c->palette, c->palette_bytes / 3);
    code = finish(p, c, passes, count, bits, rows, p->filtered.data);
    if (code) return code;
    if (c->interlaced) memset(p->picture.data + stride * c->height, 0, GF_FORMAT_SLACK);
    p->rows = c->interlaced ? NULL : rows;
    p->row = passes[0].row + 1;
    p->bits = bits;
    p->width = c->width;
    *out = (gf_picture){.width = (int32_t)c->width, .height = (int32_t)c->height};
    return 0;
}

static int32_t start(void *state, gf_box region, gf_fault *fault) {
    gf_png *p = state;
    (void)fault;
    p->region = region;
    p->at = region.y;
    return 0;
}

static const uint8_t *rows(void *state, int32_t rows, int64_t *stride, gf_fault *fault) {
    gf_png *p = state;
    (void)fault;
    size_t x = (size_t)p->region.x, y = (size_t)p->at, whole = 4 * (size_t)p->width;
    p->at += rows;
    *stride = (int64_t)whole;
    if (!p->rows) return p->picture.data + y * whole + 4 * x;
    size_t before = p->bits < 8 ? x : 0; // pixels that share bytes with others are made from the row's begin
    const uint8_t *from = p->rows + y * p->row + 1 + (x - before) * (size_t)p->bits / 8;
    uint8_t *to = p->line.data;
    for (int32_t k = 0; k < rows; k++, from += p->row, to += whole) gf_png_expand(&p->look, FASTEST, from, to, before + (size_t)p->region.width);
    memset(to, 0, GF_FORMAT_SLACK);
    return p->line.data + 4 * before;
}

static void skip(void *state, int32_t rows) { ((gf_png *)state)->at += rows; }

static int32_t end(void *state, gf_fault *fault) {
    (void)state, (void)fault;
    return 0; // begin has seen all of it
}

static int32_t begin(void *state, const gf_sample_bytes *file, int64_t max_pixels, gf_picture *out, gf_fault *fault) {
    gf_png *p = state;
    const uint8_t *data = file->data;
    size_t n = file->size;
    *fault = (gf_fault){.offset = -1};
    gf_chunks c = {.libz = gf_libz_get(), .z = &p->z, .fault = fault, .data = data, .n = n, .at = 8, .sequence = -1};
    if (!c.libz) return gf_png_fail(&c, GF_FAULT_UNSUPPORTED, -1, "zlib was not found");
    if (n < 8 || memcmp(data, signature, 8)) return gf_png_fail(&c, GF_FAULT_UNSUPPORTED, 0, "not a PNG file");
    if (!restart(p, c.libz)) return gf_png_fail(&c, GF_FAULT_MEMORY, -1, "memory is short");
    int code = decode(p, &c, file->indices != 0, max_pixels, out);
    // Pillow tries its other decoders on a broken PNG file. The one for Photo CD needs no other signature.
    if (code == GF_FAULT_FORMAT && n >= 2052 && !memcmp(data + 2048, "PCD_", 4)) return gf_png_fail(&c, GF_FAULT_UNSUPPORTED, 0, "maybe a Photo CD");
    return code;
}

const gf_picture_format gf_png_format = {
    .name = "png", .magic = "\x89PNG\r\n\x1a\n", .variable = "GOFAST_LIBZ", .load = gf_libz_load,
    .size = size, .make = new, .free = drop, .held = held, .begin = begin, .start = start, .rows = rows, .skip = skip, .end = end,
};
