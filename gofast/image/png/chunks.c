#include "chunks.h"

#include <stdio.h>
#include <string.h>

// Pillow's limits for compressed text: of one chunk, and of all together.
enum { MAX_TEXT_CHUNK = 1 << 20, MAX_TEXT_MEMORY = 64 << 20 };

// Deflate expands its input at most so many times.
enum { MAX_EXPANSION = 1032 };

#define NAME(a, b, c, d) ((uint32_t)(a) << 24 | (b) << 16 | (c) << 8 | (d))

static uint32_t be32(const uint8_t *p) { return (uint32_t)p[0] << 24 | p[1] << 16 | p[2] << 8 | p[3]; }

int gf_png_fail(gf_chunks *c, int code, size_t offset, const char *text) {
    return gf_fault_set(c->fault, code, (int64_t)offset, "%s", text);
}

static int broken(gf_chunks *c, const char *text) { return gf_png_fail(c, GF_FAULT_FORMAT, c->at, text); }
static int leave(gf_chunks *c, const char *text) { return gf_png_fail(c, GF_FAULT_UNSUPPORTED, c->at, text); }

static int is_word(uint8_t b) {
    return (b >= '0' && b <= '9') || (b >= 'A' && b <= 'Z') || (b >= 'a' && b <= 'z') || b == '_';
}

static void skip(gf_chunks *c, size_t bytes) { c->at = c->n - c->at < bytes ? c->n : c->at + bytes; }

// Reads length and name; at is then the first byte of the content. 0 when there is no chunk.
static int next_chunk(gf_chunks *c, uint32_t *name, uint32_t *length) {
    if (c->n - c->at < 8) return 0;
    const uint8_t *p = c->data + c->at;
    for (int i = 4; i < 8; i++)
        if (!is_word(p[i])) return 0;
    *length = be32(p);
    *name = be32(p + 4);
    c->at += 8;
    return 1;
}

// Pillow inflates these chunks, ignores broken ones and refuses more than 1 MiB. Chunks near this size are left to Pillow.
static int inflates_small(gf_chunks *c, const uint8_t *p, size_t n) {
    if (n <= MAX_TEXT_CHUNK / MAX_EXPANSION) return 1;
    uint8_t out[4096];
    gf_zstream *z = c->z;
    c->libz->reset(z);
    z->next_in = p;
    z->avail_in = (unsigned)n;
    size_t total = 0;
    int status;
    do {
        z->next_out = out;
        z->avail_out = sizeof out;
        status = c->libz->inflate(z, 0);
        total += sizeof out - z->avail_out;
        if (total >= MAX_TEXT_CHUNK - sizeof out) return 0;
    } while (status == GF_Z_OK && !z->avail_out);
    return 1;
}

// A text's key becomes a key of Pillow's info. There, these keys would control the decoder.
static int steers(const uint8_t *key, size_t n) {
    static const char *const keys[] = {"bbox", "interlace", "transparency", "default_image"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (n == strlen(keys[i]) && !memcmp(key, keys[i], n)) return 1;
    return 0;
}

static int add_text(gf_chunks *c, int64_t bytes) {
    c->text += bytes;
    return c->text > MAX_TEXT_MEMORY ? leave(c, "very much text") : 0;
}

// The maximum size of so many compressed bytes of text after inflating.
static int64_t expanded(size_t n) {
    return n < MAX_TEXT_CHUNK / MAX_EXPANSION ? (int64_t)n * MAX_EXPANSION : MAX_TEXT_CHUNK;
}

static size_t until_nul(const uint8_t *p, size_t n) {
    const uint8_t *nul = n ? memchr(p, 0, n) : NULL;
    return nul ? (size_t)(nul - p) : n;
}

static int text(gf_chunks *c, uint32_t name, const uint8_t *p, size_t n) {
    size_t key = until_nul(p, n), rest = key < n ? n - key - 1 : 0;
    if (steers(p, key)) return leave(c, "a text that has the name of a Pillow option");
    const uint8_t *value = p + (n - rest);
    if (name == NAME('t', 'E', 'X', 't')) return add_text(c, (int64_t)rest);
    if (name == NAME('z', 'T', 'X', 't')) {
        if (!rest) return 0;
        if (value[0]) return broken(c, "unknown compression method in zTXt chunk");
        if (!inflates_small(c, value + 1, rest - 1)) return leave(c, "a compressed text of a mebibyte or more");
        return add_text(c, expanded(rest - 1));
    }
    // iTXt: flag, method, language, translated key, text.
    if (rest < 2) return 0;
    int compressed = value[0], method = value[1];
    const uint8_t *language = value + 2;
    size_t left = rest - 2, part = until_nul(language, left);
    if (part == left) return 0;
    const uint8_t *translated = language + part + 1;
    left -= part + 1;
    part = until_nul(translated, left);
    if (part == left) return 0;
    const uint8_t *body = translated + part + 1;
    left -= part + 1;
    if (!compressed) return add_text(c, (int64_t)left);
    if (method) return 0;
    if (!inflates_small(c, body, left)) return leave(c, "a compressed text of a mebibyte or more");
    return add_text(c, expanded(left));
}

static int profile(gf_chunks *c, const uint8_t *p, size_t n) {
    size_t name = until_nul(p, n);
    // If the name has no end, Pillow takes the first byte as the method.
    size_t method = name < n ? name + 1 : 0;
    if (method >= n || p[method]) return broken(c, "unknown compression method in iCCP chunk");
    if (!inflates_small(c, p + method + 1, n - method - 1)) return leave(c, "a colour profile of a mebibyte or more");
    return 0;
}

static int header(gf_chunks *c, const uint8_t *p, size_t n) {
    if (c->header) return leave(c, "a second header");
    if (n < 13) return broken(c, "truncated IHDR chunk");
    c->header = 1;
    c->width = be32(p);
    c->height = be32(p + 4);
    c->depth = p[8];
    c->colour = p[9];
    // Bit d stands for depth d.
    static const uint32_t depths[7] = {1 << 1 | 1 << 2 | 1 << 4 | 1 << 8 | 1 << 16, 0, 1 << 8 | 1 << 16, 1 << 1 | 1 << 2 | 1 << 4 | 1 << 8,
                                       1 << 8 | 1 << 16, 0, 1 << 8 | 1 << 16};
    c->valid = c->colour < 7 && c->depth <= 16 && depths[c->colour] >> c->depth & 1;
    c->interlaced = p[12] != 0;
    if (p[11]) return broken(c, "unknown filter category");
    return 0;
}

static int transparency(gf_chunks *c, const uint8_t *p, size_t n) {
    if (!c->valid) return 0;
    if (c->colour == 3) {
        // One clear entry among opaque ones. A line's end may follow it, since Pillow's pattern allows that.
        size_t i = 0;
        while (i < n && p[i] == 255) i++;
        size_t clear = i;
        if (i < n && p[i] == 0) {
            for (i++; i < n && p[i] == 255; i++) {}
            if (i + 1 == n && p[i] == '\n') i++;
        } else {
            clear = n;
        }
        c->transparent_index = clear < n && i == n;
    } else if (c->colour == 0 || c->colour == 2) {
        if (n < (c->colour == 2 ? 6 : 2)) return broken(c, "truncated tRNS chunk");
    }
    return 0;
}

static int animation(gf_chunks *c, const uint8_t *p, size_t n) {
    if (n < 8) return broken(c, "APNG contains truncated acTL chunk");
    uint32_t frames = be32(p);
    if (c->frames_known) {
        c->frames_known = 0;
    } else if (frames && frames <= 0x80000000u) {
        c->frames_known = 1;
        c->frames = frames;
    }
    return 0;
}

static int sequence(gf_chunks *c, const uint8_t *p) {
    int64_t number = be32(p);
    if (number != c->sequence + 1) return broken(c, "APNG contains frame sequence errors");
    c->sequence = number;
    return 0;
}

static int frame(gf_chunks *c, const uint8_t *p, size_t n) {
    if (n < 26) return broken(c, "APNG contains truncated fcTL chunk");
    int code = sequence(c, p);
    if (code) return code;
    uint64_t w = be32(p + 4), h = be32(p + 8), x = be32(p + 12), y = be32(p + 16);
    if (x + w > c->width || y + h > c->height) return broken(c, "APNG contains invalid frames");
    c->framed = 1;
    c->box[0] = x, c->box[1] = y, c->box[2] = w, c->box[3] = h;
    return 0;
}

// Does what Pillow does with a chunk that is neither image data nor the end. The whole content lies in the file.
static int content(gf_chunks *c, uint32_t name, const uint8_t *p, size_t n) {
    switch (name) {
    case NAME('I', 'H', 'D', 'R'):
        return header(c, p, n);
    case NAME('P', 'L', 'T', 'E'):
        if (c->valid && c->colour == 3) c->palette = p, c->palette_bytes = (uint32_t)n;
        return 0;
    case NAME('t', 'R', 'N', 'S'):
        return transparency(c, p, n);
    case NAME('t', 'E', 'X', 't'):
    case NAME('z', 'T', 'X', 't'):
    case NAME('i', 'T', 'X', 't'):
        return text(c, name, p, n);
    case NAME('i', 'C', 'C', 'P'):
        return profile(c, p, n);
    case NAME('g', 'A', 'M', 'A'):
        return n < 4 ? broken(c, "truncated gAMA chunk") : 0;
    case NAME('c', 'H', 'R', 'M'):
        return n < 32 ? broken(c, "truncated cHRM chunk") : 0;
    case NAME('s', 'R', 'G', 'B'):
        return n < 1 ? broken(c, "truncated sRGB chunk") : 0;
    case NAME('p', 'H', 'Y', 's'):
        return n < 9 ? broken(c, "truncated pHYs chunk") : 0;
    case NAME('a', 'c', 'T', 'L'):
        return animation(c, p, n);
    case NAME('f', 'c', 'T', 'L'):
        return frame(c, p, n);
    default:
        return 0; // unknown: Pillow skips it, critical or not
    }
}

int gf_png_head(gf_chunks *c) {
    for (;;) {
        uint32_t name, length;
        if (!next_chunk(c, &name, &length)) return broken(c, "broken PNG file: no chunk where one should begin");
        if (name == NAME('I', 'E', 'N', 'D')) return broken(c, "cannot load this image: it has no image data");
        if (name == NAME('f', 'd', 'A', 'T')) return leave(c, "an animation without a default image");
        if (name == NAME('I', 'D', 'A', 'T')) {
            if (c->frames_known && !c->framed) c->default_image = 1;
            if (c->valid) {
                c->left = length;
                c->animated = c->frames_known && (c->frames > 1 || c->default_image);
                return 0;
            }
            // Without a mode, Pillow skips it like an unknown chunk.
        }
        if (c->n - c->at < length) return broken(c, "truncated file read");
        const uint8_t *p = c->data + c->at;
        int code = content(c, name, p, length);
        if (code) return code;
        c->at += length;
        if (c->n - c->at < 4) return broken(c, "incomplete checksum");
        if (c->libz->crc32(c->libz->crc32(0, p - 4, 4), p, length) != be32(p + length)) return broken(c, "bad header checksum");
        c->at += 4;
    }
}

int gf_png_piece(gf_chunks *c, uint32_t most, const uint8_t **piece, uint32_t *length) {
    while (!c->left) {
        skip(c, 4); // the checksum; Pillow does not check it
        uint32_t name;
        if (!next_chunk(c, &name, &c->left)) return broken(c, "image file is truncated");
        if (name == NAME('f', 'd', 'A', 'T')) return leave(c, "image data that goes on in a frame");
        if (name != NAME('I', 'D', 'A', 'T') && name != NAME('D', 'D', 'A', 'T')) return broken(c, "image file is truncated");
    }
    uint32_t take = c->left < most ? c->left : most;
    c->left -= take;
    if (c->n - c->at < take) take = (uint32_t)(c->n - c->at);
    if (!take) return broken(c, "image file is truncated");
    *piece = c->data + c->at;
    *length = take;
    c->at += take;
    return 0;
}

int gf_png_tail(gf_chunks *c) {
    skip(c, c->left);
    for (;;) {
        skip(c, 4); // the checksum
        uint32_t name, length;
        // Pillow accepts a file that ends after its image data, or has rubbish there.
        if (!next_chunk(c, &name, &length) || name == NAME('I', 'E', 'N', 'D')) return 0;
        if (name == NAME('f', 'c', 'T', 'L') && c->animated) return 0; // the next frame
        const uint8_t *p = c->data + c->at;
        if (name == NAME('f', 'd', 'A', 'T')) {
            if (length < 4) return broken(c, "APNG contains truncated fdAT chunk");
            if (c->n - c->at < 4) return broken(c, "truncated file read");
            if (c->sequence < 0 || sequence(c, p)) return broken(c, "APNG contains frame sequence errors");
        }
        if (c->n - c->at < length) return broken(c, "truncated file read");
        // A palette comes too late here.
        int code = name == NAME('P', 'L', 'T', 'E') ? 0 : content(c, name, p, length);
        if (code) return code;
        c->at += length;
    }
}
